"""open-instruct's code server: a program and tests in, 0 or 1 and seconds for each test out.

    POST /test_program        {"program", "tests": ["assert f(1) == 2", ...], "max_execution_time"}
    POST /test_program_stdio  {"program", "tests": [{"input": "1\\n", "output": "2\\n"}, ...], ...}
    {"results": [1, 0], "runtimes": [0.02, -1.0]}

The `code` verifier runs each test on its own in the sandbox. An assertion runs beside the program,
as in every server of this kind; it counts only when a function then returns a secret word.
Tests in base64 are refused: they are pickles, and reading one runs it.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Sequence

from pydantic import Field

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreRequest, ScoreResult
from services.reward.dialects.base import ALL, Dialect, Options, Wire
from services.reward.grader import RequestError

_MAX_TESTS = 1_000
_SECRET = secrets.token_bytes(16)


class Body(Wire):
    """A program and its tests."""

    program: str
    tests: JsonValue
    """A list, or a list as JSON text."""
    max_execution_time: float = Field(default=1.0, gt=0.0, le=3600.0)
    """Seconds of CPU for each test."""


def ask_asserts(body: Body, _: Options) -> ScoreRequest:
    """One item for each assertion."""
    return _ask(body, _assertion)


def ask_stdio(body: Body, _: Options) -> ScoreRequest:
    """One item for each input with its output."""
    return _ask(body, _printed)


def answer(_: Body, results: Sequence[ScoreResult], __: Options) -> JsonValue:
    """Seconds are -1 where a test failed, as there."""
    passed = [result.score == 1.0 for result in results]
    seconds = [result.metrics.get("code.cpu_ms", 0.0) / 1_000 for result in results]
    runtimes = [s if ok else -1.0 for ok, s in zip(passed, seconds, strict=True)]
    return {"results": [int(ok) for ok in passed], "runtimes": list[JsonValue](runtimes)}


def _ask(body: Body, item: Callable[[str, JsonValue], ScoreItem]) -> ScoreRequest:
    tests = _tests(body.tests)
    cpu_ms = min(120_000, max(10, round(1_000 * min(body.max_execution_time, 120.0))))
    return ScoreRequest(
        items=tuple(item(body.program, test) for test in tests),
        rewards=(RewardSpec(verifier="code", kwargs={"cpu_ms": cpu_ms}),),
        timeout_s=min(300.0, max(30.0, 10 * cpu_ms / 1_000))
        - 2.0,  # the client's own, less a little
    )


def _tests(given: JsonValue) -> list[JsonValue]:
    if isinstance(given, str) and given:
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            why = "tests: must be a list or JSON text; pickled tests are not read"
            raise RequestError("invalid_request", why) from None
    if not given:
        return []
    if not isinstance(given, list) or len(given) > _MAX_TESTS:
        raise RequestError("invalid_request", f"tests: must be a list of at most {_MAX_TESTS}")
    return given


def _assertion(program: str, test: JsonValue) -> ScoreItem:
    if not isinstance(test, str):
        raise RequestError("invalid_request", "tests: each must be a statement, as text")
    word = hashlib.sha256(_SECRET + program.encode("utf-8", "replace")).hexdigest()[:16]
    code = f"{program}\n\n{test}\n\ndef passed_{word}():\n    return {word!r}\n"
    truth: JsonValue = {"entry": f"passed_{word}", "cases": [{"expected": word}]}
    return ScoreItem(completion=_fenced(code), ground_truth=truth)


def _printed(program: str, test: JsonValue) -> ScoreItem:
    if not isinstance(test, dict) or not {"input", "output"} <= test.keys():
        raise RequestError("invalid_request", "tests: each must be an object with input and output")
    case: JsonValue = {"stdin": str(test["input"]), "expected_stdout": str(test["output"])}
    return ScoreItem(completion=_fenced(program), ground_truth={"cases": [case]})


def _fenced(program: str) -> str:
    """A block whose fence is longer than any in the program."""
    longest = max(map(len, re.findall("`+", program)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}python\n{program}\n{ticks}"


TEST_PROGRAM = Dialect(
    *("/test_program", "open-instruct code server", Body, ask_asserts, answer), refuse=ALL
)
TEST_PROGRAM_STDIO = Dialect(
    *("/test_program_stdio", "open-instruct code server", Body, ask_stdio, answer), refuse=ALL
)
