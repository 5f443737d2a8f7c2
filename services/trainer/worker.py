"""The trainer's rooms, put together: registry, supervisor, preflight."""

import os
from dataclasses import dataclass

import httpx

from cohort.rollouts.queue import QueueUnreachable, RolloutQueue
from services.trainer.config import Settings
from services.trainer.mirror import Mirror
from services.trainer.preflight import Preflight
from services.trainer.runs import ACTIVE, Registry
from services.trainer.supervisor import Supervisor


@dataclass(frozen=True)
class Trainer:
    """What the API stands in front of."""

    registry: Registry
    supervisor: Supervisor
    preflight: Preflight
    queue: RolloutQueue

    @classmethod
    def build(
        cls, settings: Settings, transport: httpx.AsyncBaseTransport | None = None
    ) -> "Trainer":
        """`transport` stands in for the other services in tests."""
        registry = Registry(settings.runs_dir.resolve())
        queue = RolloutQueue.from_url(settings.redis_url)
        mirror = Mirror(RolloutQueue.connect(settings.redis_url))

        def is_busy() -> bool:
            return any(record.state in ACTIVE for record in registry.records())

        return cls(
            registry,
            Supervisor(registry, queue, settings, mirror),
            Preflight(settings, queue, is_busy, transport),
            queue,
        )

    def missing(self) -> list[str]:
        """What keeps the trainer from working, one sentence each. Blocks."""
        found = []
        if not os.access(self.registry.runs_dir, os.W_OK):
            found.append(f"the runs folder {self.registry.runs_dir} cannot be written")
        try:
            self.queue.ping()
        except QueueUnreachable as error:
            found.append(str(error))
        return found
