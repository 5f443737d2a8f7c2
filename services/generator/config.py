"""What the generator can be told, by environment variables `COHORT_<NAME>`."""

import os
import socket
from typing import Literal

from pydantic import Field

from cohort.config import ServiceSettings

_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})


class Settings(ServiceSettings):
    """Settings of the generator."""

    port: int = Field(default=8001, ge=0, le=65535)
    """Port to listen on."""
    model: str | None = None
    """A model to serve alone, as version 0 of no run: `bundled:...`, a Hugging Face name, a folder.
    Not set: follow the policy of the oldest active run in Redis."""
    run_id: str | None = None
    """Follow this run instead of the oldest active one."""
    public_url: str | None = None
    """How rollout workers reach this generator. Not set: this host and port."""
    compute_dtype: Literal["bfloat16", "float32"] = "bfloat16"
    """Of weights and activations while sampling; log-probs are always computed in float32."""
    max_rows: int = Field(default=128, ge=1, le=4096)
    """Completions that are decoded together."""
    max_cache_tokens: int = Field(default=131_072, ge=1)
    """Tokens in the key-value cache, over all rows; what alone is larger is decoded alone."""
    max_waiting: int = Field(default=1024, ge=1)
    """Requests that may wait; more are answered 429."""
    window_s: float = Field(default=0.03, ge=0.0, le=1.0)
    """A batch waits for company: until nothing came for a third of this, and this long at most."""
    poll_s: float = Field(default=0.1, gt=0.0)
    """How often the policy record is looked at."""

    @property
    def url(self) -> str:
        """Where others reach this generator."""
        host = socket.gethostname() if self.host in _EVERYWHERE else self.host
        return self.public_url or f"http://{host}:{self.port}"

    @property
    def generator_id(self) -> str:
        """Unique among the generators of one Redis."""
        return f"{socket.gethostname()}-{os.getpid()}"
