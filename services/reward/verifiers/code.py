"""Does the program do what the cases ask? It runs in the sandbox; the cases are compared here.

    {"cases": [{"stdin": "2 3", "expected_stdout": "5"}]}               what the program prints
    {"entry": "solve", "cases": [{"args": [2, 3], "expected": 5}]}      what a function returns

Expected outputs never enter the sandbox, so there is nothing that a program could read to pass. The
value is the fraction of cases passed. Trouble of the sandbox is `infra_error`, never a 0.
"""

from __future__ import annotations

import json
import keyword
import logging
import math
from collections.abc import Sequence
from typing import Literal

import anyio
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cohort.clients import AsyncSandboxClient, ServiceError
from cohort.contracts.base import JsonValue
from cohort.contracts.sandbox import CaseResult, RunCase, RunLimits, RunRequest
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier, final_part

log = logging.getLogger("cohort.reward")
_LANGUAGES = frozenset({"", "python", "python3", "py"})
_LIMITS = frozenset(
    {"cpu_timeout", "wall_timeout", "memory", "output", "procs", "files", "sandbox_killed"}
)
_CALL = """

if True:
    import json as _json, sys as _sys
    _call = _json.loads(_sys.stdin.read())
    _result = _json.dumps({entry}(*_call["args"], **_call["kwargs"]), allow_nan=False)
    print("\\n" + _result)
"""


