"""What the reward service can be told, by environment variables `COHORT_<NAME>`."""

from pydantic import Field

from cohort.config import ServiceSettings


class Settings(ServiceSettings):
    """Settings of the reward service."""

    port: int = 8002
    max_pending_items: int = Field(default=65_536, ge=1)
    """More items than this in work at once are answered 429 with Retry-After."""
    sandbox_concurrency: int = Field(default=16, ge=1, le=1024)
    """Programs that are sent to the sandbox at the same time."""
    puzzle_limit_s: float = Field(default=5.0, gt=0.0, le=600.0)
    """A puzzle scorer that needs longer for one answer is killed; the verdict is `limit`."""
