"""Gives places to runs in order, hands requests to their keepers, cleans up after them in Redis.

One thread, the event loop's, changes runs; so a decision and the change that follows from it need
no lock. Redis may be away at any moment: nothing here waits for it except what must.
"""

import asyncio
import logging
import time
from contextlib import suppress
from typing import Literal

from redis.exceptions import RedisError

from cohort.config import RunConfig
from cohort.contracts.trainer import ENDED
from cohort.rollouts.queue import QueueUnreachable, RolloutQueue
from services.trainer.config import Settings
from services.trainer.keeper import Keeper
from services.trainer.mirror import Mirror
from services.trainer.runs import ACTIVE, Registry, RunRecord

log = logging.getLogger("cohort.trainer")
Verb = Literal["cancel", "pause", "resume"]
_CHORES_S = 1.0
_LONGEST_WAIT_S = 15.0


class WrongState(Exception):
    """The run's state does not allow the request; the message is a sentence."""


class Supervisor:
    """Owns the keepers. `start` first, `stop` last."""

    def __init__(
        self,
        registry: Registry,
        queue: RolloutQueue,
        settings: Settings,
        mirror: Mirror | None = None,
    ) -> None:
        self.registry, self.queue, self.settings, self.mirror = registry, queue, settings, mirror
        self._keepers: dict[str, Keeper] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._wake, self._chores_due = asyncio.Event(), asyncio.Event()
        self._tidied: str | None = None

    async def start(self) -> None:
        """Read the registry and carry on what an earlier trainer left."""
        await asyncio.to_thread(self.registry.load)
        self._loops = [
            asyncio.create_task(self._schedule(), name="schedule"),
            asyncio.create_task(self._do_chores(), name="chores"),
        ]

    async def stop(self) -> None:
        """Stop every learner; their runs go on when the trainer starts again."""
        for loop in self._loops:
            loop.cancel()
        for keeper in self._keepers.values():
            keeper.stopping = True
        kept = list(self._tasks)
        await asyncio.gather(*self._loops, *self._tasks.values(), return_exceptions=True)
        for run_id in kept:
            # Nothing lives behind these leases any more: the next trainer need not wait for them.
            with suppress(QueueUnreachable):
                await asyncio.to_thread(self.queue.release_learner, run_id)

    async def submit(self, config: RunConfig, key: str | None = None) -> RunRecord:
        """Accept a run: on disk when this returns. Raises `KeyReused`, `OSError`."""
        record = await asyncio.to_thread(self.registry.create, config, key)
        self._wake.set()
        return record

    def steer(self, run_id: str, verb: Verb) -> RunRecord:
        """Ask for a change; asking twice is asking once. Raises `UnknownRun`, `WrongState`."""
        record = self.registry.get(run_id)
        changes = {"cancel": self._cancel, "pause": self._pause, "resume": self._resume}
        record = changes[verb](record)
        self._wake.set()
        return record

    def _cancel(self, record: RunRecord) -> RunRecord:
        if record.state in ENDED:
            raise WrongState(f"Run {record.run_id} has already {_ended(record)}.")
        kept = record.run_id in self._keepers and record.state != "paused"  # then it just left
        if kept or record.state in ACTIVE:
            return self.registry.update(record.run_id, wanted="cancel")
        changes = {"reason": None, "ended_at": time.time(), "wanted": None, "off_queue": False}
        return self.registry.update(record.run_id, state="cancelled", **changes)

    def _pause(self, record: RunRecord) -> RunRecord:
        if record.state in ENDED:
            raise WrongState(f"Run {record.run_id} has already {_ended(record)}.")
        if record.state == "paused":
            raise WrongState(f"Run {record.run_id} is paused already.")
        if record.wanted == "cancel":
            raise WrongState(f"Run {record.run_id} is being cancelled.")
        if record.run_id in self._keepers or record.state in ACTIVE:
            return self.registry.update(record.run_id, wanted="pause")
        return self.registry.update(record.run_id, state="paused")

    def _resume(self, record: RunRecord) -> RunRecord:
        if record.state != "paused":
            still = ", wait until it is paused" if record.wanted == "pause" else ""
            is_now = f"has {_ended(record)}" if record.state in ENDED else f"is {record.state}"
            raise WrongState(
                f"Run {record.run_id} {is_now}{still}: only a paused run can be resumed."
            )
        self.registry.folder(record.run_id).outcome.unlink(missing_ok=True)
        return self.registry.update(record.run_id, state="queued", queued_at=time.time())

    async def _schedule(self) -> None:
        while True:
            self._wake.clear()
            free = self.settings.max_concurrent_runs - len(self._keepers)
            for record in self._line()[: max(free, 0)]:
                self._give_place(record.run_id)
            await self._wake.wait()

    def _line(self) -> list[RunRecord]:
        """Who waits for a place: first what an earlier trainer had started, then by arrival."""
        waiting = [
            record
            for record in self.registry.records()
            if (record.state in ACTIVE or record.state == "queued")
            and record.run_id not in self._keepers
            and record.run_id != self._tidied
        ]
        return sorted(waiting, key=lambda r: (r.state not in ACTIVE, r.queued_at))

    def _give_place(self, run_id: str) -> None:
        keeper = Keeper(self.registry, self.queue, self.settings, run_id)
        self._keepers[run_id] = keeper
        task = asyncio.create_task(keeper.keep(), name=f"keep {run_id}")
        self._tasks[run_id] = task

        def done(_: asyncio.Task[None]) -> None:
            del self._keepers[run_id], self._tasks[run_id]
            self._wake.set()
            self._chores_due.set()

        task.add_done_callback(done)

    async def _do_chores(self) -> None:
        """What must happen some time: late writes, Redis keys of ended runs, the mirror."""
        wait_s = _CHORES_S
        while True:
            self._chores_due.clear()
            try:
                await self._chores()
                wait_s = _CHORES_S
            except (QueueUnreachable, RedisError, OSError) as error:
                log.warning("chores wait %g s for Redis or the disk: %s", wait_s, error)
                wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
            except Exception:
                log.exception("a chore broke")
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._chores_due.wait()

    async def _chores(self) -> None:
        await asyncio.to_thread(self.registry.flush)
        for record in self.registry.records():
            has_place = record.run_id in self._keepers or record.state in ACTIVE
            if not record.off_queue and not has_place:
                await self._take_off_queue(record)
        await self._park_strangers()
        if self.mirror is not None:
            await asyncio.to_thread(self.mirror.write, self.registry)

    async def _park_strangers(self) -> None:
        """A run that only Redis remembers (its folder is gone or elsewhere) must not be served."""
        known = {record.run_id for record in self.registry.records()}
        for run_id in await asyncio.to_thread(self.queue.active_runs):
            if run_id not in known and not await asyncio.to_thread(
                self.queue.learner_alive, run_id
            ):
                log.warning("run %s is not in this runs folder: parked in the queue", run_id)
                await asyncio.to_thread(self.queue.park_run, run_id)

    async def _take_off_queue(self, record: RunRecord) -> None:
        """Generators follow the oldest active run: one without a place must not be that.

        The run gets no place meanwhile, or a late command could hit the learner that resumes it.
        """
        leave = self.queue.close_run if record.state in ENDED else self.queue.park_run
        self._tidied = record.run_id
        try:
            await asyncio.to_thread(leave, record.run_id)
            if (self.registry.get(record.run_id).state in ENDED) == (record.state in ENDED):
                self.registry.update(record.run_id, off_queue=True)
        finally:
            self._tidied = None
            self._wake.set()


def _ended(record: RunRecord) -> str:
    return "been cancelled" if record.state == "cancelled" else record.state
