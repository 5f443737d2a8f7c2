"""What the sandbox can be told: COHORT_SANDBOX_<NAME>, and the shared COHORT_<NAME>."""

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from cohort.config import ServiceSettings, num_cores

BACKENDS = ("namespace", "rlimits")


class Settings(ServiceSettings):
    """Settings of the sandbox."""

    model_config = SettingsConfigDict(populate_by_name=True)

    port: int = Field(default=8003, ge=0, le=65535)
    """Port to listen on."""
    backends: str = Field(default="namespace,rlimits", validation_alias="COHORT_SANDBOX_BACKENDS")
    """Names in order of preference; the first whose self-tests pass is used."""
    allow_insecure: bool = Field(default=False, validation_alias="COHORT_SANDBOX_ALLOW_INSECURE")
    """Permits the backend `rlimits`, which isolates nothing."""
    slots: int = Field(
        default_factory=lambda: 2 * num_cores(),
        ge=1,
        le=1024,
        validation_alias="COHORT_SANDBOX_SLOTS",
    )
    """Programs that run at the same time."""
    max_waiting: int = Field(default=256, ge=0, validation_alias="COHORT_SANDBOX_MAX_WAITING")
    """Requests that may wait for a slot; more are answered 429."""
    python: str | None = Field(default=None, validation_alias="COHORT_SANDBOX_PYTHON")
    """Interpreter for programs; default: the system's, else the one that runs the service."""

    @field_validator("backends")
    @classmethod
    def _known(cls, value: str) -> str:
        names = [name.strip() for name in value.split(",")]
        unknown = sorted(set(names) - set(BACKENDS))
        if unknown:
            raise ValueError(f"unknown backend {', '.join(unknown)}: use {', '.join(BACKENDS)}")
        return ",".join(names)
