"""Who is there and what is current: policy, generators, workers, the learner's lease, control."""

import logging
from typing import Any, Literal, TypeVar, cast

from cohort.contracts.base import Message
from cohort.contracts.queue import GeneratorRecord, PolicyRecord, WorkerRecord
from cohort.rollouts.store import Store, reachable
from cohort.rollouts.wire import Malformed, decode, encode

log = logging.getLogger("cohort.queue")
M = TypeVar("M", bound=Message)
Control = Literal["cancel", "pause"]


class Registry(Store):
    """Small records beside the streams; those of processes expire unless they are refreshed."""

    @reachable
    def publish_policy(self, record: PolicyRecord) -> None:
        """Make these weights current. Raises `Fenced` or `QueueLost`."""
        run_id = record.run_id
        keys = [f"fence:{run_id}", f"policy:{run_id}"]
        self.run_script("fenced_set", keys, [record.fence, encode(record), 0])

    @reachable
    def policy(self, run_id: str) -> PolicyRecord | None:
        """Which weights are current; None before the first publication."""
        return _read(PolicyRecord, self.redis.get(f"policy:{run_id}"))

    @reachable
    def hold_learner(self, run_id: str, fence: int, ttl_s: float) -> None:
        """Say that the learner lives, for `ttl_s` seconds more. Raises `Fenced` or `QueueLost`."""
        keys = [f"fence:{run_id}", f"learner:{run_id}"]
        self.run_script("fenced_set", keys, [fence, fence, round(ttl_s * 1000)])

    @reachable
    def learner_alive(self, run_id: str) -> bool:
        """Whether a learner held its lease lately."""
        return bool(self.redis.exists(f"learner:{run_id}"))

    @reachable
    def release_learner(self, run_id: str) -> None:
        """End the lease before it expires."""
        self.redis.delete(f"learner:{run_id}")

    @reachable
    def set_control(self, run_id: str, control: Control | None) -> None:
        """Ask the learner to cancel or pause; None takes the request back."""
        if control is None:
            self.redis.delete(f"control:{run_id}")
        else:
            self.redis.set(f"control:{run_id}", control)

    @reachable
    def control(self, run_id: str) -> Control | None:
        """What the learner was asked to do."""
        value = cast(bytes | None, self.redis.get(f"control:{run_id}"))
        return cast(Control, value.decode()) if value else None

    @reachable
    def register_generator(self, record: GeneratorRecord, ttl_s: float) -> None:
        """Offer a generator to the workers for `ttl_s` seconds."""
        key = f"generator:{record.generator_id}"
        self.redis.set(key, encode(record), px=round(ttl_s * 1000))

    @reachable
    def unregister_generator(self, generator_id: str) -> None:
        """Take the offer back."""
        self.redis.delete(f"generator:{generator_id}")

    @reachable
    def generators(self) -> list[GeneratorRecord]:
        """All that are on offer, by id."""
        return self._all("generator", GeneratorRecord)

    @reachable
    def heartbeat_worker(self, record: WorkerRecord, ttl_s: float) -> None:
        """Say that a worker lives, and what it does, for `ttl_s` seconds."""
        self.redis.set(f"worker:{record.worker_id}", encode(record), px=round(ttl_s * 1000))

    @reachable
    def unregister_worker(self, worker_id: str) -> None:
        """Take the heartbeat back: the worker has left."""
        self.redis.delete(f"worker:{worker_id}")

    @reachable
    def workers(self) -> list[WorkerRecord]:
        """All that live, by id."""
        return self._all("worker", WorkerRecord)

    def _all(self, prefix: str, kind: type[M]) -> list[M]:
        keys = sorted(set(self.redis.scan_iter(match=f"{prefix}:*", count=1000)))
        values = cast(list[Any], self.redis.mget(keys)) if keys else []
        return [record for value in values if (record := _read(kind, value)) is not None]


def _read(kind: type[M], value: Any) -> M | None:
    """A record; None when there is none or, as the log then says, it cannot be read."""
    if value is None:
        return None
    try:
        return decode(kind, value)
    except Malformed as error:
        log.error("a %s in Redis cannot be read: %s", kind.__name__, error)
        return None
