"""The trainer's wire: start a run, look at it, steer it."""

from typing import Any, Literal

from cohort.contracts.base import Message

RunState = Literal["queued", "starting", "running", "paused", "succeeded", "failed", "cancelled"]
ENDED: frozenset[RunState] = frozenset({"succeeded", "failed", "cancelled"})


class StartResponse(Message):
    """Answer to `POST /train`."""

    run_id: str
    state: RunState
    url: str


class RunView(Message):
    """What is known of a run."""

    run_id: str
    name: str
    state: RunState
    reason: str | None = None
    """Why it failed, was cancelled, or what it waits for."""
    created_at: float
    """Unix time in seconds, as all times here."""
    started_at: float | None = None
    ended_at: float | None = None
    step: int = 0
    """Steps committed to the metrics so far."""
    steps: int
    restarts: int = 0
    """How often the learner was started again after it died."""
    algorithm: str
    task: str
    model: str
    metrics: dict[str, Any] = {}
    """Of the last step."""
    eval: dict[str, float] = {}
    """Accuracy by policy version, for example `{"0": 0.19, "20": 0.9}`."""
    waiting_for: str | None = None
    summary: dict[str, Any] | None = None


class RunsResponse(Message):
    """All runs, newest first."""

    runs: tuple[RunView, ...]


class PreflightCheck(Message):
    """One line of the dry run's report."""

    name: str
    ok: bool | None
    """None: not checked, and `message` says why."""
    message: str


class DryRunResponse(Message):
    """Answer to `POST /train?dry_run=true`: nothing was started."""

    config: dict[str, Any]
    ok: bool
    checks: tuple[PreflightCheck, ...]


class MetricsResponse(Message):
    """Rows of metrics.jsonl with `step` above `since`."""

    rows: tuple[dict[str, Any], ...]


class CompletionsResponse(Message):
    """Rows of completions.jsonl of one step."""

    rows: tuple[dict[str, Any], ...]


class RunEvent(Message):
    """A server-sent event of a run; `id` counts from 1 and is sent back as `Last-Event-ID`."""

    id: int
    type: Literal["state", "step", "eval", "waiting", "log"]
    time: float
    data: dict[str, Any]
