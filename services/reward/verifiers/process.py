"""How far does a worked solution get, and is its arithmetic right? Dense, and still verifiable.

Every `a + b = c` of the completion is found and checked in C++ (`cohort.grading.steps`). With
`grounding: truth`, the default, the results of the ground truth's own steps are milestones:

    truth       5 + 9 = 14      14 + 7 = 21      #### 21
    completion  5 + 9 = 14  (1, a milestone)     14 + 7 = 22  (0, false)
    value       mean of: 1 for each milestone reached, 0 for each missed and for each false step

A policy that is never right gets a signal from the steps that it can do, which a 0 or 1 at the end
does not give. True steps that reach no milestone (`1 + 1 = 2`) count for nothing, so that writing
more of them cannot pay; a milestone counts once. `grounding: none` scores the truth of each
different step and needs no worked truth, but a policy can then write easy steps: use it as a
metric, or for solutions whose intermediate results may differ.

The step scores come back as `steps` with their end characters, for trainers that credit steps
(DeepSeekMath, arXiv 2402.03300, section 4.1.3; PURE, arXiv 2504.15275).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from anyio import to_thread
from pydantic import Field

from cohort.contracts.base import JsonValue
from cohort.grading.steps import ArithmeticStep, find_steps, find_steps_batch
from services.reward.verifiers.aggregation import Aggregation, aggregate
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier


class ProcessParams(Params):
    """How steps become a value."""

    grounding: Literal["truth", "none"] = "truth"
    """`truth`: steps count when they reach a result of the ground truth's steps. `none`: any."""
    aggregation: Aggregation = "mean"
    """`mean` is the dense one; with `min` and `product` only a flawless solution gets anything."""
    temperature: float = Field(default=0.1, gt=0.0, le=10.0)
    """Of the soft minimum `pure`."""
    false_step: float = Field(default=0.0, ge=-1.0, le=0.0)
    """Score of a step whose two sides differ."""
    min_steps: int = Field(default=2, ge=1, le=1024)
    """With `grounding: none`, fewer steps than these are filled up with zeros."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The steps of one completion."""

    scores: list[float]
    """One for each step that was found."""
    counted: list[float]
    """Those that make the value, with a 0 for each that is missing."""
    reached: int
    """Milestones, or different true steps without grounding."""


class ProcessVerifier(Verifier[ProcessParams]):
    """Scores the steps of a solution."""

    name = "process"
    version = "1"
    description = "Checks each arithmetic step of a solution and scores how far it gets."
    params = ProcessParams

    async def score(
        self, answers: Sequence[Answer], params: ProcessParams, outcomes: list[Outcome | None]
    ) -> None:
        """One native call for all completions, beside the event loop."""
        found = await to_thread.run_sync(
            find_steps_batch, [answer.completion for answer in answers], abandon_on_cancel=True
        )
        for place, (answer, steps) in enumerate(zip(answers, found, strict=True)):
            outcomes[place] = _outcome(answer, steps, params)


def _outcome(answer: Answer, steps: list[ArithmeticStep], params: ProcessParams) -> Outcome:
    if params.grounding == "none":
        judged = without_truth(steps, params)
    else:
        milestones = _milestones(answer.ground_truth)
        if not milestones:
            return Outcome.unscored(
                "unscorable",
                "the ground truth has no arithmetic steps: give a worked solution,"
                " or set grounding to none",
                "unparsable_gold",
            )
        judged = against(milestones, steps, params)
    value = aggregate(judged.counted, params.aggregation, params.temperature)
    right = sum(step.right for step in steps)
    verdict = "steps_right" if right == len(steps) else "steps_wrong"
    metrics = {
        "steps": float(len(steps)),
        "right": float(right),
        "reached": float(judged.reached),
        "flawless": float(min(judged.counted) >= 1.0),
    }
    ends = [step.end for step in steps]
    return Outcome(
        value,
        verdict=verdict if steps else "no_steps",
        metrics=metrics,
        steps=tuple(zip(ends, judged.scores, strict=True)),
    )


def against(
    milestones: Sequence[str], steps: Sequence[ArithmeticStep], params: ProcessParams
) -> Judged:
    """Score steps by the milestones they reach, each once and in any order."""
    open_ones = list(milestones)
    scores, counted = [], []
    for step in steps:
        if not step.right:
            scores.append(params.false_step)
            counted.append(params.false_step)
        elif step.value in open_ones:
            open_ones.remove(step.value)
            scores.append(1.0)
            counted.append(1.0)
        else:
            scores.append(0.0)  # true, but it gets nowhere
    return Judged(
        scores, counted + [0.0] * len(open_ones), reached=len(milestones) - len(open_ones)
    )


def without_truth(steps: Sequence[ArithmeticStep], params: ProcessParams) -> Judged:
    """Score the truth of steps; a result that was reached before counts no second time."""
    seen: set[str] = set()
    scores, counted = [], []
    for step in steps:
        new = step.value not in seen
        seen.add(step.value)
        score = (1.0 if new else 0.0) if step.right else params.false_step
        scores.append(score)
        if new or not step.right:
            counted.append(score)
    missing = max(0, params.min_steps - len(counted))
    reached = sum(score > 0.0 for score in counted)
    return Judged(scores, counted + [0.0] * missing, reached)


@lru_cache(maxsize=4096)
def _results(solution: str) -> tuple[str, ...]:
    """Results of a worked solution's steps; the completions of a group share their truth."""
    return tuple(step.value for step in find_steps(solution) if step.right)


def _milestones(truth: JsonValue) -> tuple[str, ...]:
    return _results(truth) if isinstance(truth, str) else ()
