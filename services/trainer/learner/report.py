"""What a step leaves behind: rows of metrics.jsonl, completions.jsonl and ledger.jsonl."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from cohort.contracts.base import JsonValue
from cohort.contracts.queue import GroupCompletion, GroupMessage
from cohort.tasks import TaskRow
from services.trainer.learner.evaluation import is_correct
from services.trainer.learner.waves import Entry, Filled, scores

Row = dict[str, Any]


def mean(values: Iterable[float]) -> float | None:
    """None for nothing: a missing number is not a 0."""
    values = list(values)
    return fmean(values) if values else None


def has_spread(group: GroupMessage) -> bool:
    """Whether the rewards of a group differ at all."""
    known = [score for score in scores(group) if score is not None]
    return bool(known) and max(known) - min(known) > 1e-9


def answers(groups: Sequence[GroupMessage]) -> Row:
    """Reward, accuracy and lengths of some groups; unscored completions are left out, not 0."""
    completions = [c for group in groups for c in group.completions]
    scored = [c.result.score for c in completions if c.result and c.result.score is not None]
    num_tokens = [len(c.ids) for c in completions]
    return {
        "reward": mean(scored),
        "accuracy": mean(
            float(is_correct(c)) for c in completions if c.result and c.result.score is not None
        ),
        "num_completions": len(completions),
        "num_unscored": len(completions) - len(scored),
        "completion_tokens": sum(num_tokens),
        "length": mean(num_tokens),
        "truncated": mean(float(c.finish_reason == "length") for c in completions),
    }


def step_row(filled: Filled, update: dict[str, float], seconds: dict[str, float], step: int) -> Row:
    """A row of metrics.jsonl, without its time."""
    judged = [entry.group for entry in filled.entries if entry.fate in ("trained", "no_signal")]
    row = answers(judged)
    lags = [step - 1 - group.policy_version for group in judged]
    total_s = max(whole_step_s(seconds), 1e-9)
    return {
        "step": step,
        "policy_version": step,
        **row,
        "zero_signal": mean(float(not has_spread(group)) for group in judged),
        "num_groups": filled.count("trained"),
        "num_dropped": filled.count("dropped") + filled.count("no_signal"),
        "num_failed": filled.count("failed"),
        "waves": filled.waves,
        "tokens_per_s": row["completion_tokens"] / total_s,
        "completions_per_s": row["num_completions"] / total_s,
        "lag": mean(lags),
        **update,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
    }


def whole_step_s(seconds: dict[str, float]) -> float:
    """A step with the commit and the publishing that came before it, without evaluations."""
    return sum(seconds.get(part, 0.0) for part in ("step", "commit", "publish"))


def ledger_rows(filled: Filled, fence: int) -> list[Row]:
    """Every group's fate, in the order in which the step saw them."""
    return [ledger_row(entry, fence) for entry in filled.entries]


def ledger_row(entry: Entry, fence: int) -> Row:
    """One group's fate."""
    return {
        "group_id": entry.slot.group_id,
        "step": entry.slot.step,
        "fate": entry.fate,
        "reason": entry.reason,
        "entry_id": entry.entry_id,
        "policy_version": entry.group.policy_version,
        "fingerprint": entry.group.fingerprint,
        "fence": fence,
    }


def completion_rows(groups: Sequence[GroupMessage], rows: Sequence[TaskRow]) -> list[Row]:
    """Rows of completions.jsonl, one per completion."""
    return [
        _completion_row(group, row, completion)
        for group, row in zip(groups, rows, strict=True)
        for completion in group.completions
    ]


def _completion_row(group: GroupMessage, row: TaskRow, completion: GroupCompletion) -> Row:
    truth: JsonValue = row.ground_truth
    return {
        "step": group.step,
        "purpose": group.purpose,
        "group_id": group.group_id,
        "policy_version": group.policy_version,
        "prompt": prompt_text(row),
        "completion": completion.text,
        "ground_truth": truth,
        "score": completion.result.score if completion.result else None,
        "verdict": completion.result.verdict if completion.result else None,
        "finish_reason": completion.finish_reason,
        "num_tokens": len(completion.ids),
    }


def prompt_text(row: TaskRow) -> str:
    """The prompt as a person reads it: the last message, or the text."""
    if row.prompt.messages:
        return row.prompt.messages[-1].content
    return row.prompt.text or ""
