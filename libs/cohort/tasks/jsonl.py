"""Any JSONL file with a prompt column and an answer column."""

from collections.abc import Sequence

from pydantic import Field

from cohort.tasks import files
from cohort.tasks.base import Context, Task, TaskRow


class JsonlArgs(files.SplitArgs):
    """Which file, and which of its columns."""

    path: str
    """Relative to the data folder (COHORT_DATA_DIR)."""
    prompt_column: str = "prompt"
    """Text, or a list of chat messages."""
    answer_column: str = "answer"
    """Goes to the verifier as the ground truth, whatever JSON it is."""
    system: str | None = Field(default=None, max_length=65536)


def build(args: JsonlArgs, context: Context) -> Task:
    """The task; held-out rows come from `eval_path`, or are a share of `path`."""
    train = _rows(args, args.path, files.read_jsonl(args.path, context.data_root))
    records = files.read_optional(args.eval_path, context)
    held_out = None if records is None else _rows(args, args.eval_path or "", records)
    return files.split(train, held_out, args)


def _rows(args: JsonlArgs, path: str, records: Sequence[files.Record]) -> list[TaskRow]:
    rows = []
    for number, record in enumerate(records, 1):
        place = f"{path} row {number}"
        prompt = files.column(record, args.prompt_column, place)
        truth = files.column(record, args.answer_column, place)
        rows.append(
            TaskRow(
                id=f"jsonl/{path}/{number}",
                prompt=files.prompt_of(prompt, args.system, place),
                ground_truth=truth,
            )
        )
    return rows
