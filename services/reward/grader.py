"""Scores batches: plan who judges what, have it judged until the deadline, shape the results.

    items x rewards --> jobs, one per (verifier, kwargs), each with all its answers     plan.py
                          | side by side until the deadline; what is missing then is `timeout`
                          v
    outcomes ---------> one result per item: the weighted sum, or what went wrong       results.py

A verifier that raises is our trouble: its items are `infra_error`, never 0.
"""

from collections import Counter as Tally

import anyio
from prometheus_client import CollectorRegistry, Counter

from cohort.contracts.reward import ScoreRequest, ScoreResult, VerifierInfo
from services.reward.ask import Ask
from services.reward.cache import Cache, NoCache
from services.reward.diagnostics import Diagnostics
from services.reward.judging import Judging
from services.reward.plan import Job, RequestError, Verifiers, make_plan
from services.reward.results import TIMEOUT, shape

__all__ = ["Grader", "Overloaded", "RequestError"]

_PATIENCE_S = 1.5
"""Who asks whether the service is ready does not wait for long."""


class Overloaded(Exception):
    """Too many items are in work; come back later."""


class Grader:
    """Scores batches. `registry` holds its Prometheus metrics."""

    def __init__(
        self,
        verifiers: Verifiers,
        max_pending_items: int = 65_536,
        max_items: int = 65_536,
        cache: Cache | None = None,
    ) -> None:
        self.verifiers = verifiers
        self.max_pending_items, self.max_items = max_pending_items, max_items
        self.pending_items = 0
        self.registry = CollectorRegistry()
        self.diagnostics = Diagnostics()
        self.cache = NoCache() if cache is None else cache
        self._judging = Judging(self.cache, self.registry)
        self._judged = Counter(
            "cohort_reward_items",
            "Judged items by verifier and status",
            ["verifier", "status"],
            registry=self.registry,
        )

    async def score(self, request: ScoreRequest) -> tuple[ScoreResult, ...]:
        """One result per item, in order, within `timeout_s`.

        Raises `RequestError` when a verifier or its parameters do not exist (nothing was judged
        then), `Overloaded` when too much is in work.
        """
        ask = Ask.of(request)
        pairs = zip(ask.items, await self.judge(ask), strict=True)
        return tuple(result.model_copy(update={"id": item.id}) for item, result in pairs)

    async def judge(self, ask: Ask) -> list[ScoreResult]:
        """`score` without ids: items with the same outcomes share one result."""
        size = len(ask.items)
        if size > self.max_items:
            why = f"{size} items are more than {self.max_items}: send several requests"
            raise RequestError("too_many_items", why, status=413)
        plan = make_plan(ask, self.verifiers)
        if self.pending_items and self.pending_items + size > self.max_pending_items:
            raise Overloaded(
                f"{self.pending_items} items are in work, the limit is {self.max_pending_items}:"
                " send this request again later"
            )
        self.pending_items += size
        try:
            with anyio.move_on_after(ask.timeout_s):
                if (
                    len(plan.jobs) == 1
                ):  # the usual case, and a task group costs as much as 30 items
                    await self._judging.judge(plan.jobs[0], ask.cache)
                else:
                    async with anyio.create_task_group() as group:
                        for job in plan.jobs:
                            group.start_soon(self._judging.judge, job, ask.cache)
        finally:
            self.pending_items -= size
        for job in plan.jobs:
            self._account(job)
        return shape(plan, size)

    def describe(self) -> tuple[VerifierInfo, ...]:
        """All verifiers, by name."""
        return tuple(
            VerifierInfo(
                name=name,
                version=verifier.version,
                description=verifier.description,
                deterministic=verifier.deterministic,
                compares_group=verifier.compares_group,
                parameters=verifier.params.model_json_schema(),
            )
            for name, verifier in sorted(self.verifiers.items())
        )

    async def missing(self) -> list[str]:
        """What keeps the service from working: complaints of the verifiers that need no one."""
        return await self._complaints(essential=True)

    async def degraded(self) -> dict[str, list[str]]:
        """What only the verifiers miss that work through others: sandbox, model servers."""
        return {"degraded": await self._complaints(essential=False)}

    async def aclose(self) -> None:
        """Give up connections and child processes."""
        for verifier in self.verifiers.values():
            await verifier.aclose()
        await self.cache.aclose()

    async def _complaints(self, essential: bool) -> list[str]:
        """In the order of the verifiers; who is asked and does not answer soon says nothing."""
        found: dict[str, list[str]] = {n: [] for n in self.verifiers}

        async def ask(name: str) -> None:
            found[name] = await self.verifiers[name].missing()

        with anyio.move_on_after(_PATIENCE_S):
            async with anyio.create_task_group() as group:
                for name, verifier in self.verifiers.items():
                    if verifier.essential is essential:
                        group.start_soon(ask, name)
        return [complaint for complaints in found.values() for complaint in complaints]

    def _account(self, job: Job) -> None:
        """Counters and diagnostics."""
        name = job.verifier.name
        statuses = [(outcome or TIMEOUT).status for outcome in job.outcomes]
        for status, count in Tally(statuses).items():
            self._judged.labels(name, status).inc(count)
        self.diagnostics.record(job, statuses)
