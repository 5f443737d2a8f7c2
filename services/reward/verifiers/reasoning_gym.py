"""Puzzles of reasoning-gym, judged by the library's own scorers in a child process.

Those scorers hold the interpreter lock as long as they like, and some run `eval` on the answer. So
the library lives in a process of its own (`services.reward.puzzles`), which checks answers before
they get there and is killed when it is too slow. It starts with the first puzzle.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import anyio
from anyio import to_thread
from pydantic import Field

from services.reward.verifiers.base import Answer, Outcome, Params, Verifier, final_part

_START_S = 120.0


class ReasoningGymParams(Params):
    """Where the answer stands."""

    tag: str | None = Field(default="answer", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")
    """The answer is in the last `<tag>...</tag>`; null takes all that follows the thinking."""


class ReasoningGymVerifier(Verifier[ReasoningGymParams]):
    """The scorer's value, 0 to 1; `correct` when it is 1."""

    name = "reasoning_gym"
    version = "1"
    description = "The own scorer of a reasoning-gym data set, for the task of the same name."
    params = ReasoningGymParams

    def __init__(self, limit_s: float = 5.0) -> None:
        self._child = PuzzleProcess(limit_s)
        self._turn = anyio.Lock()

    async def score(
        self, answers: Sequence[Answer], params: ReasoningGymParams, outcomes: list[Outcome | None]
    ) -> None:
        """One answer after the other; what the deadline interrupts is killed."""
        for place, answer in enumerate(answers):
            text = find_answer(answer.completion, params.tag)
            truth = answer.ground_truth
            if not isinstance(truth, dict) or not {"dataset", "entry"} <= truth.keys():
                why = "ground_truth must be an object with dataset and entry"
                outcomes[place] = Outcome.unscored("unscorable", why, "unparsable_gold")
            elif text is None:
                outcomes[place] = Outcome(0.0, verdict="no_answer")
            else:
                reply = await self._ask({**truth, "answer": text})
                outcomes[place] = _outcome(reply)

    async def aclose(self) -> None:
        """End the child process."""
        await to_thread.run_sync(self._child.close)

    async def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        given_up = threading.Event()
        async with self._turn:
            try:
                return await to_thread.run_sync(
                    self._child.ask, question, given_up, abandon_on_cancel=True
                )
            except anyio.get_cancelled_exc_class():
                self._child.give_up(given_up)
                raise


class PuzzleProcess:
    """The child process: one question and one reply a line, started again after it was killed."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._one_at_a_time = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._asking = False

    def ask(self, question: dict[str, Any], given_up: threading.Event) -> dict[str, Any]:
        """The reply; `{"limit": ...}` when it took too long or brought the process down twice."""
        with self._one_at_a_time:
            for _ in range(2):
                process = self._running()
                if process is None:
                    return {"trouble": "the puzzle scorer does not start: is the library there?"}
                if given_up.is_set():
                    return {"trouble": "given up"}
                self._asking = True
                reply = self._exchange(process, question, self.limit_s)
                self._asking = False
                if "died" not in reply:
                    return reply
            return {"limit": True}

    def give_up(self, given_up: threading.Event) -> None:
        """End the question, but not a process that is just starting: the next one needs it."""
        given_up.set()
        process = self._process
        if self._asking and process is not None:
            process.kill()

    def close(self) -> None:
        """End it, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
        with self._one_at_a_time:
            if self._process is not None:
                _discard(self._process)

    def _running(self) -> subprocess.Popen[bytes] | None:
        if self._process is None or self._process.poll() is not None:
            if self._process is not None:
                _discard(self._process)
            self._process = self._start()
            if "ready" not in self._exchange(self._process, None, _START_S):
                return None
        return self._process

    def _start(self) -> subprocess.Popen[bytes]:
        # No inherited environment: the API key and the Redis address are none of its business.
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "OPENBLAS_NUM_THREADS": "1",
            "COHORT_PUZZLE_LIMIT_S": str(self.limit_s),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "services.reward.puzzles"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def _exchange(
        self, process: subprocess.Popen[bytes], question: dict[str, Any] | None, limit_s: float
    ) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(limit_s, stop)
        timer.start()
        line = b""
        with contextlib.suppress(OSError, ValueError):
            if question is not None:
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
            line = process.stdout.readline()
        timer.cancel()
        if line.endswith(b"\n"):
            reply: dict[str, Any] = json.loads(line)
            return reply
        _discard(process)
        return {"limit" if late.is_set() else "died": True}


def find_answer(completion: str, tag: str | None) -> str | None:
    """The text to be judged; None without the tagged block or the end of the thinking."""
    text = final_part(completion)
    if text is None or tag is None:
        return None if text is None else text.strip()
    end = text.rfind(f"</{tag}>")
    start = text.rfind(f"<{tag}>", 0, max(end, 0))
    return text[start + len(tag) + 2 : end].strip() if start >= 0 else None


def _outcome(reply: dict[str, Any]) -> Outcome:
    if "value" in reply:
        value = float(reply["value"])
        return Outcome(value, verdict="correct" if value >= 1.0 else "wrong")
    if "limit" in reply:
        return Outcome(0.0, verdict="limit")
    if "unparsable" in reply:
        return Outcome(0.0, verdict="unparsable_answer")
    if "gold" in reply:
        return Outcome.unscored("unscorable", str(reply["gold"]), "unparsable_gold")
    return Outcome.unscored("infra_error", str(reply.get("trouble", "no reply")))


def _discard(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()
