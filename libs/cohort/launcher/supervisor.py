"""Keeps a set of local processes alive: starts them in order, restarts what dies, stops them all.

One thread owns every child, for two reasons. The kernel's "kill me when my parent dies" means the
thread that started the child, so that thread must live as long as they do; and a thread is never
interrupted by Ctrl-C between starting a process and remembering it. This file knows nothing of
what the processes are.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

TICK_S = 0.1
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
STEADY_S = 60.0
"""A process that lived this long starts again after the first wait, not the longest."""
STACK_MARK = "COHORT_STACK_ID"
"""Environment variable by which everything that a stack started, however indirectly, is found."""


class StartError(Exception):
    """A process did not come up; the message has its last log lines."""


@dataclass(frozen=True)
class Spec:
    """A process to keep alive."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    missing: Callable[[], str | None]
    """None when the process can work, otherwise a phrase that says what it still lacks."""
    needs: tuple[str, ...] = ()
    """Names of processes that must be ready before this one is started."""
    stop_s: float = 8.0
    """Time to end after SIGTERM, before SIGKILL."""


@dataclass
class _Child:
    spec: Spec
    process: subprocess.Popen[bytes] | None = None
    ready: bool = False
    was_ready: bool = False
    lacks: str = "it was not started"
    started_at: float = 0.0
    next_start_at: float = 0.0
    wait_s: float = FIRST_WAIT_S


@dataclass
class Supervisor:
    """`start()` returns when every process is ready; `stop()` leaves none behind."""

    specs: Sequence[Spec]
    logs_dir: Path
    say: Callable[[str], None]
    """Receives one line for each thing that happens; called from the supervising thread."""
    on_change: Callable[[Mapping[str, int]], None] = lambda _: None
    """Receives the process ids by name whenever one changes."""
    stack_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self._children = {spec.name: _Child(spec) for spec in self.specs}
        self._ending = threading.Event()
        self._started = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def start(self, timeout_s: float = 180.0) -> None:
        """Start everything. Raises `StartError` when a process ends or is not ready in time."""
        for spec in self.specs:
            self._put_old_log_aside(spec.name)
        self._deadline = time.monotonic() + timeout_s
        self._thread.start()
        self._started.wait()
        self.check()

    def check(self) -> None:
        """Raise what ended the supervision, if something did."""
        if self._failure is not None:
            self.stop()
            raise self._failure

    def stop(self) -> None:
        """Stop everything, last started first. Can be called at any time and more than once."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join()

    def log_path(self, name: str) -> Path:
        """Where a process's output goes."""
        return self.logs_dir / f"{name}.log"

    def _put_old_log_aside(self, name: str) -> None:
        path = self.log_path(name)
        if path.exists():
            path.replace(path.with_suffix(".log.old"))

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                for child in self._children.values():
                    self._tend(child)
                if all(child.ready for child in self._children.values()):
                    self._started.set()
                self._ending.wait(TICK_S)
        except Exception as error:
            self._failure = error  # raised to whoever called start() or check()
        finally:
            self._stop_all()
            self._started.set()

    def _tend(self, child: _Child) -> None:
        now = time.monotonic()
        if child.process is None:
            ready = (self._children[name].was_ready for name in child.spec.needs)
            if now >= child.next_start_at and all(ready):
                self._launch(child)
        elif (code := child.process.poll()) is not None:
            self._buried(child, code, now)
        elif not child.ready:
            child.lacks = child.spec.missing() or ""
            child.ready = not child.lacks
            if child.ready:
                self.say(f"{child.spec.name} is ready{' again' if child.was_ready else ''}")
                child.was_ready = True
        if not child.was_ready and now > self._deadline:
            raise self._not_up(child, f"is not ready in time: {child.lacks}")

    def _launch(self, child: _Child) -> None:
        env = {**child.spec.env, STACK_MARK: self.stack_id, "COHORT_PARENT_PID": str(os.getpid())}
        with self.log_path(child.spec.name).open("ab") as log:
            child.process = subprocess.Popen(
                list(child.spec.argv),
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches us alone, and we stop them in order
            )
        child.started_at = time.monotonic()
        self._changed()

    def _buried(self, child: _Child, code: int, now: float) -> None:
        if not child.was_ready:
            raise self._not_up(child, f"ended while starting ({_ending(code)})")
        if now - child.started_at > STEADY_S:
            child.wait_s = FIRST_WAIT_S
        self.say(
            f"{child.spec.name} died ({_ending(code)}): starting it again in {child.wait_s:g} s;"
            f" its log is {self.log_path(child.spec.name)}"
        )
        child.process, child.ready = None, False
        child.next_start_at = now + child.wait_s
        child.wait_s = min(child.wait_s * 2, LONGEST_WAIT_S)
        self._changed()

    def _not_up(self, child: _Child, what: str) -> StartError:
        path = self.log_path(child.spec.name)
        lines = last_lines(path)
        said = "\n".join(f"  | {line}" for line in lines) if lines else "  | (nothing)"
        return StartError(f"{child.spec.name} {what}. The end of {path}:\n{said}")

    def _changed(self) -> None:
        running = {n: c.process.pid for n, c in self._children.items() if c.process is not None}
        self.on_change(running)

    def _stop_all(self) -> None:
        for child in reversed(self._children.values()):
            if child.process is not None:
                _end(child.process, child.spec.stop_s)
        kill_marked(self.stack_id)


def _end(process: subprocess.Popen[bytes], stop_s: float) -> None:
    """SIGTERM, then SIGKILL; then the same for what it had started itself."""
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    process.terminate()
    try:
        process.wait(stop_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for orphan in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            orphan.terminate()
    _, stubborn = psutil.wait_procs(family, timeout=2.0)
    for orphan in stubborn:
        with contextlib.suppress(psutil.NoSuchProcess):
            orphan.kill()


def marked(stack_id: str) -> list[psutil.Process]:
    """Every live process that a stack started, directly or not."""
    return [process for process in psutil.process_iter() if _mark(process) == stack_id]


def kill_marked(stack_id: str) -> None:
    """Kill whatever a stack's processes left behind, for example a learner without its trainer.

    Looks again until nothing is found, since a process can start another one while we look.
    """
    for _ in range(50):
        found = marked(stack_id)
        if not found:
            return
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(found, timeout=1.0)


def _mark(process: psutil.Process) -> str | None:
    try:
        mark: str | None = process.environ().get(STACK_MARK)
        return mark if process.status() != psutil.STATUS_ZOMBIE else None
    except (psutil.Error, OSError):
        return None


def last_lines(path: Path, num_lines: int = 12) -> list[str]:
    """The end of a log file, long lines cut."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 16_384))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [line[:300] for line in lines[-num_lines:]]


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
