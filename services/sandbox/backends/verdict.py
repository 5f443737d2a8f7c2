"""From what was seen of a run to its status: pure, so that every rule can be read and tested."""

import os
import signal
from dataclasses import dataclass

from cohort.contracts.sandbox import RunLimits, RunStatus
from services.sandbox.backends.base import Outcome, Stream

# How Python ends when a limit refused it something. A program can print these too; it would only
# give its own failure another name.
_LAST_LINES: tuple[tuple[str, RunStatus], ...] = (
    ("MemoryError", "memory"),
    ("numpy.core._exceptions._ArrayMemoryError", "memory"),
    ("BlockingIOError: [Errno 11]", "procs"),
    ("RuntimeError: can't start new thread", "procs"),
    ("OSError: [Errno 24]", "files"),
    ("OSError: [Errno 27]", "files"),
    ("OSError: [Errno 28]", "files"),
)


@dataclass(frozen=True)
class Report:
    """What was seen of one run."""

    said: list[str]
    """Lines of inside.py."""
    ended: RunStatus | None
    """Why it was stopped, if it was."""
    cpu_ms: float
    wall_ms: float
    peak: int
    stdout: Stream
    stderr: Stream
    returncode: int | None
    """Of the jail."""


def conclude(report: Report, limits: RunLimits, out_of_memory: bool) -> Outcome:
    """The outcome. `infra_error` unless the program was seen to start and to end."""
    word, _, rest = (report.said[-1] if report.said else "").partition(" ")
    if report.said[:1] != ["ready"]:
        what = rest if word == "error" else _last_line(report.stderr) or f"exit {report.returncode}"
        return _failed(report, "infra_error", f"The sandbox did not start: {what}")
    if word == "error":
        kind, _, what = rest.partition(" ")
        return _failed(report, "files" if kind == "files" else "infra_error", what)
    if word != "done":
        return _without_done(report, out_of_memory)
    raw, cpu_us, rss_kb, leftovers = (int(number) for number in rest.split())
    cpu_ms = cpu_us / 1e3
    code, number = _exit(raw)
    status = report.ended or _status(code, number, cpu_ms, limits, out_of_memory, report.stderr)
    own = report.ended is None
    return Outcome(
        status,
        exit_code=code if own else None,
        signal=number if own else None,
        cpu_ms=cpu_ms,
        wall_ms=report.wall_ms,
        peak=max(report.peak, rss_kb * 1024),
        stdout=report.stdout,
        stderr=report.stderr,
        leftovers=leftovers,
    )


def _without_done(report: Report, out_of_memory: bool) -> Outcome:
    """The jail is gone, and inside.py had no time to say how."""
    if report.ended is not None:
        return _failed(report, report.ended, None)
    if out_of_memory:
        return _failed(report, "memory", "The kernel ended the sandbox for its memory.")
    return _failed(report, "sandbox_killed", "The sandbox was lost while the program ran.")


def _failed(report: Report, status: RunStatus, reason: str | None) -> Outcome:
    return Outcome(
        status,
        cpu_ms=report.cpu_ms,
        wall_ms=report.wall_ms,
        peak=report.peak,
        stdout=report.stdout,
        stderr=report.stderr,
        reason=reason,
    )


def _exit(raw: int) -> tuple[int | None, int | None]:
    """(exit code, None) or (None, signal) from a wait status."""
    if os.WIFSIGNALED(raw):
        return None, os.WTERMSIG(raw)
    return os.WEXITSTATUS(raw), None


def _status(
    code: int | None,
    number: int | None,
    cpu_ms: float,
    limits: RunLimits,
    out_of_memory: bool,
    stderr: Stream,
) -> RunStatus:
    # The kernel sends SIGXCPU by its tick count, which differs a little from the time it reports.
    by_kernel = number == signal.SIGXCPU and cpu_ms >= 0.8 * limits.cpu_ms
    if cpu_ms >= limits.cpu_ms or by_kernel:
        return "cpu_timeout"
    if number == signal.SIGXFSZ:
        return "files"
    if out_of_memory and code != 0:
        return "memory"
    if number is not None:
        return "signaled"
    if code == 0:
        return "ok"
    last = _last_line(stderr)
    for start, status in _LAST_LINES:
        if last.startswith(start):
            return status
    return "exit_nonzero"


def _last_line(stream: Stream) -> str:
    lines = stream.data[-2_048:].decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
