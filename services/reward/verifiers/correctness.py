"""Whether answers are right, for formulas that need to know: asked of a verifier that is a rule."""

from collections.abc import Sequence
from typing import Any, Literal

from services.reward.verifiers.base import Answer, Outcome, Verifier
from services.reward.verifiers.exact import ExactVerifier
from services.reward.verifiers.gsm8k import Gsm8kVerifier
from services.reward.verifiers.math import MathVerifier
from services.reward.verifiers.multiple_choice import MultipleChoiceVerifier

CorrectBy = Literal["math", "gsm8k", "multiple_choice", "exact"]
_RULES: dict[str, Verifier[Any]] = {
    verifier.name: verifier
    for verifier in (MathVerifier(), Gsm8kVerifier(), MultipleChoiceVerifier(), ExactVerifier())
}


async def correctness(answers: Sequence[Answer], correct_by: CorrectBy) -> list[Outcome]:
    """The outcome of each answer under the named verifier with its default parameters.

    Right is the verdict `correct`; a value of None says that it cannot be known.
    """
    verifier = _RULES[correct_by]
    outcomes: list[Outcome | None] = [None] * len(answers)
    await verifier.score(answers, verifier.params(), outcomes)
    unknown = Outcome.unscored("infra_error", f"{correct_by} gave no outcome")
    return [outcome or unknown for outcome in outcomes]
