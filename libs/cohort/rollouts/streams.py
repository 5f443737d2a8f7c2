"""The mechanics of a run's two streams: reading, taking over and burying raw entries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from redis.exceptions import ResponseError

from cohort.rollouts.store import MAX_BLOCK_S, QueueLost, Store, reachable
from cohort.rollouts.wire import Fields, entry_fields, failed_instead

Stream = Literal["prompts", "rollouts"]
Entry = tuple[bytes, Fields]

CONSUMERS: dict[Stream, str] = {"prompts": "workers", "rollouts": "learner"}
"""The consumer group of each stream."""
MAX_LETTERS = 1000
MAX_LEASES = 10
"""A prompt that so many workers leased and none answered kills workers: it comes back failed."""


@dataclass(frozen=True)
class DeadLetter:
    """An entry that could not be used; `data` is the beginning of what it held."""

    stream: str
    entry_id: str
    reason: str
    data: bytes


class Streams(Store):
    """Raw entries of one run after another; `RolloutQueue` gives them their meaning."""

    def __init__(self, client: Any, *, capacity: int, lease_s: float) -> None:
        super().__init__(client)
        self.capacity, self.lease_s = capacity, lease_s

    @reachable
    def bury(self, run_id: str, stream: Stream, entry_id: str, reason: str) -> None:
        """Acknowledge an entry and keep it, with the reason, among the dead letters."""
        self._bury(run_id, stream, entry_id, reason, ())

    @reachable
    def dead_letters(self, run_id: str) -> list[DeadLetter]:
        """The last 1000 buried entries, oldest first."""
        entries = cast(list[Entry], self.redis.xrange(f"dead:{run_id}"))
        return [
            DeadLetter(
                fields[b"stream"].decode().partition(":")[0],
                fields[b"entry"].decode(),
                fields[b"reason"].decode(errors="replace"),
                fields[b"data"],
            )
            for _, fields in entries
        ]

    def read_new(
        self, stream: Stream, run_id: str, consumer: str, count: int, block_s: float
    ) -> list[Entry] | None:
        """Entries never delivered before; None when the stream is not there (any more)."""
        block_ms = round(min(block_s, MAX_BLOCK_S) * 1000) or None  # 0 would block for ever
        key = f"{stream}:{run_id}"
        try:
            reply: Any = self.redis.xreadgroup(
                CONSUMERS[stream], consumer, {key: ">"}, count=count, block=block_ms
            )
        except ResponseError as error:
            if stream_gone(error):
                return None
            raise
        return cast(list[Entry], reply[0][1]) if reply else []

    def pending_rollouts(self, run_id: str, skip: set[str]) -> list[Entry]:
        """Delivered and unacknowledged rollouts, oldest first. Raises `QueueLost`."""
        key = f"rollouts:{run_id}"
        try:
            pending: Any = self.redis.xpending_range(key, "learner", "-", "+", 1_000_000)
        except ResponseError as error:
            if stream_gone(error):
                raise QueueLost(f"the queue of run {run_id} is not in Redis any more") from None
            raise
        ids = [item["message_id"] for item in pending]
        found = (self.redis.xrange(key, i, i) for i in ids if i.decode() not in skip)
        return [entry for entries in found for entry in cast(list[Entry], entries)]

    def claim_expired(self, run_id: str, worker_id: str, count: int) -> list[Entry]:
        """Take over prompts whose worker has not renewed them for `lease_s`."""
        key, lease_ms = f"prompts:{run_id}", round(self.lease_s * 1000)
        try:
            expired: Any = self.redis.xpending_range(key, "workers", "-", "+", count, idle=lease_ms)
            ids = [item["message_id"] for item in expired]
            claimed: Any = (
                self.redis.xclaim(key, "workers", worker_id, lease_ms, ids) if ids else []
            )
        except ResponseError as error:
            if stream_gone(error):
                return []
            raise
        leases = {item["message_id"]: int(item["times_delivered"]) for item in expired}
        return [entry for entry in claimed if not self._poison(run_id, entry, leases[entry[0]])]

    def replace(self, stream: Stream, run_id: str, entry: Entry, reason: str) -> None:
        """Bury an entry and let a typed failure take its place; while full, it keeps its lease."""
        failure = failed_instead(run_id, entry[1], reason)
        fields = entry_fields(failure) if failure else ()
        self._bury(run_id, stream, entry[0].decode(), reason, fields)

    def _bury(
        self,
        run_id: str,
        stream: Stream,
        entry_id: str,
        reason: str,
        instead: Sequence[bytes | str],
    ) -> None:
        keys = [f"{key}:{run_id}" for key in (stream, "rollouts", "dead")]
        head = (CONSUMERS[stream], entry_id, reason, self.capacity, MAX_LETTERS)
        self.run_script("bury", keys, [*head, *instead])

    def _poison(self, run_id: str, entry: Entry, num_leases: int) -> bool:
        if num_leases < MAX_LEASES:
            return False
        reason = f"malformed: {num_leases} workers leased this prompt and none lived to answer it"
        self.replace("prompts", run_id, entry, reason)
        return True


def stream_gone(error: ResponseError) -> bool:
    """Redis says NOGROUP, or UNBLOCKED when the stream was deleted while a read waited."""
    return str(error).startswith(("NOGROUP", "UNBLOCKED"))