class Gold(BaseModel):
    """Base of the ground truth's two forms."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PrintCase(Gold):
    """What the program reads and what it has to print."""

    stdin: str = ""
    expected_stdout: str = Field(max_length=2_000_000)


class CallCase(Gold):
    """One call of the function and what it has to return."""

    args: list[JsonValue] = Field(default_factory=list)
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    expected: JsonValue


class PrintGold(Gold):
    """A program judged by its output."""

    cases: list[PrintCase] = Field(min_length=1, max_length=1_000)


class CallGold(Gold):
    """A function judged by its return values."""

    entry: str
    cases: list[CallCase] = Field(min_length=1, max_length=1_000)

    @field_validator("entry")
    @classmethod
    def _is_a_name(cls, entry: str) -> str:
        if not entry.isidentifier() or keyword.iskeyword(entry):
            raise ValueError("entry is no Python name")
        return entry


class CodeParams(Params):
    """What a program may use, and how its cases count."""

    cpu_ms: int = Field(default=5_000, ge=10, le=120_000)
    """CPU time of one case."""
    mem_mb: int = Field(default=512, ge=16, le=16_384)
    """Memory of one case."""
    count: Literal["fraction", "all"] = "fraction"
    """`all`: 1 when every case passes, else 0."""


class CodeVerifier(Verifier[CodeParams]):
    """Runs the last fenced block of the completion on every case."""

    name = "code"
    version = "1"
    description = "Runs the last Python block in the sandbox; the fraction of cases that pass."
    deterministic = False
    params = CodeParams

    def __init__(self, sandbox: AsyncSandboxClient, concurrency: int = 16) -> None:
        self.sandbox = sandbox
        self._room = anyio.Semaphore(concurrency)

    async def score(
        self, answers: Sequence[Answer], params: CodeParams, outcomes: list[Outcome | None]
    ) -> None:
        """All programs side by side, as many at a time as there is room for."""

        async def one(place: int, answer: Answer) -> None:
            async with self._room:
                try:
                    outcomes[place] = await self._judge(answer, params)
                except Exception as error:  # one item's trouble must not take the others along
                    log.error("code: cannot judge an answer", exc_info=error)
                    why = f"unexpected {type(error).__name__}; the log has it"
                    outcomes[place] = Outcome.unscored("infra_error", why)

        async with anyio.create_task_group() as group:
            for place, answer in enumerate(answers):
                group.start_soon(one, place, answer)

    async def aclose(self) -> None:
        """Close the connections to the sandbox."""
        await self.sandbox.aclose()

    async def _judge(self, answer: Answer, params: CodeParams) -> Outcome:
        try:
            gold = _gold(answer.ground_truth)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(["ground_truth", *(str(part) for part in first["loc"])])
            why = f"{place}: {first['msg']}"
            return Outcome.unscored("unscorable", why, "unparsable_gold")
        program = last_block(answer.completion)
        if program is None:
            return Outcome(0.0, verdict="no_answer")
        try:
            response = await self.sandbox.run(_request(program, gold, params))
        except ServiceError as error:
            return Outcome.unscored("infra_error", str(error))
        if response.status == "bad_request":
            return Outcome.unscored("unscorable", f"sandbox: {response.reason}")
        results = response.cases
        if len(results) != len(gold.cases) or any(r.status == "infra_error" for r in results):
            why = response.reason or "the sandbox did not run every case"
            return Outcome.unscored("infra_error", f"sandbox: {why}")
        cases: Sequence[PrintCase | CallCase] = gold.cases
        passed = [_passes(case, result) for case, result in zip(cases, results, strict=True)]
        return _outcome(passed, results, params)


def last_block(completion: str) -> str | None:
    """The last closed fenced Python block after the thinking; None when there is none."""
    text = final_part(completion)
    found: str | None = None
    block: list[str] | None = None
    fence = ""
    wanted = False
    for line in (text or "").splitlines():
        mark = line.strip()
        if block is None:
            ticks = len(mark) - len(mark.lstrip("`"))
            if ticks >= 3:
                fence, block = mark[:ticks], []
                wanted = mark[ticks:].strip().lower() in _LANGUAGES
        elif mark == fence:
            found, block = ("\n".join(block) if wanted else found), None
        else:
            block.append(line)
    return found


def _gold(truth: JsonValue) -> PrintGold | CallGold:
    called = isinstance(truth, dict) and "entry" in truth
    return CallGold.model_validate(truth) if called else PrintGold.model_validate(truth)


def _request(program: str, gold: PrintGold | CallGold, params: CodeParams) -> RunRequest:
    if isinstance(gold, CallGold):
        program += _CALL.format(entry=gold.entry)
        inputs = [json.dumps({"args": case.args, "kwargs": case.kwargs}) for case in gold.cases]
    else:
        inputs = [case.stdin for case in gold.cases]
    return RunRequest(
        mode="cases",
        code=program,
        cases=tuple(RunCase(stdin=text) for text in inputs),
        limits=_limits(gold, params),
    )


def _limits(gold: PrintGold | CallGold, params: CodeParams) -> RunLimits:
    """Room for the longest right output, so that it comes back whole."""
    limits = RunLimits(cpu_ms=params.cpu_ms, mem_mb=params.mem_mb)
    if isinstance(gold, CallGold):
        return limits
    longest = 1_024 + max(len(case.expected_stdout.encode()) for case in gold.cases)
    return limits.model_copy(
        update={
            "keep_bytes": max(limits.keep_bytes, 2 * longest),
            "kill_bytes": max(limits.kill_bytes, 2 * longest),
        }
    )


def _passes(case: PrintCase | CallCase, result: CaseResult) -> bool:
    if result.status != "ok":
        return False
    if isinstance(case, PrintCase):
        return _lines(result.stdout) == _lines(case.expected_stdout)
    last = result.stdout.strip().rsplit("\n", 1)[-1]
    try:
        return same(json.loads(last), case.expected)
    except (ValueError, RecursionError):
        return False


def _lines(text: str) -> list[str]:
    """Lines without blanks at their ends and without blank lines at the end."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def same(got: JsonValue, expected: JsonValue) -> bool:
    """Equality of JSON values by exact type: True is not 1; floats agree to 9 digits."""
    if type(got) is not type(expected):
        return False
    if isinstance(got, float) and isinstance(expected, float):
        return math.isclose(got, expected, rel_tol=1e-9)
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(same(got[k], expected[k]) for k in got)
    return got == expected


def _outcome(passed: list[bool], results: Sequence[CaseResult], params: CodeParams) -> Outcome:
    fraction = sum(passed) / len(passed)
    value = fraction if params.count == "fraction" else float(all(passed))
    verdict = "correct" if all(passed) else "wrong"
    if not all(passed) and any(result.status in _LIMITS for result in results):
        verdict = "limit"
    cpu_ms = sum(result.cpu_ms for result in results)
    return Outcome(value, verdict=verdict, metrics={"passed": fraction, "cpu_ms": cpu_ms})
