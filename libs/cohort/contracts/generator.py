"""The generator's wire: token ids travel end to end, nothing is ever re-tokenised."""

from typing import Literal

from pydantic import Field

from cohort.contracts.base import Message

FinishReason = Literal["stop", "length", "abort"]


class ChatMessage(Message):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


class VersionSpan(Message):
    """Tokens `start` up to, not including, `end` of a completion were sampled with `version`."""

    version: int
    start: int
    end: int


class GenerateRequest(Message):
    """Complete one prompt `num_completions` times. Exactly one of prompt_ids, prompt, messages."""

    run_id: str | None = None
    """409 `wrong_policy` when the generator serves another run; None takes whatever is loaded."""
    prompt_ids: tuple[int, ...] | None = None
    prompt: str | None = None
    messages: tuple[ChatMessage, ...] | None = None
    num_completions: int = Field(default=1, ge=1, le=1024)
    max_new_tokens: int = Field(default=16, ge=1, le=65536)
    temperature: float = Field(default=1.0, ge=0.0, le=100.0)
    """0 is greedy."""
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    seed: int = 0
    stop: tuple[str, ...] = ()
    min_policy_version: int = 0
    """The request waits until `timeout_s` for one at least this new, else 409 `stale_policy`."""
    timeout_s: float = Field(default=300.0, gt=0.0, le=3600.0)


class Completion(Message):
    """One sampled continuation. `ids`, `logprobs` and `offsets` have the same length."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    offsets: tuple[int, ...]
    version_spans: tuple[VersionSpan, ...]
    text: str
    finish_reason: FinishReason


class Usage(Message):
    """Token counts of one request."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class GenerateResponse(Message):
    """Completions in order, with the prompt's token ids as the model saw them."""

    run_id: str | None
    policy_version: int
    fingerprint: str
    prompt_ids: tuple[int, ...]
    completions: tuple[Completion, ...]
    usage: Usage


class RenderRequest(Message):
    """Turn messages or text into token ids; `prefix_ids` are put in front unchanged."""

    messages: tuple[ChatMessage, ...] | None = None
    text: str | None = None
    prefix_ids: tuple[int, ...] = ()


class RenderResponse(Message):
    """Token ids of the rendered prompt."""

    ids: tuple[int, ...]


class WeightsRequest(Message):
    """Load the weights of one version by hand; `path` is relative to the runs root."""

    run_id: str
    version: int
    path: str


class PolicyResponse(Message):
    """What the generator serves now."""

    run_id: str | None
    model: str | None
    version: int
    """-1 when nothing is loaded."""
    engine: str
    fingerprint: str
