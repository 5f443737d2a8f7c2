"""Does the completion end in the right answer? Extraction and comparison are `cohort.grading`'s."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, cast

from anyio import to_thread
from pydantic import Field

from cohort.contracts.base import JsonValue
from cohort.grading import Policy, extract_answer, grade_math_batch
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier

_ZERO = ("wrong", "no_answer", "ambiguous", "unparsable_answer", "limit")
_OUTCOMES = {
    "correct": Outcome(1.0, verdict="correct"),
    **{verdict: Outcome(0.0, verdict=verdict) for verdict in _ZERO},
    "unparsable_gold": Outcome.unscored(
        "unscorable", "no answer can be read from ground_truth", "unparsable_gold"
    ),
}
_FEW, _SHORT = 16, 16_384
"""Answers and characters that are graded in less time than a thread needs to take them over."""


class MathParams(Params):
    """What public graders disagree about; docs/verifier.md says more, with examples."""

    percent: Literal["gold", "exact"] = "gold"
    """`gold`: the truth decides, 25 % is 25 and 0.25; `exact`: 25 % is 0.25."""
    units: Literal["convert", "same", "required"] = "convert"
    """`convert`: no unit is fine, 5 m is 500 cm; `same`: none converts; `required`: no less."""
    decimals: Literal["rounded", "exact"] = "rounded"
    """`rounded`: a decimal truth stands for what rounds to it; `exact`: decimals are exact."""
    digits: int = Field(default=6, ge=1, le=100)
    """Significant digits that a decimal answer to an exact truth needs."""
    unsolved: Literal["refuse", "accept"] = "refuse"
    """Whether an equation or inequality that is still to be solved is an answer."""
    open_forms: Literal["accept", "refuse"] = "accept"
    """Whether an answer may leave a sum, product, integral or limit open."""
    assignments: Literal["value", "exact"] = "value"
    """`value`: x = 5 is 5, f(x) = 2x is 2x; `exact`: an equation is only an equation."""
    lists: Literal["unordered", "ordered"] = "unordered"
    """Whether the order of a list without brackets counts."""
    inequalities: Literal["interval", "exact"] = "interval"
    """`interval`: x < 3 is the interval below 3; `exact`: it is only an inequality."""
    commitment: Literal["single", "last"] = "single"
    """`single`: hedges and two different answers are ambiguous; `last`: the last one counts."""
    roots: Literal["real", "principal"] = "real"
    """The cube root of -8: -2 unless the truth is complex, or always the principal one."""
    log: Literal["ten", "e"] = "ten"
    """The base of a bare log."""


class MathVerifier(Verifier[MathParams]):
    """1 for the right answer, 0 for any other or none; a bad ground truth is unscorable."""

    name = "math"
    version = "2"
    description = (
        "Compares the final answer with the ground truth: numbers, expressions, sets, intervals, "
        "equations, matrices, units, text, multiple choice."
    )
    essential = True
    params = MathParams

    async def score(
        self, answers: Sequence[Answer], params: MathParams, outcomes: list[Outcome | None]
    ) -> None:
        """One native call for all answers, beside the event loop unless they are few and short."""
        completions = [answer.completion for answer in answers]
        truths = [_text(answer.ground_truth) for answer in answers]
        policy = cast(Policy, params.model_dump(exclude_defaults=True))
        grade = partial(grade_math_batch, completions, truths, **policy)
        if len(answers) <= _FEW and sum(map(len, completions)) <= _SHORT:
            verdicts = grade()
        else:
            verdicts = await to_thread.run_sync(grade, abandon_on_cancel=True)
        outcomes[:] = [_outcome(verdict) for verdict in verdicts]

    def cache_key(self, answer: Answer, _: MathParams) -> JsonValue:
        """What the completion commits to and the truth: reasoning does not change a verdict."""
        found = extract_answer(answer.completion)
        said: JsonValue = [found.answer, found.ambiguous] if found else []
        return [said, _text(answer.ground_truth)]

    async def missing(self) -> list[str]:
        """A self-test of the grading library."""
        if grade_math_batch(["#### 18", "\\boxed{(x+1)^2}"], ["18", "x^2+2x+1"]) == ["correct"] * 2:
            return []
        return ["math: the grading library fails its self-test; install the package again"]


def _text(truth: JsonValue) -> str:
    """The ground truth as text; what is no text and no number reads as no answer at all."""
    if isinstance(truth, str):
        return truth
    if isinstance(truth, bool) or not isinstance(truth, int | float):
        return ""
    return str(truth)


def _outcome(verdict: str) -> Outcome:
    if (known := _OUTCOMES.get(verdict)) is not None:
        return known
    return Outcome.unscored("infra_error", f"the grader said {verdict!r}, which is no verdict")
