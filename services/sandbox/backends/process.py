"""One run, watched from outside: pipes, time, memory, and the verdict.

    launch --> jail (backend's command) --> inside.py --> the program
      |           fd 0,1,2: pipes of the program       ctl: a socket that the program does not hold
      +- feed     writes stdin as fast as it is read
      +- drain x2 reads output as it comes, stops the run above kill_bytes
      +- watch    samples CPU time, memory and tasks of the tree, stops the run above a limit
      +- timer    stops the run at the wall limit
      +- talk     sends the files, waits for "done"

Whatever happens first decides the status. Stopping is asked of inside.py, which kills, reaps and
reports; a second later the jail is killed from outside, which takes its namespace along.
"""

import asyncio
import contextlib
import functools
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cohort.contracts.sandbox import RunStatus
from services.sandbox.backends import monitor
from services.sandbox.backends.base import Job, Outcome, Stream
from services.sandbox.backends.pipes import Child
from services.sandbox.backends.verdict import Report, conclude

START_S = 20.0
"""A jail that is not ready by then is an infrastructure failure."""
GRACE_S = 1.0
"""Between asking inside.py to stop and killing the jail."""
END_S = 5.0
"""After its last word a jail must be gone."""
SAMPLE_S = 0.02
MIB = 1 << 20
INSIDE = Path(__file__).with_name("inside.py").read_text()
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # the same program gives the same verdict
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Launch:
    """How a backend starts inside.py."""

    prefix: Sequence[str]
    """The jail's command; inside.py's own follows."""
    python: str
    depth: int
    """Processes between the one that is started and inside.py."""
    own_uid: int | None = None
    """Host uid and gid to drop to before the jail is started."""
    cwd: str | None = None
    home: str = "/tmp"
    fds: Sequence[int] = ()
    """Inherited by the jail; the caller closes them."""
    limit_procs: bool = True
    """Whether RLIMIT_NPROC counts this run alone."""
    on_pid: Callable[[int], None] = field(default=lambda _pid: None)
    """Called with inside.py's host pid before the program exists, for cgroups."""
    out_of_memory: Callable[[], bool] = field(default=lambda: False)
    """Asked afterwards: did the kernel kill for memory?"""


