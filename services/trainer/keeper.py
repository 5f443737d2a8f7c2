"""Keeps one run's learner alive until the run ends, pauses, or the trainer stops.

    take over ---> a life of the learner ---> outcome.json: the run ended or paused
    (no earlier        ^            |
     learner lives)    '- back off <'-------> no outcome: it died; after `max_learner_deaths`
                                              in a row without a new commit, the run fails

An earlier learner can only live on when an earlier trainer started it. Its lease in Redis tells; as
long as it holds, this keeper only watches.
"""

import asyncio
import logging
import re
import time
from contextlib import suppress
from typing import Any, Literal

from cohort.rollouts.queue import QueueUnreachable, RolloutQueue
from services.trainer.config import Settings
from services.trainer.learner_process import (
    LearnerProcess,
    describe_death,
    learner_command,
    learner_environment,
    log_tail,
)
from services.trainer.run_files import Row, read_object
from services.trainer.runs import ACTIVE, Registry, RunRecord

log = logging.getLogger("cohort.trainer")
_COMMIT = re.compile(r"step-(\d+)")
_LONGEST_WAIT_S = 30.0
_LEAVING = {"succeeded", "failed", "paused", "cancelled"}


class Keeper:
    """Cares for one run while it has a place. `stopping`: the trainer itself ends."""

    def __init__(
        self, registry: Registry, queue: RolloutQueue, settings: Settings, run_id: str
    ) -> None:
        self.registry, self.queue, self.settings, self.run_id = registry, queue, settings, run_id
        self.folder = registry.folder(run_id)
        self.log_path = self.folder.root / "learner.log"
        self.stopping = False
        self._told: Literal["cancel", "pause"] | None = None
        self._cancelled_at: float | None = None

    @property
    def record(self) -> RunRecord:
        """The run as it is now."""
        return self.registry.get(self.run_id)

    async def keep(self) -> None:
        """Returns when the run gives up its place. A bug here fails the run and says so."""
        try:
            self.config = self.registry.config(self.run_id)
            if self.record.state in ACTIVE or self.record.state == "queued":
                await self._take_over()
                await self._live_on()
        except Exception as error:
            log.exception("the keeper of run %s broke", self.run_id)
            self._leave("failed", f"the trainer could not look after the run: {error}")

    async def _take_over(self) -> None:
        """Wait for Redis, and for an earlier trainer's learner to end; then clear old requests."""
        adopting, since = self.record.state in ACTIVE, time.monotonic()
        while not self._is_over():
            try:
                if not (
                    adopting and await asyncio.to_thread(self.queue.learner_alive, self.run_id)
                ):
                    if self._finish():
                        return
                    await asyncio.to_thread(self.queue.set_control, self.run_id, None)
                    self._waiting(None)
                    return
                since = time.monotonic()
                self._waiting("the learner of an earlier trainer process to end")
                await self._pass_on_request()
            except QueueUnreachable as error:
                if not adopting and self._finish():
                    return
                self._waiting(str(error))
                limit_s = self.config.rollout.unreachable_limit_s
                if time.monotonic() - since > limit_s:
                    self._leave("failed", f"gave up after waiting {limit_s:g} s: {error}")
            await asyncio.sleep(self.settings.poll_s)

    async def _live_on(self) -> None:
        deaths = 0
        while not self._is_over():
            committed = self._newest_commit()
            how = await self._one_life()
            if self.stopping or self._finish():
                return
            deaths = deaths + 1 if self._newest_commit() == committed else 1
            if deaths >= self.settings.max_learner_deaths:
                self._leave("failed", self._why_given_up(deaths, how))
                return
            await self._back_off(deaths, how)

    async def _one_life(self) -> str:
        """Start a learner and watch it to its end; returns how it ended."""
        first = self.record.started_at is None
        started_at = time.time() if first else self.record.started_at
        self.folder.outcome.unlink(missing_ok=True)
        changes = {"started_at": started_at, "off_queue": False}
        self.registry.update(self.run_id, state="starting", **changes)
        command = learner_command(self.settings, self.run_id, self.config.learner.world_size)
        process = LearnerProcess(command, learner_environment(self.settings), self.log_path)
        seen = self._last_event_id()
        try:
            await process.start()
        except OSError as error:
            return f"it could not be started: {error}"
        try:
            while (code := await process.ended(self.settings.poll_s)) is None:
                if self.record.state == "starting" and await self._is_at_work(seen):
                    self.registry.update(self.run_id, state="running", reason=None)
                if self.stopping or self._is_past_grace():
                    code = await process.stop(self.settings.kill_grace_s)
                    break
                await self._pass_on_request()
        except BaseException:
            await process.stop(0.0)
            raise
        how = describe_death(code, self.log_path)
        log.info("learner of run %s ended: %s", self.run_id, how)
        with suppress(QueueUnreachable):  # nobody is behind this lease any more
            await asyncio.to_thread(self.queue.release_learner, self.run_id)
        return how

    async def _is_at_work(self, seen: int) -> bool:
        """Whether the learner has taken its lease, or said anything after event `seen`."""
        if self._last_event_id() > seen:
            return True
        try:
            return await asyncio.to_thread(self.queue.learner_alive, self.run_id)
        except QueueUnreachable:
            return False

    def _is_over(self) -> bool:
        return self.stopping or not (self.record.state in ACTIVE or self.record.state == "queued")

    def _finish(self) -> bool:
        """With no learner alive: whether the run leaves, because it ended or was asked to."""
        outcome = read_object(self.folder.outcome) or {}
        wanted = self.record.wanted
        if outcome.get("state") in _LEAVING:
            self._leave_with(outcome)
        elif wanted == "cancel":
            self._leave("cancelled", None)
        elif wanted == "pause":
            self._leave("paused", None)
        else:
            return False
        return True

    def _leave_with(self, outcome: Row) -> None:
        state, reason = outcome["state"], outcome.get("reason")
        if state == "paused" and self.record.wanted == "cancel":
            state, reason = "cancelled", None
        self._leave(state, None if reason is None else str(reason))

    def _leave(self, state: str, reason: str | None) -> None:
        self._waiting(None)
        ended_at = None if state == "paused" else time.time()
        changes = {"reason": reason, "ended_at": ended_at, "wanted": None, "off_queue": False}
        self.registry.update(self.run_id, state=state, **changes)

    async def _pass_on_request(self) -> None:
        """Tell the learner what is wanted; tried again at the next look when Redis is away."""
        wanted = self.record.wanted
        if wanted == "cancel" and self._cancelled_at is None:
            self._cancelled_at = time.monotonic()
        if wanted == self._told:
            return
        try:
            await asyncio.to_thread(self.queue.set_control, self.run_id, wanted)
            self._told = wanted
        except QueueUnreachable as error:
            log.warning("run %s cannot be told to %s yet: %s", self.run_id, wanted, error)

    def _is_past_grace(self) -> bool:
        at = self._cancelled_at
        return at is not None and time.monotonic() - at >= self.settings.cancel_grace_s

    async def _back_off(self, deaths: int, how: str) -> None:
        wait_s = min(self.settings.backoff_s * 2 ** (deaths - 1), _LONGEST_WAIT_S)
        message = f"The learner died ({how}); it starts again from the last commit in {wait_s:g} s."
        log.warning("run %s: %s", self.run_id, message)
        self._event("log", message=message, level="warning")
        restarts = self.record.restarts + 1
        self.registry.update(self.run_id, state="starting", reason=message, restarts=restarts)
        self._waiting(None)
        until = time.monotonic() + wait_s
        while time.monotonic() < until and not self.stopping:
            if self.record.wanted and self._finish():
                return
            await asyncio.sleep(min(self.settings.poll_s, max(0.0, until - time.monotonic())))

    def _why_given_up(self, deaths: int, how: str) -> str:
        times = "once" if deaths == 1 else f"{deaths} times in a row without a new commit"
        sentence = f"the learner died {times} (the last time: {how})."
        tail = log_tail(self.log_path)
        if not tail:
            return f"{sentence} Its log is empty."
        return f"{sentence}\nIts log ends with:\n{tail}"

    def _waiting(self, what: str | None) -> None:
        if self.registry.progress(self.run_id).waiting_for != what:
            self._event("waiting", **{"for": what})

    def _event(self, kind: str, **data: Any) -> None:
        """Events are for people: a disk that is full must not stop the run."""
        try:
            self.folder.event(kind, **data)
        except OSError as error:
            log.error("run %s: event %s is lost: %s", self.run_id, kind, error)

    def _newest_commit(self) -> int:
        names = (_COMMIT.fullmatch(path.name) for path in self.folder.checkpoints.glob("step-*"))
        return max((int(name[1]) for name in names if name), default=-1)

    def _last_event_id(self) -> int:
        return self.registry.progress(self.run_id).num_events
