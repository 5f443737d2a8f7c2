"""What the trainer can be told, by environment variables `COHORT_<NAME>`."""

from pathlib import Path

from pydantic import Field

from cohort.config import ServiceSettings

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Settings(ServiceSettings):
    """Settings of the trainer's API and of its care for learners."""

    port: int = Field(default=8000, ge=0, le=65535)
    """Port to listen on."""
    max_concurrent_runs: int = Field(default=1, ge=1)
    """Runs that train at the same time; the others wait in line."""
    model_roots: tuple[Path, ...] | None = None
    """Folders from which a run config may take models, besides runs_dir and state_dir.
    Not set: any folder while listening on loopback, none otherwise."""
    learner_command: tuple[str, ...] = ()
    """Program that trains a run; `--run-id ID` is appended. Empty: the learner of this package."""
    max_learner_deaths: int = Field(default=8, ge=1)
    """A run fails when its learner died this often in a row without a new commit."""
    backoff_s: float = Field(default=1.0, ge=0.0)
    """Wait before the first restart of a learner; doubles with each, up to 30 s."""
    cancel_grace_s: float = Field(default=30.0, ge=0.0)
    """A cancelled learner has this long to end by itself before it is told by signal."""
    kill_grace_s: float = Field(default=5.0, ge=0.0)
    """Time between SIGTERM and SIGKILL."""
    poll_s: float = Field(default=0.25, gt=0.0)
    """How often a learner and its files are looked at."""
    check_timeout_s: float = Field(default=30.0, gt=0.0)
    """Longest time for one check of a config before a run is accepted."""

    @property
    def roots(self) -> tuple[Path, ...] | None:
        """Folders that a config may name; None when any folder may be named."""
        if self.model_roots is None and self.host in _LOOPBACK:
            return None
        return (*(self.model_roots or ()), self.runs_dir, self.state_dir)
