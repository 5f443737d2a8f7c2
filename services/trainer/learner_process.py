"""One life of a learner: a process group of its own that ends when this process ends."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from services.trainer.config import Settings

_LOG_TAIL_BYTES = 16384
_LOG_TAIL_LINES = 8
_FULL_BYTES = 2**20


def learner_command(settings: Settings, run_id: str, world_size: int) -> list[str]:
    """The program that trains a run; several ranks are started by torchrun."""
    if settings.learner_command:
        return [*settings.learner_command, "--run-id", run_id]
    learner = ["-m", "services.trainer.learner", "--run-id", run_id]
    if world_size == 1:
        return [sys.executable, *learner]
    # torchrun is not ours and does not ask to die with its parent: this wrapper does it before
    # it becomes torchrun. The ranks then die with torchrun.
    tied = [sys.executable, "-m", "cohort.processes", str(os.getpid())]
    ranks = ["--standalone", "--nproc-per-node", str(world_size)]
    return [*tied, sys.executable, "-m", "torch.distributed.run", *ranks, *learner]


def learner_environment(settings: Settings) -> dict[str, str]:
    """This process's environment with what the learner must know, paths made absolute."""
    return os.environ | {
        "COHORT_RUNS_DIR": str(settings.runs_dir.resolve()),
        "COHORT_STATE_DIR": str(settings.state_dir.resolve()),
        "COHORT_REDIS_URL": settings.redis_url,
        "COHORT_LOG_LEVEL": settings.log_level,
        "COHORT_PARENT_PID": str(os.getpid()),
    }


class LearnerProcess:
    """Start it, watch it, stop it. Its output is appended to `log_path`."""

    def __init__(self, command: Sequence[str], env: dict[str, str], log_path: Path) -> None:
        self.command, self.env, self.log_path = list(command), env, log_path
        self._process: asyncio.subprocess.Process | None = None
        self._ended: asyncio.Task[int] | None = None

    async def start(self) -> None:
        """Raises `OSError` when the program cannot be started."""
        with self.log_path.open("ab") as log_file:
            # The kernel's "die with your parent" means the thread that forks: this is the event
            # loop's, which lives as long as the process.
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                env=self.env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log_file,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        self._ended = asyncio.create_task(self._process.wait())

    async def ended(self, within_s: float) -> int | None:
        """The exit code (negative: the signal), or None when it is still alive after `within_s`."""
        assert self._ended is not None
        await asyncio.wait({self._ended}, timeout=within_s)
        if not self._ended.done():
            return None
        self.send(signal.SIGKILL)  # what the learner started and left behind
        return self._ended.result()

    def send(self, number: signal.Signals) -> None:
        """Signal the whole group."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def stop(self, grace_s: float) -> int:
        """SIGTERM, `grace_s` later SIGKILL; returns when it is gone."""
        self.send(signal.SIGTERM)
        code = await self.ended(grace_s)
        while code is None:
            self.send(signal.SIGKILL)
            code = await self.ended(1.0)
        return code


def describe_exit(code: int) -> str:
    """An exit code for people."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ", perhaps for lack of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}"


def describe_death(code: int, log_path: Path) -> str:
    """An exit code for people; a full disk is named, since nobody can write that into a file."""
    try:
        full = shutil.disk_usage(log_path.parent).free < _FULL_BYTES
        full = full or (code > 0 and "No space left on device" in log_tail(log_path))
    except OSError:
        full = False
    hint = f", the disk of {log_path.parent} is full" if full else ""
    return f"{describe_exit(code)}{hint}"


def log_tail(path: Path) -> str:
    """The last lines of a log; empty when there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOG_TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(line[:500] for line in text.splitlines()[-_LOG_TAIL_LINES:])
