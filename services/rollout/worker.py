"""The worker: leases prompts, keeps its leases, pushes groups. One nursery holds all of it.

    lease --prompt--> work: generate, score --group--> push          as many as `max_groups` at once
    renew      every third of a lease: what is not ours any more is dropped, another worker has it;
               prompts of a paused run are given back
    look       which generators there are
    heartbeat  what the worker does, and what it waits for

A failure of a group is pushed as a typed failure. An exception that nobody expected ends the group
as `bug`; in one of the loops it ends the process, so that its supervisor sees it.
"""

import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import trio

from cohort.clients import AsyncGeneratorClient, AsyncRewardClient
from cohort.contracts.queue import GroupMessage, PromptMessage, WorkerRecord
from cohort.rollouts.queue import Delivered, Malformed, QueueUnreachable, RolloutQueue
from services.rollout.config import Settings
from services.rollout.generators import Generators
from services.rollout.groups import GroupMaker, failed_group
from services.rollout.patience import Backoff, Failure, Waiting

log = logging.getLogger("cohort.rollout")
R = TypeVar("R")

HEARTBEAT_S = 1.0
HEARTBEAT_TTL_S = 10.0
_LOOK_S = 1.0
_BLOCK_S = 0.25


@dataclass
class Held:
    """A leased prompt and the way to stop working on it."""

    item: Delivered[PromptMessage]
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    begun: bool = False
    pushing: bool = False
    """While a push is under way, "not held any more" may just mean that it succeeded."""


