"""What a verifier is: it judges answers one by one and says why when it cannot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from pydantic import BaseModel, ConfigDict

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import ScoreStatus


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What a verifier sees of an item; its texts can be carried by UTF-8."""

    completion: str
    ground_truth: Any = None
    """JSON: a text, a number, or what the verifier asks for."""
    num_tokens: int | None = None
    finish_reason: str | None = None
    prompt: str = ""
    """For models that judge. A rule never reads it: what a prompt says can never earn a reward."""
    group_id: str | None = None


class Outcome(msgspec.Struct, frozen=True):
    """What a verifier says of one answer; `value` is None exactly when `status` is not `scored`."""

    value: float | None
    status: ScoreStatus = "scored"
    verdict: str | None = None
    reason: str | None = None
    metrics: Mapping[str, float] = {}
    steps: tuple[tuple[int, float], ...] = ()
    """Scores of the steps of a solution: (end character in the completion, score), in order."""

    @classmethod
    def unscored(cls, status: ScoreStatus, reason: str, verdict: str | None = None) -> Outcome:
        """No value, and a sentence that says why."""
        return cls(None, status, verdict, reason)


class Params(BaseModel):
    """Base of a verifier's kwargs: closed, frozen, described by the sentence under each field."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


P = TypeVar("P", bound=Params)


class Verifier(ABC, Generic[P]):
    """Judges answers. A change that can change a verdict raises `version`."""

    name: ClassVar[str]
    version: ClassVar[str]
    description: ClassVar[str]
    deterministic: ClassVar[bool] = True
    """The same answer always gets the same outcome, so that it may be cached."""
    compares_group: ClassVar[bool] = False
    """It compares the answers with the same `group_id`: it needs all of them in one request."""
    essential: ClassVar[bool] = False
    """What it misses keeps the service from being ready. Others work through a process elsewhere
    (a sandbox, a model server), and what they miss only makes them `infra_error` when used."""
    params: type[P]

    @abstractmethod
    async def score(
        self, answers: Sequence[Answer], params: P, outcomes: list[Outcome | None]
    ) -> None:
        """Put the outcome of `answers[i]` at `outcomes[i]`.

        It is cancelled at the deadline: what is in `outcomes` by then counts, so that slow
        verifiers lose only what they had not finished. What it raises becomes `infra_error`.
        """

    def cache_key(self, answer: Answer, _: P) -> JsonValue:
        """What an outcome depends on, besides the verifier, its version and its kwargs.

        None: this outcome must not be cached. The default is everything but the prompt.
        """
        return [answer.completion, answer.ground_truth, answer.num_tokens, answer.finish_reason]

    async def missing(self) -> list[str]:
        """What keeps it from working, one sentence each."""
        return []

    async def aclose(self) -> None:
        """Give up connections and processes."""


def well_encoded(text: str) -> str:
    """Text that UTF-8 can carry: JSON lets half of a surrogate pair through, which becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def final_part(completion: str) -> str | None:
    """What follows the thinking: all of it without a think block, None when one is left open."""
    opened, closed = completion.rfind("<think>"), completion.rfind("</think>")
    if opened > closed:
        return None
    return completion[closed + len("</think>") :] if closed >= 0 else completion