def command(job: Job, launch: Launch, ctl: int) -> list[str]:
    """The whole command line."""
    limits = job.limits
    rlimits = {
        # Whole seconds of one process, a second more than allowed: `watch` is finer and counts all.
        "CPU": -(-limits.cpu_ms // 1_000) + 1,
        "DATA": (limits.mem_mb + 256) * MIB,
        "AS": (4 * limits.mem_mb + 1_024) * MIB,  # thread stacks and BLAS reserve, not use
        "FSIZE": limits.fsize_mb * MIB,
        "NOFILE": limits.nofile,
        "CORE": 0,
        "MEMLOCK": 65_536,
        "MSGQUEUE": 0,
    }
    if launch.limit_procs:
        rlimits["NPROC"] = limits.procs + 1  # and inside.py
    program = {
        "python": [launch.python, "-s", "main.py"],
        "bash": ["/bin/bash", "--noprofile", "--norc", "main.sh"],
    }[job.language]
    inside = [launch.python, "-I", "-S", "-B", "-c", INSIDE, str(ctl)]
    settings = [f"{name}={value}" for name, value in rlimits.items()]
    return [*launch.prefix, *inside, *settings, "--", *program]


def frames(job: Job) -> bytes:
    """The files of a run, as inside.py reads them."""
    main = "main.py" if job.language == "python" else "main.sh"
    parts = []
    for path, data in {main: job.code, **job.files}.items():
        name = os.fsencode(path)
        parts += [len(name).to_bytes(8, "big"), name, len(data).to_bytes(8, "big"), data]
    return b"".join([*parts, bytes(8)])


class Run:
    """One run. Use `run`; the object is not reused."""

    def __init__(self, job: Job, launch: Launch) -> None:
        self.job, self.launch = job, launch
        self.ended: RunStatus | None = None
        self.peak = 0
        self.cpu_ms = 0.0
        self.started: float | None = None
        self.output = (bytearray(), bytearray())
        self.total = [0, 0]
        self.timers: list[asyncio.TimerHandle] = []
        self.child: Child
        self.ctl: socket.socket

    async def run(self) -> Outcome:
        """Start, watch, and conclude. However it is left, nothing of the run survives it."""
        self.ctl, theirs = socket.socketpair()
        with self.ctl:
            self.ctl.setblocking(False)
            with theirs:
                self.child = self._spawn(theirs.fileno())
            with self.child:
                report = await self._watch_over()
        return conclude(report, self.job.limits, self.launch.out_of_memory())

    def _spawn(self, ctl: int) -> Child:
        launch = self.launch
        return Child(
            command(self.job, launch, ctl),
            pass_fds=(ctl, *launch.fds),
            env=ENVIRONMENT | {"HOME": launch.home, "TMPDIR": launch.home},
            cwd=launch.cwd or "/",
            uid=launch.own_uid,
        )

    async def _watch_over(self) -> Report:
        """Everything that runs at the same time, until the program and all its pipes are gone."""
        helpers = [
            asyncio.create_task(self.child.drain(1, functools.partial(self._take, 0))),
            asyncio.create_task(self.child.drain(2, functools.partial(self._take, 1))),
            asyncio.create_task(self.child.exited()),
        ]
        must_end = tuple(helpers)
        said: list[str] = []
        wall_ms = 0.0
        try:
            said = await self._talk(helpers)
            wall_ms = (time.perf_counter() - (self.started or time.perf_counter())) * 1e3
            async with asyncio.timeout(END_S):
                await asyncio.gather(*must_end)
        except TimeoutError:
            said = ["error infra it did not start or did not end in time"]
        finally:
            for timer in self.timers:
                timer.cancel()
            for task in helpers:
                task.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
        out, err = (Stream(bytes(b), n) for b, n in zip(self.output, self.total, strict=True))
        returncode = self.child.process.poll()
        return Report(said, self.ended, self.cpu_ms, wall_ms, self.peak, out, err, returncode)

    async def _talk(self, helpers: list[asyncio.Task[None]]) -> list[str]:
        """Ready, files, done: the lines that inside.py said."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(START_S):
            lines = await self._listen(until=b"\n")
            if lines != ["ready"]:
                return lines
            inside = self._inside_pid()
            self.launch.on_pid(inside)
            with contextlib.suppress(OSError):
                await loop.sock_sendall(self.ctl, frames(self.job))
        self.started = time.perf_counter()
        wall_s = self.job.limits.wall_stop_ms / 1e3
        self.timers.append(loop.call_later(wall_s, self.stop, "wall_timeout"))
        helpers += [
            asyncio.create_task(self.child.feed(self.job.stdin)),
            asyncio.create_task(self._watch(inside)),
        ]
        return lines + await self._listen(until=None)

    async def _listen(self, until: bytes | None) -> list[str]:
        """Lines from inside.py, to the end of one line or to the end of all; at most 4 KiB."""
        loop, data = asyncio.get_running_loop(), b""
        while until is None or not data.endswith(until):
            try:
                part = await loop.sock_recv(self.ctl, 4_096)
            except OSError:
                break
            if not part:
                break
            data = (data + part)[:4_096]
        return data.decode(errors="replace").splitlines()

    def _take(self, which: int, data: bytes) -> None:
        cap, kept = self.job.limits.kill_bytes, self.output[which]
        self.total[which] += len(data)
        kept += data[: max(0, cap - len(kept))]
        if self.total[which] > cap:
            self.stop("output")

    async def _watch(self, inside: int) -> None:
        """Sample the tree; the program is everything below inside.py."""
        limits = self.job.limits
        while True:
            await asyncio.sleep(SAMPLE_S)
            used = monitor.usage(inside)
            self.peak = max(self.peak, used.memory)
            self.cpu_ms = max(self.cpu_ms, used.cpu_s * 1e3)
            if self.cpu_ms >= limits.cpu_ms:
                self.stop("cpu_timeout")
            elif used.memory > limits.mem_mb * MIB:
                self.stop("memory")
            elif used.tasks > limits.procs + 1:
                self.stop("procs")

    def _inside_pid(self) -> int:
        pid = self.child.pid
        for _ in range(self.launch.depth):
            below = monitor.children(pid)
            pid = below[0] if below else pid
        return pid

    def stop(self, status: RunStatus) -> None:
        """End the program; the first reason counts."""
        if self.ended is not None:
            return
        self.ended = status
        with contextlib.suppress(OSError):
            self.ctl.shutdown(socket.SHUT_WR)
        loop = asyncio.get_running_loop()
        self.timers.append(loop.call_later(GRACE_S, self.child.kill))