class Worker:
    """One rollout worker; `run` works until `stop` is called."""

    def __init__(self, settings: Settings, queue: RolloutQueue | None = None) -> None:
        self.settings = settings
        self.queue = queue or RolloutQueue.from_url(
            settings.redis_url, capacity=settings.queue_capacity, lease_s=settings.lease_s
        )
        # A restarted worker has the name of its predecessor, but never its leases.
        self.consumer = f"{settings.worker_id}/{secrets.token_hex(4)}"
        self.waiting, self.counts = Waiting(), Counter[str]()
        self.generators = Generators(settings.generator_url, self._connect)
        self.reward = AsyncRewardClient(
            settings.reward_url, api_key=settings.api_key, retry_for_s=0.0
        )
        self.maker = GroupMaker(
            self.generators,
            self.reward,
            self.waiting,
            generate_timeout_s=settings.generate_timeout_s,
            score_timeout_s=settings.score_timeout_s,
        )
        self._held: dict[str, Held] = {}
        self._changed = trio.Event()
        self._stopping = trio.Event()
        self._threads = trio.CapacityLimiter(settings.max_groups + 8)

    def stop(self) -> None:
        """Lease nothing more; `run` returns when the groups in flight are done, or time is up."""
        self._stopping.set()
        self._wake()

    async def run(self) -> None:
        """Work. An unexpected exception of a loop comes out of here."""
        try:
            async with trio.open_nursery() as nursery:
                for loop in (self._heartbeat, self._renew, self._look, self.generators.watch):
                    nursery.start_soon(loop)
                await self._lease(nursery)
                with trio.move_on_after(self.settings.grace_s):
                    while any(held.begun for held in self._held.values()):
                        await self._changed.wait()
                nursery.cancel_scope.cancel()
        finally:
            with trio.move_on_after(5.0, shield=True):
                await self._leave()

    # Loops

    async def _lease(self, nursery: trio.Nursery) -> None:
        """Take prompts as long as there is room, from the oldest run first."""
        backoff = Backoff()
        while not self._stopping.is_set():
            try:
                items = await self._lease_some()
            except QueueUnreachable:
                await backoff.sleep()
                continue
            backoff = Backoff()
            for item in items:
                if item.entry_id in self._held:
                    continue  # after an outage it is ours again
                self._held[item.entry_id] = held = Held(item)
                if not self._stopping.is_set():
                    held.begun = True
                    nursery.start_soon(self._work, held)

    async def _lease_some(self) -> list[Delivered[PromptMessage]]:
        runs = await self._call(self.queue.active_runs)
        if not runs:
            await self._pause(_BLOCK_S / 2)
        for block_s in (0.0, _BLOCK_S / max(1, len(runs))):
            for run_id in runs:
                room = self.settings.max_groups - len(self._held)
                if room <= 0:
                    await self._pause(_BLOCK_S)
                    return []
                lease = self.queue.lease_prompts
                items = await self._call(lease, run_id, self.consumer, room, block_s)
                if items:
                    return items
        return []

    async def _pause(self, at_most_s: float) -> None:
        """Until a group ends, or the worker is stopped, or the time is over."""
        with trio.move_on_after(at_most_s):
            await self._changed.wait()

    async def _renew(self) -> None:
        while True:
            await trio.sleep(self.settings.lease_s / 3)
            with suppress(QueueUnreachable):  # whose leases ran out is said when it is back
                active = await self._call(self.queue.active_runs)
                for run_id, ids in self._held_by_run():
                    if run_id in active:
                        ours = await self._call(self.queue.renew, run_id, self.consumer, ids)
                        self._drop(set(ids) - set(ours))
                    else:
                        await self._give_back(run_id, ids)

    async def _give_back(self, run_id: str, ids: list[str]) -> None:
        """A paused run: no generator serves it now, and others need the room."""
        await self._call(self.queue.release, run_id, self.consumer, ids)
        self._drop(set(ids))

    def _held_by_run(self) -> list[tuple[str, list[str]]]:
        by_run: dict[str, list[str]] = {}
        for entry_id, held in self._held.items():
            by_run.setdefault(held.item.message.run_id, []).append(entry_id)
        return list(by_run.items())

    def _drop(self, entry_ids: set[str]) -> None:
        for entry_id in entry_ids:
            held = self._held.get(entry_id)
            if held is not None and not held.pushing:
                held.scope.cancel()

    async def _look(self) -> None:
        while True:
            with suppress(QueueUnreachable):  # those that were known may still be there
                self.generators.update(await self._call(self.queue.generators))
                await self.generators.close_gone()
            await trio.sleep(_LOOK_S)

    async def _heartbeat(self) -> None:
        while True:
            with suppress(QueueUnreachable):  # `_call` has noted it
                await self._call(self.queue.heartbeat_worker, self.record(), HEARTBEAT_TTL_S)
            await trio.sleep(HEARTBEAT_S)

    def record(self) -> WorkerRecord:
        """What the heartbeat says."""
        since, sentence = self.waiting.longest() or (None, None)
        return WorkerRecord(
            worker_id=self.settings.worker_id,
            busy=len(self._held),
            waiting_for=sentence,
            waiting_since=since,
            counts=dict(self.counts),
        )

    # One prompt

    async def _work(self, held: Held) -> None:
        entry_id, prompt = held.item.entry_id, held.item.message
        with held.scope:
            queued_s = max(0.0, time.time() - int(entry_id.partition("-")[0]) / 1000)
            group = await self._make(prompt)
            seconds = {"queue": queued_s, **group.seconds}
            await self._push(held, group.model_copy(update={"seconds": seconds}))
        if held.scope.cancelled_caught:
            self._count("lease_lost", prompt, "the run is paused or over, or another has it")
        del self._held[entry_id]  # not when the worker leaves: then `_leave` gives it back
        if not self._held:
            self.waiting.forget()
        self._wake()

    async def _make(self, prompt: PromptMessage) -> GroupMessage:
        try:
            return await self.maker.make(prompt)
        except Failure as failure:
            self._count(failure.kind, prompt, str(failure))
            return failed_group(prompt, failure)
        except Exception as error:
            log.exception("a bug, found with group %s", prompt.group_id)
            self._count("bug", prompt, str(error))
            return failed_group(prompt, Failure("bug", f"{type(error).__name__}: {error}"))

    async def _push(self, held: Held, group: GroupMessage) -> None:
        """Until the queue has it: nothing that was sampled is thrown away because of an outage."""
        backoff = Backoff()
        while True:
            held.pushing = True
            try:
                word = await self._call(
                    self.queue.push_group, self.consumer, held.item.entry_id, group, abandon=False
                )
            except QueueUnreachable:
                word = "full"
            except Malformed as error:
                self._count("malformed", held.item.message, str(error))
                group = failed_group(held.item.message, Failure("malformed", str(error)))
                continue
            finally:
                held.pushing = False
            if word != "full":
                self._count(f"pushed_{word}", held.item.message, group.status)
                return
            await backoff.sleep()

    # Small things

    def _count(self, outcome: str, prompt: PromptMessage, detail: str) -> None:
        self.counts[outcome] += 1
        fine = outcome.startswith("pushed_")
        fields = {"run_id": prompt.run_id, "group_id": prompt.group_id, "outcome": outcome}
        level = logging.DEBUG if fine else logging.WARNING
        log.log(level, "group %s: %s", outcome, detail, extra={"fields": fields})

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _call(self, method: Callable[..., R], *args: object, abandon: bool = True) -> R:
        """Run a method of the queue in a thread, and remember whether Redis can be reached."""
        try:
            result = await trio.to_thread.run_sync(
                method, *args, abandon_on_cancel=abandon, limiter=self._threads
            )
        except QueueUnreachable as error:
            self.waiting.note("Redis", str(error))
            raise
        self.waiting.clear("Redis")
        return result

    def _connect(self, url: str) -> AsyncGeneratorClient:
        return AsyncGeneratorClient(url, api_key=self.settings.api_key, retry_for_s=0.0)

    async def _leave(self) -> None:
        with suppress(QueueUnreachable):  # leases and heartbeat also run out by themselves
            for run_id, ids in self._held_by_run():
                await self._call(self.queue.release, run_id, self.consumer, ids)
            await self._call(self.queue.unregister_worker, self.settings.worker_id)
        await self.generators.aclose()
        await self.reward.aclose()
        self.queue.close()
