"""What a request asks for: jobs, and where each item finds its outcomes.

items x rewards --> jobs, one per (verifier, kwargs): all answers that it is to judge
                    lots: items with the same parts, whose answers lie side by side in each job
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import ValidationError

from cohort.config import sentence
from services.reward.ask import Ask, Item, Spec
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier

MAX_WEIGHT = 1e6
Verifiers: TypeAlias = Mapping[str, Verifier[Any]]


class RequestError(ValueError):
    """The request cannot be scored as it is: one sentence, a stable code and an HTTP status."""

    def __init__(self, code: str, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.code, self.status = code, status


@dataclass(slots=True)
class Job:
    """All answers that one verifier judges with the same parameters."""

    verifier: Verifier[Any]
    params: Params
    answers: list[Answer] = field(default_factory=list)
    outcomes: list[Outcome | None] = field(default_factory=list)
    """Where the outcome of each answer will be; None: nothing was said of it in time."""
    hits: set[int] = field(default_factory=set)
    """Places whose outcome came from the cache."""


Parts: TypeAlias = tuple[tuple[Spec, Job], ...]


@dataclass(slots=True)
class Lot:
    """Items that ask for the same parts."""

    parts: Parts
    numbers: list[int] = field(default_factory=list)
    """Which items of the request they are."""
    answers: list[Answer] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """Where their answers begin in the job of each part."""


@dataclass(slots=True)
class Plan:
    """The jobs to do, and the lots that say which outcomes belong to which item."""

    jobs: list[Job]
    lots: list[Lot]


def make_plan(ask: Ask, verifiers: Verifiers) -> Plan:
    """Raises `RequestError` when a verifier or its parameters do not exist."""
    jobs = _Jobs(verifiers)
    shared = Lot(jobs.parts_of(ask.rewards, "rewards"))
    lots = {id(shared.parts): shared}
    for number, item in enumerate(ask.items):
        lot = shared
        if item.verifier is not None or item.rewards is not None or item.kwargs:
            parts = jobs.parts_of(_own_rewards(item, number), f"items.{number}")
            lot = lots.setdefault(id(parts), Lot(parts))
        if not lot.parts:
            raise RequestError(
                "no_verifier",
                f"items.{number}: nothing says how to score it:"
                " give rewards in the request or the item, or a verifier in the item",
            )
        lot.numbers.append(number)
        lot.answers.append(item)
    for lot in lots.values():
        for _, job in lot.parts:
            lot.starts.append(len(job.answers))
            job.answers += lot.answers
    wanted = [job for job in jobs.by_key.values() if job.answers]
    for job in wanted:
        job.outcomes = [None] * len(job.answers)
    return Plan(wanted, list(lots.values()))


class _Jobs:
    """The jobs of one request, made as they are asked for."""

    def __init__(self, verifiers: Verifiers) -> None:
        self.verifiers = verifiers
        self.by_key: dict[str, Job] = {}
        self._parts: dict[tuple[Any, ...], Parts] = {}

    def parts_of(self, specs: Sequence[Spec], place: str) -> Parts:
        """The job of each spec."""
        names = [spec.verifier for spec in specs]
        if len(set(names)) != len(names):
            raise RequestError(
                "invalid_request", f"{place}: a verifier is named twice: {', '.join(names)}"
            )
        found = []
        for number, spec in enumerate(specs):
            where = place if len(specs) == 1 and place != "rewards" else f"{place}.{number}"
            key = json.dumps([spec.verifier, spec.kwargs], sort_keys=True)
            if key not in self.by_key:
                self.by_key[key] = Job(*self._resolve(spec, where))
            if not abs(spec.weight) <= MAX_WEIGHT:
                why = f"{where}.weight: must be a number between -{MAX_WEIGHT:g} and {MAX_WEIGHT:g}"
                raise RequestError("invalid_request", why)
            found.append((spec, self.by_key[key]))
        # Items that ask for the same get the same tuple: results are then shaped once for all.
        same = tuple((id(job), spec.weight) for spec, job in found)
        return self._parts.setdefault(same, tuple(found))

    def _resolve(self, spec: Spec, place: str) -> tuple[Verifier[Any], Params]:
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


def _own_rewards(item: Item, number: int) -> Sequence[Spec]:
    if item.verifier is None and item.kwargs:
        why = f"items.{number}.kwargs: they belong to a verifier, but the item names none"
        raise RequestError("invalid_request", why)
    if item.verifier is None:
        return item.rewards or ()
    if item.rewards is not None:
        raise RequestError(
            "invalid_request", f"items.{number}: give either rewards or verifier, not both"
        )
    return (Spec(item.verifier, kwargs=item.kwargs),)
