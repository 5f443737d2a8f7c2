"""The child process of the `reasoning_gym` verifier: `python -m services.reward.puzzles`.

Questions `{"dataset", "args", "entry", "answer"}` come in on stdin, replies go out on stdout, one
JSON object a line: `{"value": v}`, `{"unparsable": true}` or `{"gold": why}`. Some of the library's
scorers hand the answer, or a field of the entry, to `eval` or to sympy's parser, which is eval as
well: what reaches those is checked first and refused unless it is a literal or plain arithmetic.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import resource
import signal
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cohort.tasks.reasoning_gym import from_json

MAX_ANSWER = 65_536
_MAX_EXPRESSION = 2_048
_MEMORY_BYTES = 4 * 1024**3
_WORD = re.compile(r"[A-Za-z_0-9\s]*")
_EXPRESSION = re.compile(r"[A-Za-z0-9+\-*/%^()&|~<>,.\s]*")
_NUMBER = re.compile(r"\b(0x[0-9A-Fa-f]+|\d+(\.\d+)?[eE][+-]?\d+)\b")
_NAMES = frozenset({"sin", "cos", "tan", "exp", "log", "ln", "sqrt", "pi", "asin", "acos", "atan"})
"""Not sympy's Integral: it would be a right answer to every question for an integral."""
_FREE = frozenset({"C", "E", "X"})
_CLOSED = frozenset({"composite"})
"""A data set of data sets: its settings could carry others past the checks below."""


def literal(text: str) -> bool:
    """Whether `eval` can find nothing in it but a literal, or words that are no expression."""
    if _WORD.fullmatch(text):
        return "__" not in text
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return False
    return True


def expression(text: str) -> bool:
    """Whether it is arithmetic of numbers, one-letter variables and well-known functions."""
    if len(text) > _MAX_EXPRESSION or not _EXPRESSION.fullmatch(text):
        return False
    if re.search(r"\.\s*[A-Za-z]", text):  # an attribute
        return False
    names = re.findall(r"[A-Za-z][A-Za-z0-9]*", _NUMBER.sub("0", text))
    return all(
        name in _NAMES or name in _FREE or (len(name) == 1 and name.islower()) for name in names
    )


Check = Callable[[str], bool]
ANSWER_CHECKS: dict[str, Check] = {
    "binary_matrix": literal,
    "n_queens": literal,
    "spiral_matrix": literal,
    "string_insertion": literal,
    "countdown": expression,
    "intermediate_integration": expression,
    "polynomial_multiplication": expression,
    "puzzle24": expression,
    "simple_integration": expression,
}
ENTRY_CHECKS: dict[str, tuple[tuple[str, ...], Check]] = {
    "bitwise_arithmetic": (("metadata", "problem"), expression),
    "intermediate_integration": (("metadata", "integrand"), expression),
    "number_sorting": (("answer",), literal),
    "polynomial_multiplication": (("answer",), expression),
    "simple_integration": (("metadata", "integrand"), expression),
}


def judge(question: dict[str, Any]) -> dict[str, Any]:
    """The reply to one question."""
    name, answer = question["dataset"], question["answer"]
    if len(answer) > MAX_ANSWER:
        return {"unparsable": True}
    try:
        scorer = _scorer(str(name), json.dumps(question.get("args") or {}))
        entry = from_json(question["entry"])
        if name in ENTRY_CHECKS:
            path, check = ENTRY_CHECKS[name]
            if not check(_field(entry, path)):
                return {"gold": f"{name}: entry.{'.'.join(path)} is not what the library makes"}
    except Exception as error:
        return {"gold": f"{name}: {type(error).__name__}: {error}"}
    if name in ANSWER_CHECKS and not ANSWER_CHECKS[name](answer):
        return {"unparsable": True}
    try:
        return {"value": min(1.0, max(0.0, float(scorer(answer, entry))))}
    except Exception:  # scorers trip over answers that they did not expect
        return {"value": 0.0} if _accepts_gold(scorer, entry) else {"gold": f"{name}: bad entry"}


@lru_cache(maxsize=256)
def _scorer(name: str, args: str) -> Callable[[str, Any], float]:
    import reasoning_gym
    from reasoning_gym.factory import DATASETS

    if name in _CLOSED or name not in DATASETS:
        raise ValueError("no such data set")
    settings = {**from_json(json.loads(args)), "size": 1, "seed": 0}
    scorer: Callable[[str, Any], float] = reasoning_gym.create_dataset(
        name, **settings
    ).score_answer
    return scorer


def _accepts_gold(scorer: Callable[[str, Any], float], entry: Any) -> bool:
    """Whether the scorer can work with this entry at all."""
    try:
        scorer(entry["answer"], entry)
    except Exception:
        return False
    return True


def _field(entry: Any, path: tuple[str, ...]) -> str:
    for key in path:
        entry = entry[key]
    return str(entry)


def main() -> None:
    """Answer until stdin ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what scorers print is not a reply
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_s = float(os.environ.get("COHORT_PUZZLE_LIMIT_S", "5"))
    with contextlib.suppress(ImportError):
        import reasoning_gym  # noqa: F401

        print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        # The service kills us when we are late; the alarm is for when the service is gone.
        signal.setitimer(signal.ITIMER_REAL, limit_s + 1.0)
        reply = judge(json.loads(line))
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
