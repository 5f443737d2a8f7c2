"""The worker: picks a backend, admits requests, runs programs, compares outputs. It knows no HTTP.

    request --> admission (bounded) --> slot --> backend.run, once per case --> verdict --> reply
                     |                                |
                 Overloaded                   lost sandbox: once more in a fresh one

What a case expects stays here: it is compared with bytes from pipes that this process owns.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from cohort.contracts.sandbox import (
    BackendReport,
    BackendsResponse,
    CaseResult,
    Execution,
    RunCase,
    RunRequest,
    RunResponse,
)
from services.sandbox.backends.base import Backend, Job, Outcome, Stream
from services.sandbox.backends.namespace import Namespace
from services.sandbox.backends.rlimits import Rlimits
from services.sandbox.config import Settings

log = logging.getLogger("sandbox")
MIB = 1 << 20


class Overloaded(Exception):
    """Too many requests wait already."""


class NoIsolation(Exception):
    """No backend may be used; the text says why and what to do."""


def make_backends(settings: Settings) -> list[Backend]:
    """The backends that the settings name, in their order."""
    made: dict[str, Backend] = {
        "namespace": Namespace(settings.python),
        "rlimits": Rlimits(settings.allow_insecure, settings.python),
    }
    return [made[name] for name in settings.backends.split(",")]


class Sandbox:
    """Runs requests. Safe for any number of tasks of one event loop."""

    def __init__(self, settings: Settings, backends: Sequence[Backend] | None = None) -> None:
        self.settings = settings
        self.backends = list(make_backends(settings) if backends is None else backends)
        self.reports: list[BackendReport] = []
        self.chosen: Backend | None = None
        self.waiting = 0
        self.running = 0
        self._probed = False
        self._probing = asyncio.Lock()
        self._slots: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(settings.slots):
            self._slots.put_nowait(slot)

    async def start(self) -> None:
        """Run the self-tests, once; the first backend that passes is used from then on."""
        async with self._probing:
            if self._probed:
                return
            self.reports = []  # an earlier start may have been cancelled half-way
            for backend in self.backends:
                report = await backend.probe()
                self.reports.append(report)
                if report.ok:
                    self.chosen = backend
                    break
                log.warning("backend %s is refused: %s", report.name, report.reason)
            self._probed = True
        if self.chosen is None:
            log.error("no backend may be used: %s", self.missing())
        elif self.chosen is not self.backends[0]:
            log.warning("ISOLATION IS WEAKER THAN PREFERRED: using %s", self.chosen.name)
        else:
            log.info("programs run in backend %s", self.chosen.name)

    def close(self) -> None:
        """Give back what the backends hold."""
        for backend in self.backends:
            backend.close()

    def missing(self) -> str | None:
        """Why nothing can be run, as a sentence; None when it can."""
        if self.chosen is not None:
            return None
        if not self._probed:
            return "The sandbox is still testing its isolation."
        whys = " ".join(f"{report.name}: {report.reason}" for report in self.reports)
        return f"No isolation for programs on this machine. {whys}"

    def describe(self) -> BackendsResponse:
        """What was tried and what is used."""
        chosen = None if self.chosen is None else self.chosen.name
        return BackendsResponse(chosen=chosen, backends=tuple(self.reports))

    async def run(self, request: RunRequest) -> RunResponse:
        """Run a program. Raises `Overloaded`, or `NoIsolation` when it must not be run here."""
        await self.start()
        if self.chosen is None:
            raise NoIsolation(self.missing())
        problem = _problem(request)
        if problem is not None:
            return self._reply(Execution(status="bad_request", reason=problem))
        if self._slots.empty() and self.waiting >= self.settings.max_waiting:
            raise Overloaded(f"{self.waiting} requests wait already")
        asked = time.perf_counter()
        self.waiting += 1
        try:
            slot = await self._slots.get()
        finally:
            self.waiting -= 1
        queue_ms = (time.perf_counter() - asked) * 1e3
        self.running += 1
        try:
            if request.mode == "cases":
                return await self._run_cases(request, slot, queue_ms)
            outcome, attempt = await self._attempt(self._job(request, request.stdin), slot)
            keep = request.limits.keep_bytes
            return self._reply(_execution(outcome, keep), attempt=attempt, queue_ms=queue_ms)
        finally:
            self.running -= 1
            self._slots.put_nowait(slot)

    def _job(self, request: RunRequest, stdin: str) -> Job:
        return Job(
            code=_bytes(request.code),
            language=request.language,
            stdin=_bytes(stdin),
            files=request.files,
            limits=request.limits,
        )

    async def _attempt(self, job: Job, slot: int) -> tuple[Outcome, int]:
        """Run; a lost sandbox or trouble of our own gets a second try in a fresh one."""
        assert self.chosen is not None
        outcome = await self._run_once(job, slot)
        if outcome.status not in ("sandbox_killed", "infra_error"):
            return outcome, 1
        log.warning("run again after %s: %s", outcome.status, outcome.reason)
        return await self._run_once(job, slot), 2

    async def _run_once(self, job: Job, slot: int) -> Outcome:
        assert self.chosen is not None
        try:
            return await self.chosen.run(job, slot)
        except Exception as error:  # whatever breaks here is ours, never the program's failure
            log.exception("a run broke")
            reason = f"The sandbox service failed ({type(error).__name__}: {error})."
            return Outcome("infra_error", reason=reason)

    async def _run_cases(self, request: RunRequest, slot: int, queue_ms: float) -> RunResponse:
        results: list[CaseResult] = []
        attempts = 1
        for case in request.cases:
            outcome, attempt = await self._attempt(self._job(request, case.stdin), slot)
            attempts = max(attempts, attempt)
            execution = _execution(outcome, request.limits.keep_bytes)
            passed = _passed(case, outcome)
            results.append(CaseResult(**execution.model_dump(), passed=passed))
            if request.stop_at_first_failure and (passed is False or outcome.status != "ok"):
                break
        first_bad = next((result for result in results if result.status != "ok"), results[-1])
        total = Execution(
            status=first_bad.status,
            exit_code=first_bad.exit_code,
            signal=first_bad.signal,
            reason=first_bad.reason,
            cpu_ms=sum(result.cpu_ms for result in results),
            wall_ms=sum(result.wall_ms for result in results),
            peak_mb=max(result.peak_mb for result in results),
            leftovers=sum(result.leftovers for result in results),
        )
        return self._reply(total, tuple(results), attempts, queue_ms)

    def _reply(
        self,
        execution: Execution,
        cases: tuple[CaseResult, ...] = (),
        attempt: int = 1,
        queue_ms: float = 0.0,
    ) -> RunResponse:
        assert self.chosen is not None
        return RunResponse(
            **execution.model_dump(),
            cases=cases,
            backend=self.chosen.name,
            level=self.chosen.level,
            attempt=attempt,
            queue_ms=round(queue_ms, 3),
        )


def _execution(outcome: Outcome, keep: int) -> Execution:
    stdout, stdout_cut = _clip(outcome.stdout, keep)
    stderr, stderr_cut = _clip(outcome.stderr, keep)
    return Execution(
        status=outcome.status,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        cpu_ms=round(outcome.cpu_ms, 3),
        wall_ms=round(outcome.wall_ms, 3),
        peak_mb=round(outcome.peak / MIB, 2),
        stdout=stdout,
        stderr=stderr,
        stdout_bytes=outcome.stdout.total,
        stderr_bytes=outcome.stderr.total,
        stdout_truncated=stdout_cut,
        stderr_truncated=stderr_cut,
        leftovers=outcome.leftovers,
        reason=outcome.reason,
    )


def _clip(stream: Stream, keep: int) -> tuple[str, bool]:
    """Text of at most `keep` bytes, head and tail, and whether the middle was left out."""
    data = stream.data
    if stream.total <= keep:
        return data.decode(errors="replace"), False
    head = data[: keep - keep // 2]
    tail = data[len(data) - min(keep // 2, len(data) - len(head)) :]
    gap = f"\n[... {stream.total - len(head) - len(tail)} bytes left out ...]\n"
    return head.decode(errors="replace") + gap + tail.decode(errors="replace"), True


def _passed(case: RunCase, outcome: Outcome) -> bool | None:
    if outcome.status == "infra_error" or case.expected_stdout is None:
        return None
    wanted, got = _bytes(case.expected_stdout), outcome.stdout.data
    return outcome.status == "ok" and _normal(got) == _normal(wanted)


def _bytes(text: str) -> bytes:
    """UTF-8; lone surrogates, which JSON can carry, become invalid bytes that the program meets."""
    return text.encode(errors="surrogatepass")


def _normal(text: bytes) -> list[bytes]:
    """Lines without blanks at their ends, without blank lines at the end."""
    lines = [line.rstrip() for line in text.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _problem(request: RunRequest) -> str | None:
    """Why a request cannot be run, as a sentence."""
    if request.language == "bash" and not Path("/bin/bash").exists():
        return "language bash: this machine has no /bin/bash."
    size = len(_bytes(request.code)) + sum(len(data) for data in request.files.values())
    if size > request.limits.tmp_mb * MIB:
        return f"code and files: {size} bytes do not fit into tmp_mb ({request.limits.tmp_mb} MiB)."
    main = "main.py" if request.language == "python" else "main.sh"
    for name in request.files:
        parts = PurePosixPath(name).parts
        simple = str(PurePosixPath(name)) == name and ".." not in parts and name not in ("", ".")
        if not simple or name.startswith("/") or not name.isprintable():
            return f"files: {name[:80]!r} is not a plain path below the working directory."
        if len(name) > 1_000 or any(len(_bytes(part)) > 255 for part in parts):
            return f"files: the name {name[:80]!r}... is too long."
        if name == main:
            return f"files: {main} is the name of the program itself: rename the file."
    return None
