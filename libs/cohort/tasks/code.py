"""A tiny coding task: write a one-line Python function, judged by calling it in the sandbox.

Small enough for a small model, and a complete path through reward and sandbox. The ground truth, as
the `code` verifier reads it, is `{"entry": name, "cases": [{"args": [...], "expected": value}]}`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from pydantic import Field

from cohort.contracts.base import JsonValue
from cohort.tasks.base import Context, Task, TaskArgs, TaskRow, chat, digest

ENTRY = "solve"
_QUESTION = """Write a Python function `{entry}(a, b)` that returns {what}.
Answer with the whole function in one ```python block and nothing else.

```python
def {entry}(a, b):
    return ...
```"""

TEMPLATES: tuple[tuple[str, Callable[[int, int, int], int]], ...] = (
    ("the sum of a and b, plus {k}", lambda a, b, k: a + b + k),
    ("the sum of a and b, times {k}", lambda a, b, k: (a + b) * k),
    ("a minus b, plus {k}", lambda a, b, k: a - b + k),
    ("the product of a and b, minus {k}", lambda a, b, k: a * b - k),
    ("{k} times a, plus b", lambda a, b, k: k * a + b),
    ("{k} times b, minus a", lambda a, b, k: k * b - a),
    ("the larger of a and b, plus {k}", lambda a, b, k: max(a, b) + k),
    ("the smaller of a and b, times {k}", lambda a, b, k: min(a, b) * k),
)


class CodeArgs(TaskArgs):
    """How many functions, and how thoroughly they are called."""

    max_constant: int = Field(default=50, ge=2, le=100_000)
    """Every wording is asked with each constant from 2 to this one."""
    num_cases: int = Field(default=5, ge=1, le=64)
    """Calls that judge a function."""
    eval_fraction: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Share of the functions that is held out."""


def build(args: CodeArgs, _: Context) -> Task:
    """The task; held-out and training functions differ in wording or constant."""
    rows = sorted(_rows(args), key=lambda row: digest(row.id))
    num_eval = min(round(args.eval_fraction * len(rows)), len(rows) - 1)
    return Task(train=rows[num_eval:], eval=rows[:num_eval], notes=[])


def _rows(args: CodeArgs) -> Iterator[TaskRow]:
    for number, (wording, function) in enumerate(TEMPLATES):
        for constant in range(2, args.max_constant + 1):
            source = random.Random(f"cases {number} {constant}")
            cases: list[JsonValue] = []
            for _ in range(args.num_cases):
                a, b = source.randint(-99, 99), source.randint(-99, 99)
                cases.append({"args": [a, b], "expected": function(a, b, constant)})
            question = _QUESTION.format(entry=ENTRY, what=wording.format(k=constant))
            truth: dict[str, JsonValue] = {"entry": ENTRY, "cases": cases}
            yield TaskRow(f"code/{number}/{constant}", chat(question), truth)
