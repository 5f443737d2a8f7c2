"""How long is the completion? Rewards that look at one completion alone, each by its paper's name.

    soft_overlong   0, near max_tokens down to -penalty                   add it to correctness
    cosine          right: the shorter the better; wrong: the longer      is the whole reward
    lcpo_exact      right minus a penalty for every token off the target  is the whole reward
    lcpo_max        right, the less the more of the budget is used        is the whole reward

Lengths are the items' `num_tokens`; whether an answer is right says another verifier, `correct_by`.
An item may bring its own kwargs, for example its own target. What compares the completions of a
group is in `length_group`.

Does the worst right answer still earn more than the best wrong one? With `cosine` always.
`soft_overlong` beside a 0/1 reward ties: a right answer that is too long gets 0 like a wrong one;
use a penalty below 1, or -1 for wrong. `lcpo_max` ties at 0 once the budget is exceeded by
delta / alpha tokens. `lcpo_exact` is inverted beyond 1 / alpha tokens off the target.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, TypeAdapter, model_validator

from services.reward.verifiers.base import Answer, Outcome, Params, Verifier
from services.reward.verifiers.correctness import CorrectBy, correctness

MAX_TOKENS = 2**53
_Value = Annotated[float, Field(ge=-1e6, le=1e6)]


class LengthParams(Params):
    """`kind` chooses the formula, and with it the other kwargs; `soft_overlong` by default."""

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Any:
        """The kwargs of the kind that is named."""
        return _KINDS.validate_python(obj, **options)

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """One schema for each kind."""
        return _KINDS.json_schema(*args, **options)


class Judged(LengthParams):
    """What the kinds share that have to know whether an answer is right."""

    correct_by: CorrectBy = "math"
    """The verifier that says whether an answer is right, with its default parameters."""


class SoftOverlong(LengthParams):
    """DAPO's soft overlong punishment (arXiv 2503.14476, equation 13).

    0 up to L - C tokens, (L - C - tokens) / C up to L, -1 beyond, times `penalty`.
    """

    kind: Literal["soft_overlong"] = "soft_overlong"
    max_tokens: int = Field(ge=1, le=MAX_TOKENS)
    """L: from this length on the whole penalty is due."""
    buffer_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    """C: the penalty grows linearly over the last C tokens before L."""
    penalty: float = Field(default=1.0, ge=0.0, le=1e6)
    """Size of the whole penalty."""

    @model_validator(mode="after")
    def _buffer_fits(self) -> Self:
        if self.buffer_tokens > self.max_tokens:
            raise ValueError("buffer_tokens must not be larger than max_tokens")
        return self

    def value(self, tokens: int) -> float:
        """The penalty: 0 or below."""
        over = tokens - (self.max_tokens - self.buffer_tokens)
        if over <= 0:
            return 0.0
        share = min(1.0, over / self.buffer_tokens) if self.buffer_tokens else 1.0
        return -self.penalty * share


class Cosine(Judged):
    """Cosine length reward of "Demystifying Long Chain-of-Thought Reasoning" (arXiv 2502.03373).

    From the value of an empty completion along half a cosine to the value at L tokens, which every
    longer one gets too (open-r1 lets the cosine go on: 2 L tokens are worth as much as none).
    """

    kind: Literal["cosine"]
    max_tokens: int = Field(ge=1, le=MAX_TOKENS)
    """L: from this length on nothing changes."""
    correct_short: _Value = 1.0
    """What a right answer of no tokens would get."""
    correct_long: _Value = 0.5
    """What a right answer of L tokens gets."""
    wrong_short: _Value = -1.0
    """What a wrong answer of no tokens would get."""
    wrong_long: _Value = -0.5
    """What a wrong answer of L tokens gets."""

    @model_validator(mode="after")
    def _right_is_better(self) -> Self:
        right, wrong = (self.correct_short, self.correct_long), (self.wrong_short, self.wrong_long)
        if min(right) <= max(wrong):
            raise ValueError("every right answer must get more than any wrong one")
        return self

    def value(self, tokens: int, correct: bool) -> float:
        """Between the short and the long value of its kind of answer."""
        short = self.correct_short if correct else self.wrong_short
        long = self.correct_long if correct else self.wrong_long
        angle = math.pi * min(tokens / self.max_tokens, 1.0)
        return long + 0.5 * (short - long) * (1.0 + math.cos(angle))


class LcpoExact(Judged):
    """L1's LCPO-Exact (arXiv 2503.04697): r - alpha |target - tokens|.

    Warning: a right answer more than 1 / alpha tokens off the target gets less than a wrong one on
    it. The prompt has to tell the policy its target.
    """

    kind: Literal["lcpo_exact"]
    target_tokens: int = Field(ge=1, le=MAX_TOKENS)
    """The length that is asked for."""
    alpha: float = Field(default=3e-4, ge=0.0, le=1.0)
    """What each token off the target costs."""

    def value(self, tokens: int, correct: bool) -> float:
        """At most 1."""
        return float(correct) - self.alpha * abs(self.target_tokens - tokens)


class LcpoMax(Judged):
    """L1's LCPO-Max (arXiv 2503.04697): r clip(alpha (target - tokens) + delta, 0, 1).

    Warning: a right answer that exceeds the target by delta / alpha tokens gets 0 like a wrong one.
    """

    kind: Literal["lcpo_max"]
    target_tokens: int = Field(ge=1, le=MAX_TOKENS)
    """The budget."""
    alpha: float = Field(default=3e-4, ge=0.0, le=1.0)
    """What each token costs."""
    delta: float = Field(default=0.5, ge=0.0, le=1.0)
    """What a right answer gets that uses the budget to the last token."""

    def value(self, tokens: int, correct: bool) -> float:
        """Between 0 and 1."""
        left = self.alpha * (self.target_tokens - tokens) + self.delta
        return float(correct) * min(1.0, max(0.0, left))


_Kind = SoftOverlong | Cosine | LcpoExact | LcpoMax


def _kind_of(given: Any) -> Any:
    if isinstance(given, dict):
        return given.get("kind", "soft_overlong")
    return getattr(given, "kind", None)


_KINDS: TypeAdapter[_Kind] = TypeAdapter(
    Annotated[
        Annotated[SoftOverlong, Tag("soft_overlong")]
        | Annotated[Cosine, Tag("cosine")]
        | Annotated[LcpoExact, Tag("lcpo_exact")]
        | Annotated[LcpoMax, Tag("lcpo_max")],
        Discriminator(
            _kind_of,
            custom_error_type="unknown_kind",
            custom_error_message="kind must be soft_overlong, cosine, lcpo_exact or lcpo_max",
        ),
    ]
)


class LengthVerifier(Verifier[LengthParams]):
    """The reward of one completion's length."""

    name = "length"
    version = "2"
    description = (
        "Rewards by length: soft_overlong (DAPO), cosine, lcpo_exact or lcpo_max, by `kind`."
    )
    params = LengthParams

    async def score(
        self, answers: Sequence[Answer], params: LengthParams, outcomes: list[Outcome | None]
    ) -> None:
        """Verdicts: overlong and in_bounds, or those of `correct_by`; no num_tokens, no score."""
        if isinstance(params, SoftOverlong):
            outcomes[:] = [_overlong(answer, params) for answer in answers]
            return
        assert isinstance(params, Cosine | LcpoExact | LcpoMax)
        judged = await correctness(answers, params.correct_by)
        for place, (answer, correct) in enumerate(zip(answers, judged, strict=True)):
            tokens = length_of(answer)
            if isinstance(tokens, Outcome) or correct.value is None:
                outcomes[place] = tokens if isinstance(tokens, Outcome) else correct
            else:
                value = params.value(tokens, correct.verdict == "correct")
                outcomes[place] = of_length(value, correct.verdict, tokens)


def _overlong(answer: Answer, params: SoftOverlong) -> Outcome:
    tokens = length_of(answer)
    if isinstance(tokens, Outcome):
        return tokens
    value = params.value(tokens)
    return of_length(value, "overlong" if value else "in_bounds", tokens)


def of_length(value: float, verdict: str | None, tokens: int) -> Outcome:
    """A scored outcome that reports the length it is about."""
    return Outcome(value, verdict=verdict, metrics={"tokens": float(tokens)})


def length_of(answer: Answer) -> int | Outcome:
    """The completion's tokens, or why they are not known."""
    tokens = answer.num_tokens
    if tokens is None:
        return Outcome.unscored("unscorable", "the item has no num_tokens")
    if not 0 <= tokens <= MAX_TOKENS:
        return Outcome.unscored("unscorable", "the item's num_tokens is no length")
    return tokens
