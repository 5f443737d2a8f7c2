"""Shapes results: the weighted sum of an item's outcomes, or the status of what went wrong.

Items with the same outcomes share one result, without an id: a batch of rule rewards has a handful
of different ones, so that shaping and spelling them costs nearly nothing per item.
"""

import math
from collections.abc import Sequence

from pydantic_core import to_json

from cohort.contracts.reward import ScoreComponent, ScoreItem, ScoreResult, ScoreStep
from services.reward.plan import Parts, Plan
from services.reward.verifiers.base import Outcome, well_encoded

TIMEOUT = Outcome.unscored("timeout", "not done before the deadline")


def shape(plan: Plan) -> list[ScoreResult]:
    """One result per item, without its id."""
    any_hit = any(job.hits for job in plan.jobs)
    shaped: dict[tuple[object, ...], ScoreResult] = {}
    results = []
    for parts, places in plan.rows:
        found = [
            job.outcomes[place] or TIMEOUT for (_, job), place in zip(parts, places, strict=True)
        ]
        cached = any_hit and all(
            place in job.hits for (_, job), place in zip(parts, places, strict=True)
        )
        key = (id(parts), cached, *[_likeness(outcome) for outcome in found])
        result = shaped.get(key)
        if result is None:
            result = shaped[key] = _result(parts, found, cached)
        results.append(result)
    return results


def _likeness(outcome: Outcome) -> object:
    """Equal for outcomes that look the same in a result."""
    if outcome.metrics or outcome.steps:
        return id(outcome)
    return (outcome.value, outcome.status, outcome.verdict, outcome.reason)


def spell(items: Sequence[ScoreItem], results: Sequence[ScoreResult]) -> bytes:
    """The JSON of a `ScoreResponse`: each item's id in front of its result."""
    endings: dict[int, bytes] = {}
    spelled = []
    for item, result in zip(items, results, strict=True):
        if (ending := endings.get(id(result))) is None:
            ending = b"," + result.model_dump_json(exclude={"id"}).encode()[1:]
            endings[id(result)] = ending
        spelled.append(b'{"id":' + to_json(well_encoded(item.id)) + ending)
    return b'{"results":[' + b",".join(spelled) + b"]}"


def _result(parts: Parts, found: Sequence[Outcome], cached: bool) -> ScoreResult:
    """The weighted sum; one unscored component that counts makes the item unscored."""
    outcomes = [
        (spec, job.verifier, _sound(outcome, spec.verifier))
        for (spec, job), outcome in zip(parts, found, strict=True)
    ]
    broken = next((trio for trio in outcomes if trio[2].value is None and trio[0].weight), None)
    score = None
    if broken is None:
        score = math.fsum(spec.weight * (o.value or 0.0) for spec, _, o in outcomes)
    return ScoreResult(
        score=score,
        status="scored" if broken is None else broken[2].status,
        verdict=outcomes[0][2].verdict,
        components={
            spec.verifier: ScoreComponent(value=o.value, weight=spec.weight)
            for spec, _, o in outcomes
        },
        steps=next((_steps(o) for _, _, o in outcomes if o.steps), ()),
        metrics={
            f"{spec.verifier}.{metric}": value
            for spec, _, o in outcomes
            for metric, value in o.metrics.items()
        },
        cached=cached,
        verifier_version=" ".join(f"{s.verifier}@{v.version}" for s, v, _ in outcomes),
        reason=None
        if broken is None
        else well_encoded(f"{broken[0].verifier}: {broken[2].reason}"),
    )


def _sound(outcome: Outcome, name: str) -> Outcome:
    """The outcome, unless it is neither a number nor a refusal: then the verifier is broken."""
    if outcome.value is None:
        sound = outcome.status != "scored"
    else:
        sound = outcome.status == "scored" and math.isfinite(outcome.value)
    if sound:
        return outcome
    why = f"{name} gave {outcome.value} with status {outcome.status}"
    return Outcome.unscored("infra_error", why, outcome.verdict)


def _steps(outcome: Outcome) -> tuple[ScoreStep, ...]:
    return tuple(ScoreStep(end=end, score=score) for end, score in outcome.steps)
