"""What an engine is asked, what it answers, and how the two meet. No tensors here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

FinishReason = Literal["stop", "length", "abort"]


class EngineError(Exception):
    """The engine cannot sample; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Complete one prompt `num_completions` times."""

    prompt_ids: tuple[int, ...]
    num_completions: int
    max_new_tokens: int
    temperature: float
    """0 is greedy; the log-probs are then those of the distribution at temperature 1."""
    top_p: float = 1.0
    """Below 1, log-probs are renormalised over the tokens that were kept."""
    seed: int = 0
    stop: tuple[str, ...] = ()


@dataclass(slots=True)
class Sampled:
    """One completion. `ids`, `logprobs` and `offsets` have the same length."""

    ids: list[int] = field(default_factory=list)
    """The end-of-sequence token included when it was sampled."""
    logprobs: list[float] = field(default_factory=list)
    """Natural log of each token's probability under the distribution it was drawn from."""
    offsets: list[int] = field(default_factory=list)
    """End character of each token in `text`."""
    text: str = ""
    """Special tokens left out; a stop string is part of it."""
    finish_reason: FinishReason = "length"


class Ticket(Protocol):
    """A request that somebody waits for; the engine calls back from the thread it was called in."""

    @property
    def request(self) -> GroupRequest:
        """What is asked."""
        ...

    def alive(self) -> bool:
        """Whether anybody waits still; asked at every token."""
        ...

    def token(self, completion: int, token: int) -> None:
        """Told of every token as it is sampled."""
        ...

    def done(self, completions: list[Sampled]) -> None:
        """The answer, in order; `abort` marks completions of a ticket that was not alive."""
        ...


class Engine(Protocol):
    """Owns a model and its tokenizer. All calls that touch the model come from one thread."""

    name: str
    capacity: int
    """Completions decoded together."""

    def load_version(self, folder: Path, version: int, fingerprint: str | None) -> str:
        """Serve a published version; returns its fingerprint.

        Every byte is verified first: on `WeightsError` or `ModelError` the engine serves what it
        served before.
        """
        ...

    def load_model(self, folder: Path) -> str:
        """Serve an ordinary model folder; returns its fingerprint. Raises `ModelError`."""
        ...

    def generate(
        self, tickets: Sequence[Ticket], more: Callable[[], Sequence[Ticket]] = tuple
    ) -> None:
        """Answer all tickets, each as soon as it is done, and those that `more` brings meanwhile.

        `more` is asked when nothing waits and there is room. The same request samples the same
        tokens whatever else is in the batch, float noise aside. Raises `EngineError`; tickets that
        were not answered by then will not be.
        """
        ...

    def render(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """Token ids of a conversation that the model is to continue. Raises `EngineError`."""
        ...

    def encode(self, text: str, special: bool) -> list[int]:
        """Token ids of text; `special` lets the tokenizer put its start token in front."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens left out."""
        ...

    def check(self, prompt_ids: Sequence[int], max_new_tokens: int) -> str | None:
        """A sentence when the prompt cannot be completed by the loaded model."""
        ...
