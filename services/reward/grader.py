"""Composes verifiers into scores: who judges what, until when, and what the sum is.

    items x rewards --> jobs, one per (verifier, kwargs), each with all its answers
                          | run side by side until the deadline; what is missing then is `timeout`
                          v
    outcomes ---------> one result per item: the weighted sum, or the status of what went wrong

A verifier that raises is our trouble: its items are `infra_error`, never 0.
"""

import json
import logging
import math
import time
from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from prometheus_client import CollectorRegistry, Counter, Histogram
from pydantic import ValidationError

from cohort.config import sentence
from cohort.contracts.reward import (
    RewardSpec,
    ScoreComponent,
    ScoreItem,
    ScoreRequest,
    ScoreResult,
    ScoreStep,
    VerifierInfo,
)
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier, well_encoded

log = logging.getLogger("cohort.reward")
MAX_WEIGHT = 1e6
Verifiers = Mapping[str, Verifier[Any]]


class RequestError(ValueError):
    """The request names what does not exist: one sentence and a stable code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Overloaded(Exception):
    """Too many items are in work; come back later."""


@dataclass
class Job:
    """All answers that one verifier judges with the same parameters."""

    verifier: Verifier[Any]
    params: Params
    answers: list[Answer] = field(default_factory=list)
    outcomes: list[Outcome | None] = field(default_factory=list)

    def add(self, answer: Answer) -> int:
        """Put an answer in; its place is where its outcome will be."""
        self.answers.append(answer)
        self.outcomes.append(None)
        return len(self.answers) - 1


@dataclass(frozen=True, slots=True)
class Component:
    """Where one weighted part of an item's score will be found."""

    spec: RewardSpec
    job: Job
    place: int

    @property
    def outcome(self) -> Outcome:
        """What the verifier said, or that it had no time to say it."""
        found = self.job.outcomes[self.place]
        return found or Outcome.unscored("timeout", "not done before the deadline")


