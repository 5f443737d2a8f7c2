"""The embedded stack as a person meets it: real processes, started and ended every way there is."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cohort.launcher import Stack, StackError, StackPlan, running_stack
from cohort.launcher.specs import make_specs

COHORT = (sys.executable, "-c", "import sys; from cohort.cli import main; sys.exit(main())")


def until(condition: Callable[[], Any], timeout_s: float = 60.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.05)


def free_base() -> int:
    """A port base whose four ports are free right now."""
    for base in range(20_000 + os.getpid() % 1000 * 10, 60_000, 10):
        with socket.socket() as a, socket.socket() as b:
            try:
                a.bind(("127.0.0.1", base))
                b.bind(("127.0.0.1", base + 3))
            except OSError:
                continue
            return base
    raise AssertionError("no free ports")


def processes_of(state: Path) -> list[int]:
    """Live processes that belong to a state folder, the launcher not among them."""
    found = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get("COHORT_TEST_STACK") == str(state)
            if mine and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


class Up:
    """`cohort up` in a process of its own."""

    def __init__(self, folder: Path, *more: str, only: str = "valkey,sandbox") -> None:
        self.state = folder / ".cohort"
        self.base = free_base()
        command = [*COHORT, "up", "--only", only, "--port-base", str(self.base), *more]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "COHORT_TEST_STACK": str(self.state)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_up(self) -> dict[str, Any]:
        """What stack.json says once everything is ready."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("the stack is up"):
                view: dict[str, Any] = json.loads((self.state / "stack.json").read_text())
                return view
        raise AssertionError("the stack did not come up")

    def left(self) -> list[int]:
        """Processes that outlived the launcher."""
        return [pid for pid in processes_of(self.state) if pid != self.process.pid]

    def end(self) -> tuple[int, str]:
        """Exit code and the rest of the output."""
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, out


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def make(*args: str, **kwargs: str) -> Up:
        started.append(Up(tmp_path, *args, **kwargs))
        return started[-1]

    yield make
    for up in started:
        up.process.kill()
        up.end()


def cohort(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COHORT, *args], cwd=folder, capture_output=True, text=True, timeout=60)


def test_up_tells_where_everything_is_and_down_leaves_nothing(
    start: Callable[..., Up], tmp_path: Path
) -> None:
    up = start()
    view = up.wait_up()
    assert view["ports"] == {"sandbox": up.base + 3}
    assert set(view["pids"]) == {"valkey", "sandbox"}
    assert all(psutil.pid_exists(pid) for pid in view["pids"].values())
    assert (up.state / "valkey").stat().st_mode & 0o777 == 0o700
    assert running_stack(up.state) is not None

    second = cohort(tmp_path, "up", "--port-base", str(free_base()))
    assert second.returncode == 1
    assert f"a stack already runs in {up.state} (process {view['pid']})" in second.stderr
    assert "Traceback" not in second.stderr

    down = cohort(tmp_path, "down", "--json")
    assert json.loads(down.stdout) == {"stopped": True, "pid": view["pid"]}
    assert up.end()[0] == 0
    assert up.left() == []
    assert not (up.state / "stack.json").exists()
    assert running_stack(up.state) is None
    assert json.loads(cohort(tmp_path, "down", "--json").stdout) == {"stopped": False}


def test_a_killed_launcher_leaves_no_process(start: Callable[..., Up]) -> None:
    up = start()
    view = up.wait_up()
    assert set(view["pids"].values()) <= set(up.left())
    up.process.kill()
    up.process.wait()
    until(lambda: not up.left())
    assert running_stack(up.state) is None  # whatever stack.json says


@pytest.mark.parametrize("wait_for_processes", [0, 1, 2])
def test_ctrl_c_while_starting_leaves_no_process(
    start: Callable[..., Up], wait_for_processes: int
) -> None:
    up = start()
    assert up.process.stdout is not None
    up.process.stdout.readline()
    until(lambda: len(up.left()) >= wait_for_processes)
    up.process.send_signal(signal.SIGINT)
    code, out = up.end()
    assert code == 130
    assert "Traceback" not in out
    assert up.left() == []


