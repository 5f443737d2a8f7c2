"""The durable queue of rollouts on Redis Streams (Redis 7.0 commands; Valkey too).

    learner -dispatch-> prompts:{run} -lease-> worker -push_group-> rollouts:{run} -read-> learner
                          ^ lease ran out:  |                          ^ pending until acknowledge,
                          '- leased again <-'                          '- that is after a commit

Promised, whoever is killed at whatever moment:
- a dispatched group id is admitted to the rollouts exactly once: dispatching twice, pushing twice,
  or pushing what is committed already is a "dup";
- nothing disappears: a prompt is deleted only together with the push of its group, or withdrawn by
  a learner that resumes and may dispatch it again; a group is deleted only when acknowledged; an
  unreadable entry comes back as a typed failure and a dead letter;
- never more than `capacity` groups lie undelivered; those that wait for a commit do not count;
- a learner with an old fence changes nothing.

Keys of a run: prompts, rollouts, dead (streams), dispatched (ids not yet acknowledged), committed
(step), fence, policy, control, learner, each with `:{run}`; of all: active_runs, generator:{id},
worker:{id}.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from redis.exceptions import ResponseError

from cohort.contracts.queue import GroupMessage, PromptMessage
from cohort.rollouts.registry import Registry
from cohort.rollouts.store import Fenced, QueueLost, QueueUnreachable, Store, reachable
from cohort.rollouts.streams import CONSUMERS, DeadLetter, Entry, Streams
from cohort.rollouts.wire import Delivered, Malformed, decode, entry_fields

__all__ = [
    "DeadLetter",
    "Delivered",
    "Fenced",
    "Malformed",
    "QueueLost",
    "QueueUnreachable",
    "RolloutQueue",
]

_OF_A_RUN = (
    *("prompts", "rollouts", "dead", "dispatched", "committed"),
    *("fence", "policy", "control", "learner"),
)
_IDS_PER_SCRIPT = 1000
_LONG_AGO_S = 86_400.0

PushOutcome = Literal["ok", "dup", "full", "closed"]


class RolloutQueue(Registry, Streams):
    """Synchronous and thread-safe; async programs call it in threads.

    Every method raises `QueueUnreachable` while Redis is away. Blocking reads wait for `block_s`
    seconds at most, and never longer than half the socket's time limit.
    """

    def __init__(self, client: Any, *, capacity: int = 4096, lease_s: float = 30.0) -> None:
        super().__init__(client, capacity=capacity, lease_s=lease_s)
        self._returned: dict[str, set[str]] = {}

    @classmethod
    def from_url(cls, url: str, *, capacity: int = 4096, lease_s: float = 30.0) -> "RolloutQueue":
        """`capacity` bounds the undelivered groups of a run; a lease lasts `lease_s` seconds."""
        return cls(Store.connect(url), capacity=capacity, lease_s=lease_s)

    # Runs

    @reachable
    def open_run(self, run_id: str) -> None:
        """Make the run's streams and announce it to workers and generators. Can be repeated."""
        for stream, consumers in CONSUMERS.items():
            try:
                self.redis.xgroup_create(f"{stream}:{run_id}", consumers, id="0", mkstream=True)
            except ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
        self.redis.zadd("active_runs", {run_id: time.time()}, nx=True)

    @reachable
    def close_run(self, run_id: str) -> None:
        """Delete everything that Redis holds of the run. Can be repeated."""
        with self.redis.pipeline(transaction=True) as pipe:
            pipe.zrem("active_runs", run_id)
            pipe.delete(*(f"{key}:{run_id}" for key in _OF_A_RUN))
            pipe.execute()
        self._returned.pop(run_id, None)

    @reachable
    def park_run(self, run_id: str) -> None:
        """A paused run: workers and generators turn to others; `open_run` takes it up again."""
        self.redis.zrem("active_runs", run_id)

    @reachable
    def active_runs(self) -> list[str]:
        """Ids of open runs, oldest first."""
        run_ids = cast(list[bytes], self.redis.zrange("active_runs", 0, -1))
        return [run_id.decode() for run_id in run_ids]

    @reachable
    def raise_fence(self, run_id: str, above: int = 0) -> int:
        """A new epoch, higher than all before: learners with an older one can do nothing now.

        `above` is the highest fence known from elsewhere, in case Redis has lost its own.
        """
        return int(self.run_script("raise_fence", [f"fence:{run_id}"], [above]))

    @reachable
    def check_fence(self, run_id: str, fence: int) -> None:
        """Raises `Fenced` when a newer learner has started, `QueueLost` when the run is gone."""
        value = cast(bytes | None, self.redis.get(f"fence:{run_id}"))
        if value is None or int(value) < fence:
            raise QueueLost(f"the queue of run {run_id} is not in Redis any more")
        if int(value) > fence:
            raise Fenced(f"learner {fence} of run {run_id} was replaced by learner {int(value)}")

    # Learner

    @reachable
    def dispatch(self, prompt: PromptMessage, fence: int) -> Literal["ok", "dup"]:
        """Hand a prompt to the workers, once. Raises `Fenced` or `QueueLost`."""
        run_id = prompt.run_id
        keys = [f"{key}:{run_id}" for key in ("fence", "committed", "dispatched", "prompts")]
        head = (fence, prompt.group_id, prompt.step, prompt.purpose)
        word = self.run_script("dispatch", keys, [*head, *entry_fields(prompt)])
        return cast(Literal["ok", "dup"], word)

    @reachable
    def resume(self, run_id: str, fence: int, committed_step: int, last_step: int) -> int:
        """Agree with the commit from which a new learner goes on, even one older than the last.

        What an earlier learner asked for and nobody answered is withdrawn: all evaluations, and
        groups of steps after `last_step`. They may be dispatched again; workers that hold one drop
        it at their next renewal. Returns how many. Raises `Fenced` or `QueueLost`.
        """
        keys = [f"{key}:{run_id}" for key in ("fence", "committed", "dispatched", "prompts")]
        return int(self.run_script("resume", keys, [fence, committed_step, last_step]))

    @reachable
    def read_groups(self, run_id: str, count: int, block_s: float) -> list[Delivered[GroupMessage]]:
        """Groups that this object has not returned yet, in order of arrival. Raises `QueueLost`.

        Entries whose delivery went astray (the reply was lost, or an older learner took them) are
        found when nothing new has come within `block_s`.
        """
        entries = self.read_new("rollouts", run_id, "learner", count, block_s)
        if entries is None:
            raise QueueLost(f"the queue of run {run_id} is not in Redis any more")
        if not entries:
            known = self._returned.get(run_id, set())
            entries = self.pending_rollouts(run_id, skip=known)[:count]
        return self._groups(run_id, entries)

    @reachable
    def pending_groups(self, run_id: str) -> list[Delivered[GroupMessage]]:
        """Groups delivered to this or an earlier learner and not acknowledged, oldest first."""
        return self._groups(run_id, self.pending_rollouts(run_id, skip=set()))

    @reachable
    def acknowledge(
        self, run_id: str, entry_ids: Sequence[str], fence: int, committed_step: int | None = None
    ) -> None:
        """Delete groups that a commit covers; `committed_step` makes train groups up to it dups.

        Raises `Fenced` or `QueueLost`. Can be repeated.
        """
        keys = [f"{key}:{run_id}" for key in ("fence", "committed", "dispatched", "rollouts")]
        step = "" if committed_step is None else committed_step
        for start in range(0, max(1, len(entry_ids)), _IDS_PER_SCRIPT):
            ids = entry_ids[start : start + _IDS_PER_SCRIPT]
            self.run_script("acknowledge", keys, [fence, step, *ids])
            self._returned.get(run_id, set()).difference_update(ids)

    # Workers

    @reachable
    def lease_prompts(
        self, run_id: str, worker_id: str, count: int, block_s: float
    ) -> list[Delivered[PromptMessage]]:
        """Prompts for this worker: first those whose lease ran out, else new ones; [] when closed.

        A worker that could not renew may be given its own entry again.
        """
        entries = self.claim_expired(run_id, worker_id, count)
        if not entries:
            entries = self.read_new("prompts", run_id, worker_id, count, block_s) or []
        prompts = []
        for entry in entries:
            try:
                message = decode(PromptMessage, entry[1].get(b"data"))
                prompts.append(Delivered(entry[0].decode(), message))
            except Malformed as error:
                self.replace("prompts", run_id, entry, f"malformed: {error}")
        return prompts

    @reachable
    def renew(self, run_id: str, worker_id: str, entry_ids: Sequence[str]) -> list[str]:
        """Restart the leases of entries that the worker still holds, and return those."""
        return self._set_idle(run_id, worker_id, entry_ids, 0.0)

    @reachable
    def release(self, run_id: str, worker_id: str, entry_ids: Sequence[str]) -> list[str]:
        """End the leases of entries that the worker still holds: others may take them at once."""
        return self._set_idle(run_id, worker_id, entry_ids, _LONG_AGO_S)

    @reachable
    def push_group(self, worker_id: str, prompt_entry_id: str, group: GroupMessage) -> PushOutcome:
        """Admit a group and finish its prompt, atomically.

        "ok"; "dup": it had been admitted or committed before; "full": `capacity` groups wait for
        the learner, try again and keep the lease; "closed": the run is over. Raises `Malformed`
        when the group is too large to travel.
        """
        keys = [f"{key}:{group.run_id}" for key in ("prompts", "rollouts", "committed")]
        head = (prompt_entry_id, self.capacity, group.group_id, group.step, group.purpose)
        fields = [*entry_fields(group), "worker", worker_id]
        return cast(PushOutcome, self.run_script("push", keys, [*head, *fields]))

    def _set_idle(
        self, run_id: str, worker_id: str, entry_ids: Sequence[str], idle_s: float
    ) -> list[str]:
        if not entry_ids:
            return []
        args: list[str | int] = [worker_id, round(idle_s * 1000), *entry_ids]
        return [i.decode() for i in self.run_script("renew", [f"prompts:{run_id}"], args)]

    def _groups(self, run_id: str, entries: Iterable[Entry]) -> list[Delivered[GroupMessage]]:
        groups = []
        returned = self._returned.setdefault(run_id, set())
        for entry in entries:
            try:
                message = decode(GroupMessage, entry[1].get(b"data"))
                groups.append(Delivered(entry[0].decode(), message))
                returned.add(entry[0].decode())
            except Malformed as error:
                self.replace("rollouts", run_id, entry, f"malformed: {error}")
        return groups
