"""One embedded stack: takes its lock and ports, starts its processes, writes who runs where."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cohort.launcher.readiness import http_missing, redis_missing
from cohort.launcher.specs import DEFAULT_PORT_BASE, SERVICES, StackPlan, make_specs
from cohort.launcher.supervisor import Supervisor
from cohort.run_folder import read_json, write_json

LOCK_TRIES = 10
"""Whoever asks whether a stack runs holds the lock for a moment."""


class StackError(Exception):
    """The stack cannot start; the message says why and what to do."""


@dataclass(frozen=True)
class StackView:
    """A running stack, as stack.json tells it."""

    pid: int
    """Of the launcher."""
    urls: dict[str, str]
    redis_url: str | None
    pids: dict[str, int]


class Stack:
    """A context that starts the stack on entry and leaves no process behind on exit."""

    def __init__(self, plan: StackPlan, say: Callable[[str], None]) -> None:
        unknown = sorted(plan.only - set(SERVICES))
        if unknown or not plan.only:
            what = repr(unknown[0]) if unknown else "nothing"
            raise StackError(f"cannot start {what}: the services are {', '.join(SERVICES)}")
        self.plan, self.say = plan, say
        self.folder = (plan.folder or plan.state_dir).absolute()
        self.file = self.folder / "stack.json"
        self.urls: dict[str, str] = {}
        self.redis_url = plan.redis_url
        self._lock: int | None = None
        self._supervisor: Supervisor | None = None

    def __enter__(self) -> "Stack":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, timeout_s: float = 180.0) -> None:
        """Start everything and wait until it can work.

        Raises `StackError` (already running, port taken) or `StartError` (a process does not come
        up).
        """
        self._make_folders()
        self._take_lock()
        self._check_redis()
        base = self._choose_ports()
        self.urls = {w: f"http://127.0.0.1:{port}" for w, port in self.plan.ports(base).items()}
        valkey_port = _free_port() if self.plan.starts_valkey else None
        if valkey_port is not None:
            self.redis_url = f"redis://127.0.0.1:{valkey_port}/0"
        self._supervisor = Supervisor(
            specs=make_specs(self.plan, self.folder, base, self.redis_url, valkey_port),
            logs_dir=self.folder / "logs",
            say=self.say,
            on_change=self._record,
        )
        self._supervisor.start(timeout_s)
        for who in ("sandbox", "reward"):
            lacks = http_missing(self.urls[who], "/ready") if who in self.urls else None
            if lacks:
                self.say(f"note: {who} cannot do all of its work: {lacks}")

    def check(self) -> None:
        """Raise what ended the supervision, if something did."""
        if self._supervisor is not None:
            self._supervisor.check()

    def stop(self) -> None:
        """Stop everything; can be called at any time and more than once."""
        if self._supervisor is not None:
            self._supervisor.stop()
        if self._lock is not None:
            self.file.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def _make_folders(self) -> None:
        try:
            self.plan.runs_dir.mkdir(parents=True, exist_ok=True)
            for folder in (self.folder, self.folder / "logs", self.folder / "valkey"):
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(0o700)
        except OSError as error:
            raise StackError(f"cannot use {error.filename}: {error.strerror}") from None

    def _take_lock(self) -> None:
        lock = _try_lock(self.folder)
        for _ in range(LOCK_TRIES):
            if lock is not None:
                break
            time.sleep(0.05)
            lock = _try_lock(self.folder)
        if lock is None:
            running = running_stack(self.folder)
            who = f" (process {running.pid})" if running else ""
            raise StackError(
                f"a stack already runs in {self.folder}{who}: stop it with `cohort down`,"
                " or give this one another folder with --state"
            )
        self._lock = lock

    def _check_redis(self) -> None:
        """Services wait for a Redis that is away; whoever named one should hear of it at once."""
        url = self.plan.redis_url
        if url is None or not any(map(self.plan.needs_queue, self.plan.only)):
            return
        lacks = redis_missing(url)
        if lacks:
            raise StackError(
                f"{lacks.rstrip('.')}: start that Redis, or leave --redis out for an own Valkey"
            )

    def _choose_ports(self) -> int:
        base = self.plan.port_base
        if base is not None:
            for who, port in self.plan.ports(base).items():
                if not _is_free(port):
                    raise StackError(
                        f"port {port}, which {who} needs, is taken by another program: stop that"
                        f" program, or choose others, for example --port-base {base + 100}"
                    )
            return base
        for base in range(DEFAULT_PORT_BASE, DEFAULT_PORT_BASE + 1000, 10):
            if all(map(_is_free, self.plan.ports(base).values())):
                return base
        raise StackError("no four ports in a row are free between 8000 and 9000")

    def _record(self, pids: Mapping[str, int]) -> None:
        view = {
            "pid": os.getpid(),
            "started_at": time.time(),
            "urls": self.urls,
            "ports": {who: int(url.rsplit(":", 1)[1]) for who, url in self.urls.items()},
            "redis_url": self.redis_url,
            "runs_dir": str(self.plan.runs_dir.absolute()),
            "logs": str(self.folder / "logs"),
            "pids": dict(pids),
        }
        write_json(self.file, view)


def running_stack(folder: Path) -> StackView | None:
    """The stack that runs in a folder; None when there is none, whatever a crash left there."""
    if not (folder / "lock").exists():
        return None
    lock = _try_lock(folder)
    if lock is not None:
        os.close(lock)
        return None
    try:
        data = read_json(folder / "stack.json")
        return StackView(data["pid"], data["urls"], data["redis_url"], data["pids"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return None  # it is only just starting, or ending


def _try_lock(folder: Path) -> int | None:
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
