"""Pairs of a better and a worse answer to one prompt, from a JSONL file, for preference learning.

The ground truth is `{"chosen": text, "rejected": text}`. Columns may hold text or, as many
published sets do, chat messages whose last one is the answer.
"""

from collections.abc import Sequence

from pydantic import Field

from cohort.contracts.base import JsonValue
from cohort.tasks import files
from cohort.tasks.base import Context, Task, TaskError, TaskRow


class PreferencesArgs(files.SplitArgs):
    """Which file, and which of its columns."""

    path: str
    """Relative to the data folder (COHORT_DATA_DIR)."""
    prompt_column: str = "prompt"
    chosen_column: str = "chosen"
    rejected_column: str = "rejected"
    system: str | None = Field(default=None, max_length=65536)


def build(args: PreferencesArgs, context: Context) -> Task:
    """The task; held-out pairs come from `eval_path`, or are a share of `path`."""
    train = _rows(args, args.path, files.read_jsonl(args.path, context.data_root))
    records = files.read_optional(args.eval_path, context)
    held_out = None if records is None else _rows(args, args.eval_path or "", records)
    return files.split(train, held_out, args)


def _rows(args: PreferencesArgs, path: str, records: Sequence[files.Record]) -> list[TaskRow]:
    rows = []
    for number, record in enumerate(records, 1):
        place = f"{path} row {number}"
        prompt = files.column(record, args.prompt_column, place)
        truth: dict[str, JsonValue] = {
            "chosen": _answer(files.column(record, args.chosen_column, place), place),
            "rejected": _answer(files.column(record, args.rejected_column, place), place),
        }
        rows.append(
            TaskRow(
                id=f"preferences/{path}/{number}",
                prompt=files.prompt_of(prompt, args.system, place),
                ground_truth=truth,
            )
        )
    return rows


def _answer(value: JsonValue, place: str) -> str:
    if isinstance(value, list) and value:
        last = value[-1]
        value = last.get("content") if isinstance(last, dict) else None
    if not isinstance(value, str):
        raise TaskError(f"{place}: an answer must be text, or messages that end with the answer")
    return value