class Grader:
    """Scores batches. `registry` holds its Prometheus metrics."""

    def __init__(self, verifiers: Verifiers, max_pending_items: int = 65_536) -> None:
        self.verifiers = verifiers
        self.max_pending_items = max_pending_items
        self.pending_items = 0
        self.registry = CollectorRegistry()
        self._judged = Counter(
            "cohort_reward_items",
            "Judged items by verifier and status",
            ["verifier", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "cohort_reward_verifier_seconds",
            "Time of a batch in a verifier",
            ["verifier"],
            registry=self.registry,
        )

    async def score(self, request: ScoreRequest) -> tuple[ScoreResult, ...]:
        """One result per item, in order, within `timeout_s`.

        Raises `RequestError` when a verifier or its parameters do not exist (nothing was judged
        then), `Overloaded` when too much is in work.
        """
        plan, jobs = self._plan(request)
        size = len(request.items)
        if self.pending_items and self.pending_items + size > self.max_pending_items:
            raise Overloaded(
                f"{self.pending_items} items are in work, the limit is {self.max_pending_items}:"
                " send this request again later"
            )
        self.pending_items += size
        try:
            with anyio.move_on_after(request.timeout_s):
                async with anyio.create_task_group() as group:
                    for job in jobs:
                        group.start_soon(self._run, job)
        finally:
            self.pending_items -= size
        pairs = zip(request.items, plan, strict=True)
        results = tuple(_result(item, components) for item, components in pairs)
        judged = Tally((c.spec.verifier, c.outcome.status) for parts in plan for c in parts)
        for (verifier, status), count in judged.items():
            self._judged.labels(verifier, status).inc(count)
        return results

    def describe(self) -> tuple[VerifierInfo, ...]:
        """All verifiers, by name."""
        return tuple(
            VerifierInfo(
                name=name,
                version=verifier.version,
                description=verifier.description,
                deterministic=verifier.deterministic,
                parameters=verifier.params.model_json_schema(),
            )
            for name, verifier in sorted(self.verifiers.items())
        )

    async def missing(self) -> list[str]:
        """What keeps the service from working: each verifier's own complaints."""
        found = [await verifier.missing() for verifier in self.verifiers.values()]
        return [complaint for complaints in found for complaint in complaints]

    async def aclose(self) -> None:
        """Give up connections and child processes."""
        for verifier in self.verifiers.values():
            await verifier.aclose()

    async def _run(self, job: Job) -> None:
        started = time.perf_counter()
        try:
            await job.verifier.score(job.answers, job.params, job.outcomes)
        except Exception as error:
            name = job.verifier.name
            log.error("verifier %s failed", name, exc_info=error)
            trouble = Outcome.unscored("infra_error", f"{name} failed: {type(error).__name__}")
            job.outcomes[:] = [outcome or trouble for outcome in job.outcomes]
        finally:
            took_s = time.perf_counter() - started
            self._seconds.labels(job.verifier.name).observe(took_s)

    def _plan(self, request: ScoreRequest) -> tuple[list[list[Component]], list[Job]]:
        jobs: dict[str, Job] = {}
        shared = self._jobs_of(request.rewards, "rewards", jobs)
        plan = []
        for number, item in enumerate(request.items):
            specs = shared
            if item.verifier is not None or item.rewards is not None or item.kwargs:
                specs = self._jobs_of(_own_rewards(item, number), f"items.{number}", jobs)
            if not specs:
                raise RequestError(
                    "no_verifier",
                    f"items.{number}: nothing says how to score it:"
                    " give rewards in the request or the item, or a verifier in the item",
                )
            answer = Answer.of(item)
            plan.append([Component(spec, job, job.add(answer)) for spec, job in specs])
        return plan, [job for job in jobs.values() if job.answers]

    def _jobs_of(
        self, specs: Sequence[RewardSpec], place: str, jobs: dict[str, Job]
    ) -> list[tuple[RewardSpec, Job]]:
        names = [spec.verifier for spec in specs]
        if len(set(names)) != len(names):
            raise RequestError(
                "invalid_request", f"{place}: a verifier is named twice: {', '.join(names)}"
            )
        found = []
        for number, spec in enumerate(specs):
            where = place if len(specs) == 1 and place != "rewards" else f"{place}.{number}"
            key = json.dumps([spec.verifier, spec.kwargs], sort_keys=True)
            if key not in jobs:
                jobs[key] = Job(*self._resolve(spec, where))
            if not abs(spec.weight) <= MAX_WEIGHT:
                why = f"{where}.weight: must be a number between -{MAX_WEIGHT:g} and {MAX_WEIGHT:g}"
                raise RequestError("invalid_request", why)
            found.append((spec, jobs[key]))
        return found

    def _resolve(self, spec: RewardSpec, place: str) -> tuple[Verifier[Any], Params]:
        verifier = self.verifiers.get(spec.verifier)
        if verifier is None:
            known = ", ".join(sorted(self.verifiers))
            raise RequestError(
                "unknown_verifier",
                f"{place}: unknown verifier {spec.verifier!r}; known verifiers: {known}",
            )
        try:
            return verifier, verifier.params.model_validate(spec.kwargs)
        except ValidationError as error:
            problems = [
                sentence({**item, "loc": (place, "kwargs", *item["loc"])})
                for item in error.errors()
            ]
            raise RequestError("invalid_kwargs", "; ".join(problems)) from None


def _own_rewards(item: ScoreItem, number: int) -> Sequence[RewardSpec]:
    if item.verifier is None and item.kwargs:
        why = f"items.{number}.kwargs: they belong to a verifier, but the item names none"
        raise RequestError("invalid_request", why)
    if item.verifier is None:
        return item.rewards or ()
    if item.rewards is not None:
        raise RequestError(
            "invalid_request", f"items.{number}: give either rewards or verifier, not both"
        )
    return (RewardSpec(verifier=item.verifier, kwargs=item.kwargs),)


def _result(item: ScoreItem, components: Sequence[Component]) -> ScoreResult:
    """The weighted sum; one unscored component that counts makes the item unscored."""
    outcomes = {component.spec.verifier: component.outcome for component in components}
    weights = {c.spec.verifier: c.spec.weight for c in components}
    broken = [name for name, o in outcomes.items() if o.value is None and weights[name]]
    score: float | None = None
    status, reason = outcomes[broken[0]].status if broken else "scored", None
    if broken:
        reason = f"{broken[0]}: {outcomes[broken[0]].reason}"
    else:
        score = math.fsum(weights[name] * (o.value or 0.0) for name, o in outcomes.items())
    return ScoreResult(
        id=well_encoded(item.id),
        score=score,
        status=status,
        verdict=next(iter(outcomes.values())).verdict,
        components={
            name: ScoreComponent(value=o.value, weight=weights[name])
            for name, o in outcomes.items()
        },
        steps=next((_steps(o) for o in outcomes.values() if o.steps), ()),
        metrics={
            f"{name}.{metric}": value
            for name, o in outcomes.items()
            for metric, value in o.metrics.items()
        },
        verifier_version=" ".join(
            f"{c.spec.verifier}@{c.job.verifier.version}" for c in components
        ),
        reason=reason,
    )


def _steps(outcome: Outcome) -> tuple[ScoreStep, ...]:
    return tuple(ScoreStep(end=end, score=score) for end, score in outcome.steps)
