"""math-verify in a process of its own, which is killed when it hangs."""

import json
import select
import subprocess
from collections.abc import Sequence
from typing import NamedTuple, Self

TIMEOUT_S = 120.0

# Gold and answer are wrapped as its own reward functions do it; one line in, one line out.
CHILD = """
import json, sys, time
from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify
configs = [LatexExtractionConfig(), ExprExtractionConfig()]
for line in sys.stdin:
    pairs = json.loads(line)
    started = time.perf_counter()
    verdicts = []
    for completion, truth in pairs:
        gold = parse("\\\\boxed{" + truth + "}")
        verdicts.append(bool(verify(gold, parse(completion, extraction_config=configs))))
    print(json.dumps([time.perf_counter() - started, verdicts]), flush=True)
"""


class Reply(NamedTuple):
    """What grading some pairs took, and whether each was called right."""

    seconds: float
    verdicts: list[bool]


class MathVerify:
    """The child process; it is gone for good after a failure."""

    def __init__(self, python: str) -> None:
        self._child = subprocess.Popen(
            [python, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate()

    def grade(self, pairs: Sequence[tuple[str, str]]) -> Reply | None:
        """Grade pairs of completion and truth; None, with a message, when that fails."""
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(pairs) + "\n")
            stdin.flush()
        except BrokenPipeError:
            print("math-verify does not run: name a Python that has it by --math-verify-python")
            return None
        ready, _, _ = select.select([stdout], [], [], TIMEOUT_S)
        line = stdout.readline() if ready else ""
        if not line:
            self._child.kill()
            print("math-verify does not run or hangs: name a Python that has it")
            return None
        spent, verdicts = json.loads(line)
        return Reply(spent, verdicts)
