"""The learner's end of the queue: fenced, patient, and aware of what it is waiting for.

Redis out of reach is retried with backoff until the run's stated limit; a fence that moved or keys
that vanished end this learner at once (the trainer starts the next one from the last commit).
While it waits it tells people why: which service a worker cannot reach, or that no worker lives.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from cohort.contracts.queue import GeneratorRecord, GroupMessage, PolicyRecord, PromptMessage
from cohort.rollouts.queue import Delivered, Fenced, QueueLost, QueueUnreachable, RolloutQueue

LEASE_TTL_S = 10.0
_AT_ONCE_S = 0.001
_REMIND_S = 30.0
_LOOK_S = 0.05
T = TypeVar("T")


class RunFailed(Exception):
    """The run cannot continue; the message is the reason, one sentence."""


class Stopped(Exception):
    """Someone asked for it: state is `cancelled` or `paused`."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class Link:
    """A run's queue as one learner sees it."""

    def __init__(
        self,
        queue: RolloutQueue,
        run_id: str,
        limit_s: float,
        waiting: Callable[[str | None], None],
    ) -> None:
        self.queue, self.run_id, self.limit_s = queue, run_id, limit_s
        self.fence = -1
        self._waiting = waiting
        self._waiting_for: str | None = None
        self._no_worker_since: float | None = None
        self._next_look, self._next_reminder = 0.0, time.monotonic() + _REMIND_S
        self._unanswered: dict[str, PromptMessage] = {}
        self._policy: PolicyRecord | None = None

    def open(self, above: int = 0) -> None:
        """Take the run over: from now on no older learner can change anything.

        `above` is the fence of the last commit, in case Redis lost its own.
        """
        self._patiently(lambda: self.queue.open_run(self.run_id))
        self.fence = self._patiently(lambda: self.queue.raise_fence(self.run_id, above))
        self._patiently(lambda: self.queue.hold_learner(self.run_id, self.fence, LEASE_TTL_S))
        threading.Thread(target=self._hold_lease, name="lease", daemon=True).start()

    def release(self) -> None:
        """End this learner's lease; it runs out by itself if Redis is away. Another's it leaves."""
        with suppress(QueueUnreachable, Fenced, QueueLost):
            self.queue.hold_learner(self.run_id, self.fence, _AT_ONCE_S)

    def dispatch(self, prompt: PromptMessage) -> None:
        """Ask for a group; asking twice is asking once."""
        self._unanswered[prompt.group_id] = prompt
        self._patiently(lambda: self.queue.dispatch(prompt, self.fence))

    def resume(self, committed_step: int, last_step: int) -> None:
        """Go on from a commit; groups up to `last_step` can be sampled with its weights.

        What earlier learners asked for beyond that is taken back: it needs versions that are yet
        to be published again. Until then workers could not answer it, and would have no room for
        what is asked first.
        """
        resume = self.queue.resume
        self._patiently(lambda: resume(self.run_id, self.fence, committed_step, last_step))

    def pending(self) -> list[Delivered[GroupMessage]]:
        """What an earlier learner was given and did not commit."""
        return self._answered(self._patiently(lambda: self.queue.pending_groups(self.run_id)))

    def read(self, block_s: float = 0.5) -> list[Delivered[GroupMessage]]:
        """New groups, if any come within `block_s`; looks after the run about once a second."""
        self.look_around()
        read = self.queue.read_groups
        return self._answered(self._patiently(lambda: read(self.run_id, 256, block_s)))

    def _answered(self, groups: list[Delivered[GroupMessage]]) -> list[Delivered[GroupMessage]]:
        for group in groups:
            self._unanswered.pop(group.message.group_id, None)
        return groups

    def acknowledge(self, entry_ids: Sequence[str], committed_step: int | None = None) -> None:
        """The entries are committed, or will never be needed."""
        if entry_ids or committed_step is not None:
            ids = list(entry_ids)
            ack = self.queue.acknowledge
            self._patiently(lambda: ack(self.run_id, ids, self.fence, committed_step))
        for prompt in list(self._unanswered.values()):
            if prompt.purpose == "train" and prompt.step <= (committed_step or 0):
                del self._unanswered[prompt.group_id]

    def publish(self, record: PolicyRecord) -> None:
        """Move the policy record."""
        self._policy = record
        self._patiently(lambda: self.queue.publish_policy(record))

    def generators(self) -> list[GeneratorRecord]:
        """Generators that are alive."""
        return list(self._patiently(self.queue.generators))

    def check_fence(self) -> None:
        """Raise if this learner was fenced off: it may not write any more."""
        self._patiently(lambda: self.queue.check_fence(self.run_id, self.fence))

    def check(self) -> None:
        """Raise if this learner was fenced off, or if someone asked the run to stop."""
        self.check_fence()
        control = self._patiently(lambda: self.queue.control(self.run_id))
        if control == "cancel":
            raise Stopped("cancelled")
        if control == "pause":
            raise Stopped("paused")

    def wait_while(self, trouble: Callable[[], str | None]) -> None:
        """Until `trouble` returns None, or the limit is over; says what it waits for."""
        started = time.time()
        while (what := trouble()) and (for_s := time.time() - started) < self.limit_s:
            self.check()
            self._report(what, for_s)
            time.sleep(_LOOK_S)
        self._report(None, 0.0)

    def look_around(self) -> None:
        """About once a second: fence, control, and whether the workers get anywhere."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + 1.0
        self.check()
        self._remind()
        workers = list(self._patiently(self.queue.workers))
        now = time.time()
        if not workers:
            self._no_worker_since = self._no_worker_since or now
            self._report("a rollout worker: none is alive", now - self._no_worker_since)
            return
        self._no_worker_since = None
        stuck = [(w.waiting_since or now, w.waiting_for) for w in workers if w.waiting_for]
        if len(stuck) == len(workers):
            since, what = max(stuck)
            self._report(what, now - since)
        else:
            self._report(None, 0.0)

    def _remind(self) -> None:
        """Say again what is current and what is awaited.

        A Redis that came back from its disk may have forgotten its last second; what it still
        knows does not change.
        """
        if time.monotonic() < self._next_reminder:
            return
        self._next_reminder = time.monotonic() + _REMIND_S
        if self._policy is not None:
            self.publish(self._policy)
        for prompt in list(self._unanswered.values()):
            self.dispatch(prompt)

    def _report(self, what: str | None, for_s: float) -> None:
        if what is not None and for_s > self.limit_s:
            raise RunFailed(f"gave up after waiting {self.limit_s:g} s for {what}")
        if what != self._waiting_for and (what is None or for_s > 2.0):
            self._waiting_for = what
            self._waiting(what)

    def _patiently(self, call: Callable[[], T]) -> T:
        started, wait_s = time.time(), 0.1
        while True:
            try:
                result = call()
            except QueueUnreachable as error:
                self._report(f"Redis: {error}", time.time() - started)
                time.sleep(wait_s)
                wait_s = min(wait_s * 2, 5.0)
            else:
                if self._waiting_for and self._waiting_for.startswith("Redis:"):
                    self._report(None, 0.0)
                return result

    def _hold_lease(self) -> None:
        """Runs beside long training steps: says that this learner lives."""
        while True:
            time.sleep(LEASE_TTL_S / 4)
            try:
                self.queue.hold_learner(self.run_id, self.fence, LEASE_TTL_S)
            except QueueUnreachable:
                continue
            except (Fenced, QueueLost):
                return  # the loop's own next call says so
