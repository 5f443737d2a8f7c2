"""Grade-school maths: GSM8K from the Hugging Face hub by name, or from local JSONL files."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from cohort.tasks import files
from cohort.tasks.base import Context, Task, TaskError, TaskRow, chat

SYSTEM = (
    "Solve the problem step by step."
    " End with a line of the form `#### answer`, where answer is just the number."
)


class Gsm8kArgs(files.SplitArgs):
    """Where the questions come from."""

    path: str = "openai/gsm8k"
    """A JSONL file, a folder with train.jsonl and test.jsonl, or a name of the hub."""
    system: str | None = Field(default=SYSTEM, max_length=65536)
    """How the answer is to be written; null leaves it out."""


def build(args: Gsm8kArgs, context: Context) -> Task:
    """The task. `eval_path`, else test.jsonl or the hub's test split, else a share is held out."""
    train_path, eval_path = args.path, args.eval_path
    here = files.resolve(args.path, context.data_root)
    if here.is_dir():
        train_path = f"{args.path}/train.jsonl"
        eval_path = eval_path or f"{args.path}/test.jsonl"
    elif not here.is_file() and not args.path.endswith((".jsonl", ".json")):
        train, test = _from_hub(args.path)
        held_out = files.read_optional(eval_path, context)
        return files.split(
            _rows(args, train), _rows(args, test if held_out is None else held_out), args
        )
    records = files.read_jsonl(train_path, context.data_root)
    held_out = files.read_optional(eval_path, context)
    return files.split(
        _rows(args, records), None if held_out is None else _rows(args, held_out), args
    )


def final_answer(solution: str) -> str:
    """What follows the last `####` of a worked solution, without thousands separators."""
    return solution.rsplit("####", 1)[-1].strip().replace(",", "")


def _rows(args: Gsm8kArgs, records: Sequence[files.Record]) -> list[TaskRow]:
    rows = []
    for number, record in enumerate(records, 1):
        place = f"gsm8k row {number}"
        question = files.column(record, "question", place)
        solution = files.column(record, "answer", place)
        if not isinstance(question, str) or not isinstance(solution, str):
            raise TaskError(f"{place}: question and answer must be text")
        prompt = chat(question, args.system)
        rows.append(TaskRow(f"gsm8k/{number}", prompt, final_answer(solution)))
    return rows


def _from_hub(name: str) -> tuple[list[Any], list[Any]]:
    try:
        datasets = importlib.import_module("datasets")
    except ImportError:
        raise TaskError(
            f"gsm8k: {name} is no file in the data folder, and loading it from the Hugging Face hub"
            " needs the datasets library: pip install datasets, or set path to a JSONL file"
        ) from None
    try:
        loaded = datasets.load_dataset(name, "main")
        return list(loaded["train"]), list(loaded["test"])
    except Exception as error:  # the library raises whatever its network and parsers raise
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise TaskError(f"gsm8k: the hub's {name} cannot be loaded ({first_line})") from None
