"""OpenRLHF `--reward.remote_url` (once `--remote_rm_url`): prompt and completion in one text.

    {"query": ["<prompt><completion><|im_end|>"], "prompts": ["<prompt>"], "labels": ["18"]}
    {"rewards": [1.0], "scores": [1.0], "extra_logs": {"unscorable": [0.0], "math": [1.0]}}

Up to 0.5 only `query` was sent. Older clients with k URLs send empty lists to all but the first.
`scores` drives dynamic filtering; every value of `extra_logs` must be a number (a tensor is made).
"""

from collections.abc import Sequence
from typing import TypeVar

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import ScoreItem, ScoreRequest, ScoreResult
from cohort.integrations.truths import code_cases
from services.reward.dialects.base import Dialect, Options, Wire, accuracy, number, unscorable
from services.reward.dialects.texts import completion_of
from services.reward.grader import RequestError

T = TypeVar("T")


class Body(Wire):
    """Queries, and what belongs to each."""

    query: list[str]
    prompts: list[str] | None = None
    labels: list[JsonValue] | None = None


def ask(body: Body, _: Options) -> ScoreRequest:
    """One item for each query. The client waits 180 s."""
    prompts = _as_many(body.prompts, len(body.query), "prompts", "")
    labels = _as_many(body.labels, len(body.query), "labels", None)
    items = tuple(
        ScoreItem(
            prompt=prompt,
            completion=completion_of(query, prompt),
            ground_truth=code_cases(label),
        )
        for query, prompt, label in zip(body.query, prompts, labels, strict=True)
    )
    return ScoreRequest(items=items, timeout_s=170.0)


def answer(_: Body, results: Sequence[ScoreResult], __: Options) -> JsonValue:
    """Lists as long as `query`; the same names in every reply of one setting."""
    logs: dict[str, JsonValue] = {"unscorable": [unscorable(result) for result in results]}
    names = dict.fromkeys(name for result in results for name in result.components)
    for name in names:
        parts = [result.components.get(name) for result in results]
        logs[name] = [(part.value or 0.0) if part else 0.0 for part in parts]
    return {
        "rewards": [number(result) for result in results],
        "scores": [accuracy(result) for result in results],
        "extra_logs": logs,
    }


def _as_many(given: list[T] | None, wanted: int, name: str, default: T) -> list[T]:
    if given is None:
        return [default] * wanted
    if len(given) != wanted:
        raise RequestError("invalid_request", f"{name}: {len(given)} for {wanted} queries")
    return given


GET_REWARD = Dialect("/get_reward", "OpenRLHF remote reward", Body, ask, answer)
