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
import logging
import os
import signal
import socket
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cohort.contracts.sandbox import RunStatus
from services.sandbox.backends import monitor
from services.sandbox.backends.base import Job, Outcome, Stream
from services.sandbox.backends.verdict import Report, conclude

log = logging.getLogger("sandbox")

START_S = 20.0
"""A jail that is not ready by then is an infrastructure failure."""
GRACE_S = 1.0
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
    cpu_s = -(-limits.cpu_ms // 1_000)
    rlimits = {
        "CPU": cpu_s,  # per process; `watch` counts all together
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
        self.started = 0.0
        self.output: list[bytearray] = [bytearray(), bytearray()]
        self.total = [0, 0]
        self.timers: list[asyncio.TimerHandle] = []
        self.process: Process
        self.ctl: socket.socket

    async def run(self) -> Outcome:
        """Start, watch, and conclude."""
        ours, theirs = socket.socketpair()
        with ours:
            ours.setblocking(False)
            self.ctl = ours
            with theirs:
                self.process = await self._spawn(theirs.fileno())
            try:
                report = await self._watch_over()
            finally:
                await self._bury()
        return conclude(report, self.job.limits, self.launch.out_of_memory())

    async def _spawn(self, ctl: int) -> Process:
        launch = self.launch
        drop: dict[str, Any] = {}
        if launch.own_uid is not None:
            drop = {"user": launch.own_uid, "group": launch.own_uid, "extra_groups": []}
        return await asyncio.create_subprocess_exec(
            *command(self.job, launch, ctl),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            pass_fds=(ctl, *launch.fds),
            env=ENVIRONMENT | {"HOME": launch.home, "TMPDIR": launch.home},
            cwd=launch.cwd or "/",
            start_new_session=True,
            **drop,
        )

    async def _watch_over(self) -> Report:
        """Everything that runs at the same time, until the program and all its pipes are gone."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        pipes = [
            asyncio.create_task(self._drain(0, self.process.stdout)),
            asyncio.create_task(self._drain(1, self.process.stderr)),
        ]
        helpers: list[asyncio.Task[None]] = []
        begun, said = time.perf_counter(), []
        try:
            said = await self._talk(helpers)
            wall_ms = (time.perf_counter() - (self.started or begun)) * 1e3
            await asyncio.wait_for(asyncio.gather(*pipes, self.process.wait()), 2 * GRACE_S + 1)
        except TimeoutError:
            said = said or ["error infra it did not start or did not end in time"]
            wall_ms = (time.perf_counter() - (self.started or begun)) * 1e3
        finally:
            for timer in self.timers:
                timer.cancel()
            for task in (*pipes, *helpers):
                task.cancel()
            await asyncio.gather(*pipes, *helpers, return_exceptions=True)
        out, err = (Stream(bytes(b), n) for b, n in zip(self.output, self.total, strict=True))
        return Report(
            said, self.ended, self.cpu_ms, wall_ms, self.peak, out, err, self.process.returncode
        )

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
        helpers += [asyncio.create_task(self._feed()), asyncio.create_task(self._watch(inside))]
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

    async def _feed(self) -> None:
        pipe = self.process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError):  # the program may end without reading
            pipe.write(self.job.stdin)
            await pipe.drain()
            pipe.close()
            await pipe.wait_closed()

    async def _drain(self, which: int, pipe: asyncio.StreamReader) -> None:
        cap = self.job.limits.kill_bytes
        kept = self.output[which]
        while part := await pipe.read(65_536):
            self.total[which] += len(part)
            kept += part[: max(0, cap - len(kept))]
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
        pid = self.process.pid
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
        self.timers.append(loop.call_later(GRACE_S, self._kill))

    def _kill(self) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    async def _bury(self) -> None:
        """Nothing of the run survives this, however it was left."""
        if self.process.returncode is None:
            self._kill()
            try:
                await asyncio.wait_for(self.process.wait(), 5.0)
            except TimeoutError:
                log.error("a run's process %d survived SIGKILL", self.process.pid)
