"""What the reward service can be told, by environment variables `COHORT_<NAME>`."""

from pydantic import Field

from cohort.contracts.reward import RewardSpec
from services.reward.verifiers.models import ModelSettings


class Settings(ModelSettings):
    """Settings of the reward service; those of the models that judge are in `ModelSettings`."""

    port: int = 8002
    workers: int = Field(default=1, ge=1, le=256)
    """Processes that share the port. Each has its own limits, memory cache and diagnostics."""
    max_pending_items: int = Field(default=65_536, ge=1)
    """More items than this in work at once are answered 429 with Retry-After."""
    max_items: int = Field(default=65_536, ge=1)
    """Requests with more items are answered 413."""
    cache_url: str | None = None
    """Redis that keeps outcomes for all workers and services; None keeps them in memory."""
    cache_ttl_s: int = Field(default=86_400, ge=1)
    """How long Redis keeps an outcome."""
    cache_entries: int = Field(default=200_000, ge=0)
    """Outcomes kept in memory; 0 keeps none."""
    cache_mb: float = Field(default=128.0, gt=0.0)
    """Memory that they may take."""
    log_completions: bool = False
    """Log the first 500 characters of the first 32 completions of each request."""
    sandbox_concurrency: int = Field(default=16, ge=1, le=1024)
    """Programs that are sent to the sandbox at the same time."""
    puzzle_limit_s: float = Field(default=5.0, gt=0.0, le=600.0)
    """A puzzle scorer that needs longer for one answer is killed; the verdict is `limit`."""
    plugin_limit_s: float = Field(default=5.0, gt=0.0, le=600.0)
    """A plug-in function that needs longer for one answer is killed; the verdict is `limit`."""
    dialect_rewards: dict[str, tuple[RewardSpec, ...]] = {}
    """JSON: which rewards other systems' routes use, by model name, by route (`/get_reward`) or for
    all under `default`. Without it: `math`."""
