"""verl's custom reward function, scored by the reward service.

    reward.custom_reward_function.path=pkg://cohort.integrations.verl   (or this file's path)
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.url=http://127.0.0.1:8002

verl starts one call for each sample and sets no time limit, so here is one: `timeout_s` of work
and `retry_for_s` of trying again. What then?

- scored: `{"score", "acc", "unscorable": 0.0}`. `acc` is the first verifier's value: filter on it,
  not on `score`, when shaping rewards are added.
- the ground truth cannot be read: score 0, `unscorable` 1 (a metric, so it is seen). All samples of
  a prompt share it, so their advantages are 0.
- trouble of the service: an exception, never a number. verl's reward managers do not catch it: the
  step fails, and with it the run, which resumes from its last checkpoint.
"""

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreRequest, ScoreResult
from cohort.integrations.sessions import Sessions
from cohort.integrations.truths import code_cases


class NotScored(RuntimeError):
    """The service answered, but could not score: `infra_error` or `timeout`."""


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: JsonValue,
    extra_info: Mapping[str, Any] | None = None,
    *,
    url: str | None = None,
    verifier: str = "math",
    kwargs: Mapping[str, JsonValue] | None = None,
    rewards: Sequence[Mapping[str, Any]] | None = None,
    api_key: str | None = None,
    timeout_s: float = 60.0,
    retry_for_s: float = 120.0,
    **_: Any,
) -> dict[str, float]:
    """The reward of one sample; the keywords after `extra_info` are `reward_kwargs`.

    `rewards` is a list of `{verifier, weight, kwargs}` and goes before `verifier`. `url` and
    `api_key` default to `COHORT_REWARD_URL` and `COHORT_API_KEY`. Raises `NotScored`,
    `cohort.ServiceError` (`cohort.Unreachable` when there is no answer), as said above.
    """
    specs = [RewardSpec.model_validate(dict(spec)) for spec in rewards or ()]
    specs = specs or [RewardSpec(verifier=verifier, kwargs=dict(kwargs or {}))]
    item = ScoreItem(
        id=data_source,
        prompt=_question(extra_info),
        completion=solution_str,
        ground_truth=code_cases(_plain(ground_truth)),
    )
    request = ScoreRequest(items=(item,), rewards=tuple(specs), timeout_s=timeout_s)
    [result] = await _sessions(url, api_key, retry_for_s).client().score(request)
    return _reward(result)


@functools.cache
def _sessions(url: str | None, api_key: str | None, retry_for_s: float) -> Sessions:
    where = url or os.environ.get("COHORT_REWARD_URL", "http://127.0.0.1:8002")
    return Sessions(where, api_key or os.environ.get("COHORT_API_KEY"), retry_for_s)


def _reward(result: ScoreResult) -> dict[str, float]:
    """The same keys for every sample: verl makes a column of each."""
    if result.status not in ("scored", "unscorable"):
        raise NotScored(f"reward service: {result.status}: {result.reason}")
    first = next(iter(result.components.values()), None)
    score = result.score or 0.0
    acc = score if first is None or first.value is None else first.value
    return {"score": score, "acc": acc, "unscorable": float(result.score is None)}


def _plain(truth: Any) -> JsonValue:
    """verl reads Parquet: lists and numbers may be numpy's, at any depth."""
    if isinstance(truth, Mapping):
        return {str(name): _plain(value) for name, value in truth.items()}
    if isinstance(truth, list | tuple):
        return [_plain(value) for value in truth]
    if hasattr(truth, "tolist"):
        return _plain(truth.tolist())
    plain: JsonValue = truth
    return plain


def _question(extra_info: Mapping[str, Any] | None) -> str:
    """verl's own datasets keep the question here; verifiers that judge may read it."""
    question = (extra_info or {}).get("question")
    return question if isinstance(question, str) else ""
