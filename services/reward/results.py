"""Shapes results: the weighted sum of an item's outcomes, or the status of what went wrong.

Items with the same outcomes share one result, without an id: a batch of rule rewards has a handful
of different ones, so that shaping and spelling them costs nearly nothing per item.
"""

import math
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any

from cohort.contracts.reward import ScoreComponent, ScoreResult, ScoreStep
from services.reward.ask import Item
from services.reward.plan import Lot, Parts, Plan
from services.reward.verifiers.base import Outcome, well_encoded

_NOTHING = ScoreResult(score=None, status="unscorable")
TIMEOUT = Outcome.unscored("timeout", "not done before the deadline")


def shape(plan: Plan, num_items: int) -> list[ScoreResult]:
    """One result per item, without its id."""
    results: list[ScoreResult] = [_NOTHING] * num_items
    for lot in plan.lots:
        same: dict[tuple[int, ...], ScoreResult] = {}
        alike: dict[tuple[object, ...], ScoreResult] = {}
        for number, row in zip(lot.numbers, _rows(lot), strict=True):
            key = tuple(map(id, row))  # outcomes of rules are mostly the same few objects
            result = same.get(key)
            if result is None:
                cached, *outcomes = row
                found = [outcome or TIMEOUT for outcome in outcomes]
                looks = (cached, *map(_look, found))
                if looks not in alike:
                    alike[looks] = _result(lot.parts, found, cached)
                result = same[key] = alike[looks]
            results[number] = result
    return results


def spell(items: Sequence[Item], results: Sequence[ScoreResult]) -> bytes:
    """The JSON of a `ScoreResponse`: each item's id in front of its result."""
    endings = {
        id(result): result.model_dump_json(exclude={"id"})[1:]
        for result in {id(result): result for result in results}.values()
    }
    spelled = [
        f'{{"id":{encode_basestring_ascii(item.id)},{endings[id(result)]}'
        for item, result in zip(items, results, strict=True)
    ]
    return f'{{"results":[{",".join(spelled)}]}}'.encode()


def _rows(lot: Lot) -> Iterator[tuple[Any, ...]]:
    """Per item: whether all of it came from the cache, and the outcome of each part."""
    size = len(lot.numbers)
    spans = [(job, start) for (_, job), start in zip(lot.parts, lot.starts, strict=True)]
    outcomes = [job.outcomes[start : start + size] for job, start in spans]
    cached = [False] * size
    if all(job.hits for job, _ in spans):
        cached = [all(start + at in job.hits for job, start in spans) for at in range(size)]
    return zip(cached, *outcomes, strict=True)


def _look(outcome: Outcome) -> object:
    """Equal for outcomes that look the same in a result."""
    if outcome.metrics or outcome.steps:
        return id(outcome)
    return (outcome.value, outcome.status, outcome.verdict, outcome.reason)


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
