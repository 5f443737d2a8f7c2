"""JSONL files as rows: read inside one root, mistakes named by file and line, split by prompt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from cohort.contracts.base import JsonValue
from cohort.contracts.generator import ChatMessage
from cohort.contracts.queue import PromptInput
from cohort.tasks.base import Context, Task, TaskArgs, TaskError, TaskRow, chat, digest

MAX_FILE_BYTES = 2 * 1024**3
_MESSAGES = TypeAdapter(tuple[ChatMessage, ...])
Record = Mapping[str, JsonValue]


class SplitArgs(TaskArgs):
    """Where a file's held-out questions come from."""

    eval_path: str | None = None
    """A file of held-out questions; training rows that ask one of them are left out."""
    eval_fraction: float = Field(default=0.1, ge=0.0, lt=1.0)
    """Without `eval_path`: this share of the different prompts is held out."""


def resolve(path: str, root: Path) -> Path:
    """`path` under `root`. Raises `TaskError` when it leads outside."""
    base = root.resolve()
    try:
        found = (base / path).resolve()
    except (OSError, ValueError) as error:
        raise TaskError(f"{path!r} is not a path ({error})") from None
    if not found.is_relative_to(base):
        raise TaskError(
            f"{path} lies outside the data folder {base}: move the file there,"
            " or set COHORT_DATA_DIR to a folder that holds it"
        )
    return found


def read_jsonl(path: str, root: Path) -> list[Record]:
    """The objects of a JSONL file. Raises `TaskError` with file and line."""
    file = resolve(path, root)
    if not file.is_file():
        raise TaskError(f"{path}: there is no such file in the data folder {root.resolve()}")
    if file.stat().st_size > MAX_FILE_BYTES:
        raise TaskError(f"{path}: larger than {MAX_FILE_BYTES // 1024**3} GiB; split the file")
    try:
        with file.open(encoding="utf-8-sig") as lines:
            records = [_record(line, f"{path} line {n}") for n, line in enumerate(lines, 1)]
    except UnicodeDecodeError:
        raise TaskError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({error.strerror})") from None
    kept = [record for record in records if record is not None]
    if not kept:
        raise TaskError(f"{path}: the file has no rows")
    return kept


def _record(line: str, place: str) -> Record | None:
    if not line.strip():
        return None
    try:
        record: Any = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise TaskError(f"{place}: not JSON; each line must be one object") from None
    if not isinstance(record, dict):
        raise TaskError(f"{place}: each line must be a JSON object with named columns")
    return record


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def column(record: Record, name: str, place: str) -> JsonValue:
    """A column's value. Raises `TaskError` that lists the columns there are."""
    if name not in record:
        raise TaskError(f"{place}: no column {name!r}; it has {', '.join(record) or 'none'}")
    return record[name]


def prompt_of(value: JsonValue, system: str | None, place: str) -> PromptInput:
    """A prompt column: text (asked as a user's turn) or a list of chat messages."""
    if isinstance(value, str):
        return chat(value, system)
    try:
        turns = _MESSAGES.validate_python(value)
    except ValidationError:
        turns = ()
    if not turns:
        raise TaskError(f"{place}: a prompt must be text or a list of {{role, content}} messages")
    if system is not None and turns[0].role != "system":
        turns = (ChatMessage(role="system", content=system), *turns)
    return PromptInput(messages=turns)


def split(rows: Sequence[TaskRow], held_out: Sequence[TaskRow] | None, args: SplitArgs) -> Task:
    """Train and held-out rows. Rows that ask the same thing always end up on the same side."""
    asked = [question_of(row) for row in rows]
    if held_out is not None:
        seen = {question_of(row) for row in held_out}
        train = [row for row, question in zip(rows, asked, strict=True) if question not in seen]
        notes = []
        if len(train) < len(rows):
            notes.append(
                f"{len(rows) - len(train)} training rows ask a held-out question: left out"
            )
    else:
        # Digests are as good as random and do not depend on the order of the file.
        distinct = sorted(set(asked))
        seen = set(distinct[: round(args.eval_fraction * len(distinct))])
        train = [row for row, question in zip(rows, asked, strict=True) if question not in seen]
        held_out = _first_of_each(rows, asked, seen)
        notes = [f"{len(held_out)} of {len(distinct)} questions are held out"]
    if not train:
        raise TaskError("no training rows are left beside the held-out ones: add rows to the file")
    return Task(train=train, eval=held_out, notes=notes)


def question_of(row: TaskRow) -> str:
    """A digest of what the row asks."""
    return digest(row.prompt.model_dump(mode="json"))


def _first_of_each(
    rows: Iterable[TaskRow], asked: Iterable[str], wanted: set[str]
) -> list[TaskRow]:
    first: dict[str, TaskRow] = {}
    for row, question in zip(rows, asked, strict=True):
        if question in wanted:
            first.setdefault(question, row)
    return list(first.values())


def read_optional(path: str | None, context: Context) -> list[Record] | None:
    """As `read_jsonl`; None for no path."""
    return None if path is None else read_jsonl(path, context.data_root)
