"""What a rollout worker can be told, by environment variables `COHORT_<NAME>`."""

import os
import socket

from pydantic import Field

from cohort.config import ServiceSettings


class Settings(ServiceSettings):
    """Knobs of the worker; addresses are in the base class."""

    worker_id: str = Field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")
    """Its name in Redis."""
    max_groups: int = Field(default=32, ge=1, le=4096)
    """Groups in flight."""
    lease_s: float = Field(default=15.0, gt=0.0)
    """Prompts of a worker that has not been heard of for so long go to another one."""
    queue_capacity: int = Field(default=4096, ge=1)
    """Groups that may wait for the learner; then workers keep theirs and try again."""
    generate_timeout_s: float = Field(default=300.0, gt=0.0, le=3600.0)
    """A generator that has not answered by then counts as unreachable, and one is asked again."""
    score_timeout_s: float = Field(default=60.0, gt=0.0, le=3600.0)
    """What the reward service is given for a group."""
    grace_s: float = Field(default=5.0, ge=0.0)
    """After SIGTERM, groups in flight may take so long to finish."""
