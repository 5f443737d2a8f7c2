"""TRL reward functions that ask the reward service.

    from cohort.integrations.trl import reward_function
    trainer = GRPOTrainer(model, reward_funcs=reward_function("http://127.0.0.1:8002"), ...)

One request scores a whole batch. What has no score is `None`, which TRL leaves out of the baseline
and gives no advantage; so is a batch for which the service stays away.
"""

import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from cohort.clients import ServiceError, Unreachable
from cohort.contracts.base import JsonValue
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreRequest, ScoreResult
from cohort.integrations.sessions import Sessions
from cohort.integrations.truths import code_cases
from cohort.transport import RETRIED

log = logging.getLogger("cohort.integrations")
TRUTHS = ("ground_truth", "answer", "solution")
"""Columns in which a ground truth is looked for, in this order."""
RewardFunction = Callable[..., Coroutine[Any, Any, list[float | None]]]


def reward_function(
    url: str | None = None,
    verifier: str = "math",
    *,
    kwargs: Mapping[str, JsonValue] | None = None,
    rewards: Sequence[RewardSpec] = (),
    ground_truth: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 60.0,
    retry_for_s: float = 120.0,
    name: str | None = None,
) -> RewardFunction:
    """An async reward function in TRL's calling convention.

    `rewards` (several, weighted) goes before `verifier`. `ground_truth` names the dataset's column;
    without it the first of `TRUTHS` is used, and verifiers that need none do without. `name` is the
    column in TRL's logs. `url` and `api_key` default to `COHORT_REWARD_URL` and `COHORT_API_KEY`.
    A request that the service refuses (an unknown verifier, a wrong key) raises `ServiceError`.
    """
    specs = tuple(rewards) or (RewardSpec(verifier=verifier, kwargs=dict(kwargs or {})),)
    where = url or os.environ.get("COHORT_REWARD_URL", "http://127.0.0.1:8002")
    sessions = Sessions(where, api_key or os.environ.get("COHORT_API_KEY"), retry_for_s)

    async def reward(
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        truths = _truths(ground_truth, columns, len(prompts))
        items = _items(prompts, completions, completion_ids, truths)
        request = ScoreRequest(items=items, rewards=specs, timeout_s=timeout_s)
        results = await _scored(sessions, request)
        _tell(reward.__name__, results, log_extra, log_metric)
        return [result.score for result in results]

    reward.__name__ = reward.__qualname__ = name or "_".join(spec.verifier for spec in specs)
    return reward


def _items(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    completion_ids: Sequence[Sequence[int]] | None,
    truths: Sequence[JsonValue],
) -> tuple[ScoreItem, ...]:
    """One item a completion; those of one prompt are a group."""
    said = [_text(prompt) for prompt in prompts]
    return tuple(
        ScoreItem(
            id=str(place),
            prompt=said[place],
            completion=_text(completion),
            ground_truth=code_cases(truths[place]),
            num_tokens=len(completion_ids[place]) if completion_ids else None,
            group_id=said[place],
        )
        for place, completion in enumerate(completions)
    )


async def _scored(sessions: Sessions, request: ScoreRequest) -> Sequence[ScoreResult]:
    """Results, or as many times "the service stayed away"."""
    try:
        return await sessions.client().score(request)
    except ServiceError as error:
        if not isinstance(error, Unreachable) and error.status not in RETRIED:
            raise
        log.warning("%s; the batch goes on without these rewards", error)
        why = str(error)
    return [ScoreResult(score=None, status="infra_error", reason=why)] * len(request.items)


def _tell(
    name: str,
    results: Sequence[ScoreResult],
    log_extra: Callable[[str, list[Any]], None] | None,
    log_metric: Callable[[str, float], None] | None,
) -> None:
    """A column with each verdict (or why there is none), and the share without a score."""
    if log_extra is not None:
        words = [r.verdict if r.score is not None else f"{r.status}: {r.reason}" for r in results]
        log_extra(f"{name}_verdict", [word or "scored" for word in words])
    if log_metric is not None and results:
        unscored = sum(result.score is None for result in results)
        log_metric(f"rewards/{name}/frac_unscored", unscored / len(results))


def _truths(column: str | None, columns: Mapping[str, Any], wanted: int) -> Sequence[JsonValue]:
    if column is not None and column not in columns:
        there = ", ".join(sorted(columns))
        raise ValueError(f"the dataset has no column {column!r}; its columns are: {there}")
    found = column or next((name for name in TRUTHS if name in columns), None)
    return columns[found] if found else [None] * wanted


def _text(said: Any) -> str:
    """A prompt or completion as text: itself, or its messages' contents."""
    if isinstance(said, str):
        return said
    return "\n\n".join(_content(message.get("content")) for message in said)


def _content(content: Any) -> str:
    """A message's content: text, or a list of parts of which the texts count."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
