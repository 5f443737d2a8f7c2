"""Between HTTP and the engine: one thread owns torch, samples batches, loads versions in between.

  requests ----> waiting --(quiet for a moment)--> sorted by seed --> engine.generate --> answers
  loads -------> loads   --(between batches)-----> engine.load_version --> policy moves on

Requests that come together are decoded together, in an order that does not depend on who came
first; later ones join while there is room, unless a new version waits for the batch to end. A
request that is abandoned or late leaves the batch at its next token.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge

from services.generator.engines.base import Engine, GroupRequest
from services.generator.jobs import (
    Answer,
    Job,
    Load,
    Policy,
    SamplerError,
    fail,
    fulfil,
    serves,
    stale,
    stopping,
)

__all__ = ["Answer", "Policy", "Sampler", "SamplerError"]

log = logging.getLogger("cohort.generator")


class Sampler:
    """Samples with one engine. `start` and `stop` its thread; everything else is thread-safe."""

    def __init__(self, engine: Engine, *, max_waiting: int = 1024, window_s: float = 0.03) -> None:
        self.engine, self.policy = engine, Policy()
        self.max_waiting, self.window_s = max_waiting, window_s
        self.registry = CollectorRegistry()
        self._version = Gauge("cohort_generator_version", "Policy version", registry=self.registry)
        self._version.set(-1)
        self._tokens = Counter(
            "cohort_generator_tokens_total", "Tokens sampled", registry=self.registry
        )
        self._busy_s = Counter(
            "cohort_generator_busy_seconds_total", "Time spent sampling", registry=self.registry
        )
        self._wake = threading.Condition()
        self._waiting: list[Job] = []
        self._loads: deque[Load] = deque()
        self._running: list[Job] = []
        self._counted_at = 0.0
        self._watchers: list[Future[None]] = []
        self._last_arrival = self._first_arrival = 0.0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Answer what is being sampled with an error and end the thread."""
        with self._wake:
            self._stopping = True
            for job in self._running:
                job.stopped = True
            abandoned: list[Any] = [*(job.answer for job in self._waiting)]
            abandoned += [load.done for load in self._loads]
            self._waiting.clear()
            self._loads.clear()
            self._wake.notify_all()
        for future in abandoned:
            fail(future, stopping())
        if self._thread.is_alive():
            self._thread.join()

    async def wait_for(self, run_id: str | None, min_version: int, timeout_s: float) -> Policy:
        """The policy, once it is new enough for this run. Raises `SamplerError`.

        Another run's policy is `wrong_policy` at once; a version that does not come in time is
        `stale_policy`; when nothing is loaded and no run is named it is `no_policy`.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            with self._wake:
                policy, change = self.policy, Future[None]()
                self._watchers.append(change)
            try:
                if serves(policy, run_id, min_version):
                    return policy
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise stale(policy, min_version)
                await asyncio.wait({asyncio.wrap_future(change)}, timeout=left_s)
            finally:
                with self._wake:
                    self._watchers = [
                        watcher for watcher in self._watchers if watcher is not change
                    ]

    async def sample(
        self,
        request: GroupRequest,
        *,
        run_id: str | None = None,
        min_version: int = 0,
        timeout_s: float = 300.0,
        on_token: Callable[[int, int], None] | None = None,
    ) -> Answer:
        """Completions of one prompt. Cancelling the caller takes the request out of the batch.

        `on_token` is told (completion index, token id) from the sampler's thread. Raises
        `SamplerError`: wrong_policy, stale_policy, bad_prompt, overloaded, timeout, engine.
        """
        problem = self.engine.check(request.prompt_ids, request.max_new_tokens)
        if problem:
            raise SamplerError("bad_prompt", problem)
        job = Job(request, run_id, min_version, time.monotonic() + timeout_s, on_token)
        with self._wake:
            if self._stopping:
                raise stopping()
            if len(self._waiting) >= self.max_waiting:
                raise SamplerError("overloaded", f"{self.max_waiting} requests wait already")
            self._last_arrival = time.monotonic()
            if not self._waiting:
                self._first_arrival = self._last_arrival
            self._waiting.append(job)
            self._wake.notify_all()
        return await asyncio.wrap_future(job.answer)

    async def load_version(
        self, folder: Path, run_id: str, version: int, fingerprint: str | None
    ) -> Policy:
        """Serve a published version from the next batch on.

        Raises `WeightsError` or `ModelError`; what was served before is then still served.
        """

        def read() -> Policy:
            known = self.policy.fingerprint
            if fingerprint is None or fingerprint != known:
                known = self.engine.load_version(folder, version, fingerprint)
            return Policy(run_id, str(folder), version, known)

        return await self._load(read)

    async def load_model(self, folder: Path, name: str) -> Policy:
        """Serve an ordinary model as version 0 of no run. Raises `ModelError`."""
        return await self._load(lambda: Policy(None, name, 0, self.engine.load_model(folder)))

    async def _load(self, read: Callable[[], Policy]) -> Policy:
        load = Load(read)
        with self._wake:
            if self._stopping:
                raise stopping()
            self._loads.append(load)
            self._wake.notify_all()
        return await asyncio.wrap_future(load.done)

    # The thread

    def _run(self) -> None:
        while (work := self._next()) is not None:
            if isinstance(work, Load):
                self._read(work)
            else:
                self._sample(work)

    def _next(self) -> Load | list[Job] | None:
        """Block until there is something to do; None to stop."""
        with self._wake:
            while True:
                if self._stopping:
                    return None
                if self._loads:
                    return self._loads.popleft()
                pause_s = self._pause_s() if self._waiting else None
                if pause_s is not None and pause_s <= 0:
                    return self._take()
                self._wake.wait(pause_s)

    def _pause_s(self) -> float:
        """How long to wait for company still."""
        quiet_at = self._last_arrival + self.window_s / 3
        return min(quiet_at, self._first_arrival + self.window_s) - time.monotonic()

    def _take(self) -> list[Job]:
        """Waiting jobs, a batch full, in an order that does not depend on who came first."""
        self._waiting.sort(key=lambda job: (job.request.seed, job.request.prompt_ids))
        rows, taken = 0, 0
        for job in self._waiting:
            rows += job.request.num_completions
            if taken and rows > self.engine.capacity:
                break
            taken += 1
        jobs, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return jobs

    def _read(self, load: Load) -> None:
        try:
            policy = load.read()
        except Exception as error:  # whoever asked is told; this thread serves on
            fail(load.done, error)
            return
        with self._wake:
            self.policy = policy
            watchers, self._watchers = self._watchers, []
        self._version.set(policy.version)
        log.info("serving version %d of %s", policy.version, policy.run_id or policy.model)
        fulfil(load.done, policy)
        for watcher in watchers:
            fulfil(watcher, None)

    def _sample(self, jobs: list[Job]) -> None:
        self._running, self._counted_at = [], time.perf_counter()
        try:
            self.engine.generate(self._begin(jobs), self._more)
        except Exception as error:
            log.exception("a batch of %d requests failed", len(self._running))
            for job in {id(job): job for job in (*jobs, *self._running)}.values():
                fail(job.answer, SamplerError("engine", f"sampling failed: {error}"))
        self._count()

    def _begin(self, jobs: list[Job]) -> list[Job]:
        jobs = [job for job in jobs if self._still_right(job)]
        for job in jobs:
            job.policy, job.stopped = self.policy, self._stopping
        self._running += jobs
        return jobs

    def _more(self) -> list[Job]:
        """What came meanwhile; nothing while a new version waits for the batch to end."""
        self._count()
        with self._wake:
            jobs = [] if self._loads or self._stopping else self._take()
        return self._begin(jobs)

    def _count(self) -> None:
        """Move the metrics on and forget jobs that were answered."""
        now = time.perf_counter()
        self._busy_s.inc(now - self._counted_at)
        self._counted_at = now
        self._tokens.inc(sum(job.num_tokens for job in self._running))
        for job in self._running:
            job.num_tokens = 0
        self._running = [job for job in self._running if not job.answer.done()]

    def _still_right(self, job: Job) -> bool:
        """The policy may have moved since the request came."""
        try:
            if not job.alive():
                raise SamplerError("timeout", "the request waited until its time was over")
            if not serves(self.policy, job.run_id, job.min_version):
                raise stale(self.policy, job.min_version)
            problem = self.engine.check(job.request.prompt_ids, job.request.max_new_tokens)
            if problem:
                raise SamplerError("bad_prompt", problem)
        except SamplerError as error:
            fail(job.answer, error)
            return False
        return True
