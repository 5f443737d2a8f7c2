"""Messages of the durable rollout queue, between the learner and the rollout workers.

prompt   learner -> worker    one task row, to be completed G times and scored
group    worker  -> learner   G scored completions of one prompt, or a typed failure
policy   learner -> generator which weights are current
"""

from typing import Literal

from pydantic import Field

from cohort.contracts.base import JsonValue, Message
from cohort.contracts.generator import ChatMessage, VersionSpan
from cohort.contracts.reward import RewardSpec, ScoreResult

Purpose = Literal["train", "eval"]


class PromptInput(Message):
    """One prompt in exactly one of three forms; the generator turns it into token ids."""

    messages: tuple[ChatMessage, ...] | None = None
    """Chat messages, rendered with the model's chat template."""
    text: str | None = None
    """Plain text, tokenised as it is."""
    ids: tuple[int, ...] | None = None
    """Token ids, used as they are."""


class Sampling(Message):
    """How to sample the completions of a group."""

    num_completions: int = Field(ge=1)
    max_new_tokens: int = Field(ge=1)
    temperature: float = Field(ge=0.0)
    """0 is greedy."""
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    stop: tuple[str, ...] = ()
    seed: int
    """Random numbers are keyed by (seed, completion, position), whatever else is in the batch."""


class PromptMessage(Message):
    """One unit of work: a prompt to be completed `sampling.num_completions` times and scored."""

    run_id: str
    group_id: str
    """The same slot of a run always has the same id, so a repeated push is a duplicate."""
    step: int
    """The step that will train on the group (for `eval`: the policy version that is evaluated)."""
    purpose: Purpose
    attempt: int = 0
    """Raised when a failed or dropped group is replaced."""
    prompts: tuple[PromptInput, ...] = Field(min_length=1)
    """One for all completions, or one per completion."""
    ground_truth: JsonValue = None
    rewards: tuple[RewardSpec, ...]
    sampling: Sampling
    min_policy_version: int = 0
    """The generator must not use an older policy."""
    timeout_s: float = 600.0
    """How long a worker keeps trying before the group comes back as a typed failure."""


class GroupCompletion(Message):
    """One completion. `ids`, `logprobs`, `loss_mask` and `offsets` have the same length."""

    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    """Sampled tokens, the end-of-sequence token included when it was sampled."""
    logprobs: tuple[float, ...]
    """Natural log of the sampling probability of each token (temperature applied)."""
    loss_mask: tuple[int, ...]
    """1 where the policy chose the token, 0 where a tool or template did."""
    offsets: tuple[int, ...]
    """End character of each token in `text`."""
    version_spans: tuple[VersionSpan, ...]
    finish_reason: Literal["stop", "length", "abort"]
    text: str
    result: ScoreResult | None = None
    """What the reward service said; `result.score` is None where it could not score."""


class GroupMessage(Message):
    """What comes back for a prompt message, exactly once: scored completions or a typed failure."""

    run_id: str
    group_id: str
    step: int
    purpose: Purpose
    attempt: int = 0
    status: Literal["ok", "failed"]
    reason: str | None = None
    """Of a failure: a stable word, then a colon and a sentence (`reward_unreachable: ...`)."""
    fingerprint: str = ""
    """Of the weights that sampled the group."""
    policy_version: int = -1
    """The oldest version that any token of the group was sampled with; -1 for a failure."""
    completions: tuple[GroupCompletion, ...] = ()
    seconds: dict[str, float] = {}
    """Time spent by stage: generate, reward, queue."""


class PolicyRecord(Message):
    """Which weights are current for a run. Generators follow it."""

    run_id: str
    version: int
    path: str
    """Folder of the weights, relative to the runs root."""
    fingerprint: str
    fence: int
    """Epoch of the learner that published it; an older one cannot overwrite its record."""


class GeneratorRecord(Message):
    """How rollout workers find generators: a key that expires unless its generator refreshes it."""

    generator_id: str
    url: str
    run_id: str | None
    version: int
    fingerprint: str
    capacity: int
    """Rows that it decodes together."""


class WorkerRecord(Message):
    """A rollout worker's heartbeat: a key that expires unless its worker refreshes it."""

    worker_id: str
    busy: int
    """Groups in flight."""
    waiting_for: str | None = None
    """A sentence when a service cannot be reached, for example `generator: connection refused`."""
    waiting_since: float | None = None
    """Unix time at which that began."""
    counts: dict[str, int] = {}
    """Groups by outcome since the worker started."""
