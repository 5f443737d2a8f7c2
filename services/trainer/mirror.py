"""A copy of the registry in Redis, for whoever looks there: hash `runs`, one JSON record per run.

The run folders stay the truth: nothing is ever read back from here.
"""

from typing import Any

from services.trainer.runs import Registry

KEY = "runs"


class Mirror:
    """Writes what changed. `client` is a redis-py client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def write(self, registry: Registry) -> None:
        """Raises `redis.RedisError`; what was not written is written the next time."""
        changed = registry.take_changed()
        try:
            if changed:
                records = {run_id: registry.get(run_id).model_dump_json() for run_id in changed}
                self.client.hset(KEY, mapping=records)
        except BaseException:
            registry.changed.update(changed)
            raise
