"""Does the completion repeat itself? The share of n-grams that were there before, as a penalty.

    R = -penalty * (1 - unique / total)

0 for a text in which every n-gram is new, and for one that is shorter than n. This is the penalty
of "Demystifying Long Chain-of-Thought Reasoning" (arXiv 2502.03373) as open-r1 applies it to
lower-cased words and TRL to token ids. Add it to a correctness reward: alone it is highest for an
empty completion.
"""

from itertools import islice
from typing import Literal

from pydantic import Field

from services.reward.verifiers.base import Answer, Outcome, Params
from services.reward.verifiers.rule import RuleVerifier

MAX_UNITS = 131_072
"""Of a longer text the end is judged: a policy that loops does so to the end."""


class RepetitionParams(Params):
    """What is counted, and how large the whole penalty is."""

    n: int = Field(default=3, ge=1, le=16)
    """Words or characters in an n-gram."""
    unit: Literal["words", "characters"] = "words"
    """Words are what white space separates; a language without it needs characters."""
    penalty: float = Field(default=1.0, ge=0.0, le=1e6)
    """Size of the penalty for a text of one n-gram over and over."""


class RepetitionVerifier(RuleVerifier[RepetitionParams]):
    """0 for a text without repeated n-grams, down to nearly -penalty."""

    name = "repetition"
    version = "1"
    description = "Penalises repeated n-grams of words or characters: 0 down to -penalty."
    params = RepetitionParams

    def judge(self, answer: Answer, params: RepetitionParams) -> Outcome:
        """Verdicts: repetitive, varied."""
        share = repeated_share(answer.completion, params.n, params.unit)
        verdict = "repetitive" if share else "varied"
        value = -params.penalty * share if share else 0.0
        return Outcome(value, verdict=verdict, metrics={"repeated": share})


def repeated_share(text: str, n: int, unit: str) -> float:
    """Share of the n-grams, in 0..1, that occurred before; upper and lower case are the same."""
    lowered = text.lower()
    units = (lowered.split() if unit == "words" else lowered)[-MAX_UNITS:]
    total = len(units) - n + 1
    if total <= 0:
        return 0.0
    grams = zip(*(islice(units, start, None) for start in range(n)), strict=False)
    return 1.0 - len(set(grams)) / total
