"""Does the completion end in the right answer? Extraction and comparison are `cohort.grading`'s."""

from collections.abc import Sequence

from anyio import to_thread

from cohort.contracts.base import JsonValue
from cohort.grading import grade_math_batch
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
"""Answers and characters that are graded faster than a thread is woken up."""


class MathParams(Params):
    """It has no parameters."""


class MathVerifier(Verifier[MathParams]):
    """1 for the right answer, 0 for any other or none; a bad ground truth is unscorable."""

    name = "math"
    version = "1"
    description = (
        "Compares the final answer with the ground truth: numbers, fractions, boxed, ####."
    )
    essential = True
    params = MathParams

    async def score(
        self, answers: Sequence[Answer], _: MathParams, outcomes: list[Outcome | None]
    ) -> None:
        """One native call for all answers, beside the event loop unless it takes no time."""
        completions = [answer.completion for answer in answers]
        truths = [_text(answer.ground_truth) for answer in answers]
        if len(answers) <= _FEW and sum(map(len, completions)) <= _SHORT:
            verdicts = grade_math_batch(completions, truths)
        else:
            verdicts = await to_thread.run_sync(
                grade_math_batch, completions, truths, abandon_on_cancel=True
            )
        outcomes[:] = [_outcome(verdict) for verdict in verdicts]

    async def missing(self) -> list[str]:
        """A self-test of the grading library."""
        if grade_math_batch(["#### 18"], ["18"]) == ["correct"]:
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
    known = _OUTCOMES.get(verdict)
    return known or Outcome.unscored(
        "infra_error", f"the grader said {verdict!r}, which is no verdict"
    )
