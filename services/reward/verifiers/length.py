"""How long is the completion? DAPO's soft overlong punishment (arXiv 2503.14476, equation 13)."""

from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from services.reward.verifiers.base import Answer, Outcome, Params, Verifier


class LengthParams(Params):
    """Where the punishment starts, where it is complete, and how large it is then."""

    max_tokens: int = Field(ge=1)
    """L: from this length on the whole penalty is due."""
    buffer_tokens: int = Field(default=0, ge=0)
    """C: the penalty grows linearly over the last C tokens before L."""
    penalty: float = Field(default=1.0, ge=0.0, le=1e6)
    """Size of the whole penalty."""

    @model_validator(mode="after")
    def _buffer_fits(self) -> Self:
        if self.buffer_tokens > self.max_tokens:
            raise ValueError("buffer_tokens must not be larger than max_tokens")
        return self


class LengthVerifier(Verifier[LengthParams]):
    """0 for a completion that is short enough, down to -penalty for one that is not."""

    name = "length"
    version = "1"
    description = "DAPO's soft overlong punishment: 0 down to -penalty near max_tokens."
    params = LengthParams

    async def score(
        self, answers: Sequence[Answer], params: LengthParams, outcomes: list[Outcome | None]
    ) -> None:
        """Needs `num_tokens`: an item without it is unscorable."""
        for place, answer in enumerate(answers):
            tokens = answer.num_tokens
            if tokens is None:
                outcomes[place] = Outcome.unscored("unscorable", "the item has no num_tokens")
                continue
            value = soft_overlong(tokens, params.max_tokens, params.buffer_tokens, params.penalty)
            verdict = "overlong" if value else "in_bounds"
            outcomes[place] = Outcome(value, verdict=verdict, metrics={"tokens": float(tokens)})


def soft_overlong(tokens: int, max_tokens: int, buffer_tokens: int, penalty: float) -> float:
    """0 up to max - buffer tokens, then linearly down to -penalty at max, and -penalty beyond."""
    over = tokens - (max_tokens - buffer_tokens)
    if over <= 0:
        return 0.0
    return -penalty * min(1.0, over / buffer_tokens) if buffer_tokens else -penalty