def test_what_dies_comes_back_on_the_same_port(start: Callable[..., Up]) -> None:
    up = start()
    before = up.wait_up()
    os.kill(before["pids"]["valkey"], signal.SIGKILL)
    assert up.process.stdout is not None
    died, back = (up.process.stdout.readline() for _ in range(2))
    assert died.startswith("valkey died (SIGKILL): starting it again in 1 s")
    assert back.startswith("valkey is ready again")
    after = json.loads((up.state / "stack.json").read_text())
    assert after["redis_url"] == before["redis_url"]
    assert after["pids"]["valkey"] != before["pids"]["valkey"]


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        base = port - 2
        answer = cohort(tmp_path, "up", "--only", "reward", "--port-base", str(base))
    assert answer.returncode == 1
    assert f"port {port}, which reward needs, is taken by another program" in answer.stderr
    assert "--port-base" in answer.stderr
    assert running_stack(tmp_path / ".cohort") is None


def test_the_base_moves_on_when_its_ports_are_taken(tmp_path: Path) -> None:
    plan = StackPlan(state_dir=tmp_path, port_base=None, only=frozenset({"sandbox"}))
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", 8003))
            other.listen()
        except OSError:
            pass  # somebody else has it: all the better
        assert Stack(plan, print)._choose_ports() > 8000


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://127.0.0.1:1/0", "Redis at 127.0.0.1:1 cannot be used: .*: start that Redis, or"),
        ("redis://127.0.0.1:port/0", "is not a Redis URL: "),
    ],
)
def test_a_redis_that_is_not_there_is_named_at_once(tmp_path: Path, url: str, words: str) -> None:
    plan = StackPlan(tmp_path / "runs", tmp_path, only=frozenset({"rollout"}), redis_url=url)
    with pytest.raises(StackError, match=words):
        Stack(plan, lambda _: None).__enter__()
    assert running_stack(tmp_path) is None


def test_an_unknown_service_is_named(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="cannot start 'learner': the services are valkey, sand"):
        Stack(StackPlan(state_dir=tmp_path, only=frozenset({"learner"})), print)


def test_torch_processes_share_the_cores_and_sleep_while_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    specs = make_specs(StackPlan(workers=2), tmp_path, 9000, "redis://127.0.0.1:1/0", 1)
    by_name = {spec.name: spec for spec in specs}
    assert list(by_name) == [
        *("valkey", "sandbox", "reward", "generator", "trainer"),
        *("rollout-1", "rollout-2"),
    ]
    cores = str(len(os.sched_getaffinity(0)))
    for who in ("generator", "trainer"):
        env = by_name[who].env
        assert env["OMP_NUM_THREADS"] == cores
        assert (env["OMP_WAIT_POLICY"], env["KMP_BLOCKTIME"]) == ("PASSIVE", "0")
    assert {by_name[w].env["OMP_NUM_THREADS"] for w in ("reward", "sandbox", "rollout-1")} == {"1"}
    ports = {w: by_name[w].env["COHORT_PORT"] for w in ("trainer", "generator", "reward")}
    assert ports == {"trainer": "9000", "generator": "9001", "reward": "9002"}
    assert by_name["rollout-2"].env["COHORT_REWARD_URL"] == "http://127.0.0.1:9002"


def test_valkey_keeps_everything_and_listens_on_loopback_alone(tmp_path: Path) -> None:
    plan = StackPlan(only=frozenset({"valkey"}))
    (valkey,) = make_specs(plan, tmp_path, 8000, "redis://127.0.0.1:7/0", 7)
    command = " ".join(valkey.argv)
    for setting in (
        "--bind 127.0.0.1",
        "--appendonly yes",
        "--appendfsync everysec",
        "--maxmemory-policy noeviction",
        f"--dir {tmp_path / 'valkey'}",
    ):
        assert setting in command


def test_a_service_elsewhere_keeps_its_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COHORT_REWARD_URL", "http://reward.example:1")
    monkeypatch.setenv("COHORT_SANDBOX_URL", "http://sandbox.example:1")
    plan = StackPlan(only=frozenset({"reward"}))
    (reward,) = make_specs(plan, tmp_path, 9000, None, None)
    assert reward.env["COHORT_REWARD_URL"] == "http://127.0.0.1:9002"
    assert reward.env["COHORT_SANDBOX_URL"] == "http://sandbox.example:1"
