"""The supervisor: order, restarts, clear failures, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from cohort.launcher.supervisor import Spec, StartError, Supervisor, marked

SLEEPER = "import time; time.sleep(60)"


def spec(name: str, code: str, ready: Callable[[], bool] = lambda: True, **more: object) -> Spec:
    def missing() -> str | None:
        return None if ready() else "its file is not there"

    return Spec(name, (sys.executable, "-c", code), dict(os.environ), missing, **more)  # type: ignore[arg-type]


def until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_process_starts_after_what_it_needs_and_stops_before_it(tmp_path: Path) -> None:
    said: list[str] = []
    pids: dict[str, int] = {}
    code = (
        "import signal, sys, time; from pathlib import Path\n"
        "name = sys.argv[1]; log = Path('{}')\n"
        "def end(*_):\n"
        "    with log.open('a') as f: f.write(name + ' ends\\n')\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "with log.open('a') as f: f.write(name + ' starts\\n')\n"
        "time.sleep(60)"
    ).format(tmp_path / "order")

    def make(name: str, **more: object) -> Spec:
        def missing() -> str | None:
            order = tmp_path / "order"
            return None if order.exists() and f"{name} starts" in order.read_text() else "no line"

        argv = (sys.executable, "-c", code, name)
        return Spec(name, argv, dict(os.environ), missing, **more)  # type: ignore[arg-type]

    specs = [make("queue"), make("worker", needs=("queue",))]
    supervisor = Supervisor(specs, tmp_path, said.append, pids.update)
    supervisor.start(timeout_s=20)
    assert set(pids) == {"queue", "worker"}
    supervisor.stop()
    lines = (tmp_path / "order").read_text().splitlines()
    assert lines == ["queue starts", "worker starts", "worker ends", "queue ends"]
    assert all(gone(pid) for pid in pids.values())
    assert said == ["queue is ready", "worker is ready"]


def test_what_dies_is_started_again_and_said(tmp_path: Path) -> None:
    said: list[str] = []
    pids: dict[str, int] = {}
    supervisor = Supervisor([spec("reward", SLEEPER)], tmp_path, said.append, pids.update)
    supervisor.start(timeout_s=20)
    first = pids["reward"]
    os.kill(first, signal.SIGKILL)
    until(lambda: pids["reward"] != first and "reward is ready again" in said)
    supervisor.stop()
    assert gone(pids["reward"])
    assert said[1].startswith("reward died (SIGKILL): starting it again in 1 s")


def test_a_process_that_ends_at_once_shows_its_last_words(tmp_path: Path) -> None:
    bad = spec("trainer", "import sys; sys.exit('no such folder: /x')", ready=lambda: False)
    supervisor = Supervisor([spec("queue", SLEEPER), bad], tmp_path, lambda _: None)
    words = r"trainer ended while starting \(exit code 1\)[^|]*\| no such folder: /x"
    with pytest.raises(StartError, match=words):
        supervisor.start(timeout_s=20)
    assert not marked(supervisor.stack_id)


def test_a_process_that_is_not_ready_in_time_says_what_it_lacks(tmp_path: Path) -> None:
    supervisor = Supervisor(
        [spec("generator", SLEEPER, ready=lambda: False)], tmp_path, lambda _: None
    )
    with pytest.raises(StartError, match="generator is not ready in time: its file is not there"):
        supervisor.start(timeout_s=0.5)
    assert not marked(supervisor.stack_id)


def test_stop_kills_what_ignores_sigterm_and_what_was_orphaned(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    code = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {deaf + 'time.sleep(60)'!r}],"
        " start_new_session=True)\n"
        f"{deaf}\n"
        f"open({str(ready)!r}, 'w').close()\n"
        "time.sleep(60)"
    )
    pids: dict[str, int] = {}
    stubborn = spec("trainer", code, ready=ready.exists, stop_s=0.3)
    supervisor = Supervisor([stubborn], tmp_path, lambda _: None, pids.update)
    supervisor.start(timeout_s=20)
    first = pids["trainer"]
    os.kill(first, signal.SIGKILL)  # its child lives on, without a parent that we know
    until(lambda: pids["trainer"] != first)
    assert len(marked(supervisor.stack_id)) >= 2
    supervisor.stop()
    assert not marked(supervisor.stack_id)


def test_a_tied_command_dies_with_its_parent(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    command = ["/bin/sh", "-c", f"echo $$ > {file}; exec sleep 60"]
    code = (
        "import os, subprocess, sys\n"
        "tie = [sys.executable, '-m', 'cohort.processes', str(os.getpid())]\n"
        f"subprocess.run([*tie, *{command!r}])"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    until(lambda: file.exists() and file.read_text() != "")
    pid = int(file.read_text())
    assert not gone(pid)
    parent.kill()
    parent.wait()
    until(lambda: gone(pid))
