"""The reward service's wire: a batch of completions in, a typed result each out, in order."""

from typing import Any, Literal

from pydantic import Field

from cohort.contracts.base import JsonValue, Message

ScoreStatus = Literal["scored", "unscorable", "infra_error", "timeout"]
CacheMode = Literal["use", "refresh", "off"]
# A mutable default would be copied deeply for every item; a factory is three times as fast.


class RewardSpec(Message):
    """One component of the reward: a verifier, its weight and its parameters."""

    verifier: str
    weight: float = 1.0
    """0 reports the component without counting it."""
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)


class ScoreItem(Message):
    """One completion to be scored."""

    id: str = ""
    prompt: str = ""
    completion: str
    ground_truth: JsonValue = None
    """A bare answer or any text from which one can be read; some verifiers take an object."""
    num_tokens: int | None = None
    finish_reason: Literal["stop", "length", "abort"] | None = None
    group_id: str | None = None
    """Items of one group are scored together by verifiers that compare completions."""
    rewards: tuple[RewardSpec, ...] | None = None
    """Overrides the request's list for this item."""
    verifier: str | None = None
    """Short form of `rewards` with one verifier of weight 1."""
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)


class ScoreRequest(Message):
    """A batch to be scored."""

    items: tuple[ScoreItem, ...]
    rewards: tuple[RewardSpec, ...] = ()
    timeout_s: float = Field(default=60.0, gt=0.0, le=3600.0)
    """Items that are not done by then have status `timeout`."""
    cache: CacheMode = "use"
    """Of deterministic verifiers. `refresh` judges anew and keeps that; `off` neither looks nor
    keeps, and judges equal items one by one."""


class ScoreComponent(Message):
    """What one verifier contributed."""

    value: float | None
    weight: float


class ScoreStep(Message):
    """The score of one step of a solution."""

    end: int
    """End character of the step in the completion."""
    score: float


class ScoreResult(Message):
    """The verdict on one item. `score` is None unless `status` is `scored`: never a silent 0."""

    id: str = ""
    score: float | None
    status: ScoreStatus
    verdict: str | None = None
    """The first verifier's word: correct, wrong, no_answer, unparsable_gold, limit, ..."""
    components: dict[str, ScoreComponent] = Field(default_factory=dict)
    steps: tuple[ScoreStep, ...] = ()
    """Scores of the solution's steps, by the first verifier that scores steps; not in `score`."""
    metrics: dict[str, float] = Field(default_factory=dict)
    cached: bool = False
    """Every component came from the cache."""
    verifier_version: str = ""
    reason: str | None = None
    """A sentence when the item was not scored."""


class ScoreResponse(Message):
    """Results in the order of the items."""

    results: tuple[ScoreResult, ...]


class VerifierInfo(Message):
    """What `GET /v1/verifiers` says of one verifier."""

    name: str
    version: str
    description: str
    deterministic: bool
    """Its outcomes may come from the cache."""
    compares_group: bool = False
    """It compares the items with the same `group_id`: send a whole group in one request."""
    parameters: dict[str, Any]
    """JSON schema of its kwargs."""


class VerifiersResponse(Message):
    """All verifiers of the service."""

    verifiers: tuple[VerifierInfo, ...]


class ComponentDiagnostics(Message):
    """What the recent outcomes of one verifier look like. None: too few to say, or no variation."""

    num_items: int
    mean: float | None
    """Of the values of scored items, as are `std` and `length_correlation`."""
    std: float | None
    num_groups: int
    """Groups (by `group_id`) with at least two scored items."""
    zero_variance_groups: float | None
    """Share of groups whose values are all equal: they teach a group-relative method nothing."""
    length_correlation: float | None
    """Pearson's, of value and completion length, -1 to 1."""
    length_unit: Literal["tokens", "characters"]
    """Tokens where every item said `num_tokens`."""
    duplicates: float
    """Share of completions that repeat another one in the window."""
    statuses: dict[str, float]
    """Share of each status."""
    cache_hits: float
    """Share of outcomes that came from the cache."""


class DiagnosticsResponse(Message):
    """What `GET /v1/diagnostics` says, by verifier."""

    window: int
    """At most this many recent outcomes of each verifier are looked at."""
    worker: int
    """Process id: each worker process knows of its own requests only."""
    components: dict[str, ComponentDiagnostics]
