"""Tasks: prompts in, what is needed to grade them out. One file per task.

`make_task` builds one from its name and arguments; `draw` gives the training row at any position of
the run's shuffled order. Files are read only inside the data folder: `data_root`, else the
environment's COHORT_DATA_DIR, else the current folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cohort.contracts.base import JsonValue
from cohort.tasks import arithmetic, code, gsm8k, jsonl, preferences, reasoning_gym
from cohort.tasks.base import Context, Task, TaskArgs, TaskError, TaskKind, TaskRow
from cohort.tasks.order import draw

__all__ = [
    "Task",
    "TaskError",
    "TaskRow",
    "draw",
    "make_task",
    "task_names",
    "task_parameters",
]

_KINDS: dict[str, TaskKind[Any]] = {
    "arithmetic": TaskKind(arithmetic.ArithmeticArgs, arithmetic.build),
    "code": TaskKind(code.CodeArgs, code.build),
    "gsm8k": TaskKind(gsm8k.Gsm8kArgs, gsm8k.build),
    "jsonl": TaskKind(jsonl.JsonlArgs, jsonl.build),
    "preferences": TaskKind(preferences.PreferencesArgs, preferences.build),
    "reasoning_gym": TaskKind(reasoning_gym.ReasoningGymArgs, reasoning_gym.build),
}


def task_names() -> list[str]:
    """The known tasks, in alphabetical order."""
    return sorted(_KINDS)


def task_parameters(name: str) -> dict[str, Any]:
    """JSON schema of a task's arguments. Raises `TaskError` for an unknown task."""
    schema: dict[str, Any] = _kind(name).args.model_json_schema()
    return schema


def make_task(
    name: str, args: Mapping[str, JsonValue], seed: int, data_root: Path | None = None
) -> Task:
    """Build a task. Raises `TaskError` with one sentence when it cannot be built.

    The seed changes generated training rows where there are endlessly many of them; it never
    changes which questions are held out.
    """
    kind = _kind(name)
    try:
        parsed: TaskArgs = kind.args.model_validate(dict(args))
    except ValidationError as error:
        problems = "; ".join(_sentence(dict(item)) for item in error.errors())
        raise TaskError(f"task {name}: {problems}") from None
    root = data_root or Path(os.environ.get("COHORT_DATA_DIR") or ".")
    return kind.build(parsed, Context(seed=seed, data_root=root))


def _kind(name: str) -> TaskKind[Any]:
    if name not in _KINDS:
        raise TaskError(f"unknown task {name!r}; known tasks: {', '.join(task_names())}")
    return _KINDS[name]


def _sentence(error: dict[str, Any]) -> str:
    place = ".".join(["args", *(str(part) for part in error["loc"])])
    if error["type"] == "extra_forbidden":
        return f"{place}: unknown field"
    if error["type"] == "missing":
        return f"{place}: required, but missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{place}: {message[:1].lower()}{message[1:]}"
