"""A trainer with fake learners and fake neighbours; Redis is real or absent, never fake."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from cohort.config import RunConfig
from cohort.contracts.trainer import RunView
from services.trainer.app import create_app
from services.trainer.config import Settings
from services.trainer.worker import Trainer

FAKE_LEARNER = Path(__file__).with_name("fake_learner.py")
VERIFIERS = {
    "verifiers": [
        {
            "name": "math",
            "version": "1",
            "description": "",
            "deterministic": True,
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        }
    ]
}


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The trainer runs under uvicorn, which is asyncio."""
    return "asyncio"


def config_of(name: str = "ok", **changes: Any) -> dict[str, Any]:
    """A small run config; `name` chooses how the fake learner behaves."""
    return {
        "name": name,
        "model": {"path": "bundled:tiny-random"},
        "task": {"name": "arithmetic", "args": {"operation": "add", "low": 1, "high": 20}},
        "algorithm": {"name": "grpo", "group_size": 2},
        "rewards": [{"verifier": "math"}],
        "steps": 3,
        **changes,
    }


@pytest.fixture
def config() -> Callable[..., dict[str, Any]]:
    """Makes run configs."""
    return config_of


@pytest.fixture
def unused_port() -> int:
    """A port that the kernel chose."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Rig:
    """A trainer, and a client at its door."""

    def __init__(self, settings: Settings, neighbours: httpx.AsyncBaseTransport) -> None:
        self.settings = settings
        self.worker = Trainer.build(settings, neighbours)
        self.app = create_app(self.worker, settings)
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url="http://trainer"
        )

    def run_config(self, name: str, **changes: Any) -> RunConfig:
        return RunConfig.from_dict(config_of(name, **changes))

    async def submit(self, name: str, **changes: Any) -> str:
        return (await self.worker.supervisor.submit(self.run_config(name, **changes))).run_id

    def view(self, run_id: str) -> RunView:
        return self.worker.registry.view(run_id)

    def lives(self, run_id: str) -> list[dict[str, Any]]:
        from services.trainer.run_files import iter_rows

        return list(iter_rows(self.settings.runs_dir / run_id / "lives.jsonl"))

    async def wait(self, what: Callable[[], Any], within_s: float = 30.0) -> Any:
        """Until `what` is true; what it gave."""
        until = time.monotonic() + within_s
        while not (value := what()):
            assert time.monotonic() < until, "it did not happen in time"
            await asyncio.sleep(0.01)
        return value

    async def until(self, run_id: str, *states: str) -> RunView:
        """The run, once it is in one of the states."""
        await self.wait(lambda: self.view(run_id).state in states)
        return self.view(run_id)


def neighbours(request: httpx.Request) -> httpx.Response:
    """A reward service that knows `math`; nobody else answers."""
    if request.url.port == 8002 and request.url.path == "/v1/verifiers":
        return httpx.Response(200, json=VERIFIERS)
    raise httpx.ConnectError("connection refused")


@pytest.fixture
def fake_neighbours() -> Callable[[httpx.Request], httpx.Response]:
    """The neighbours that a rig has unless a test brings its own."""
    return neighbours


@pytest.fixture
def make_rig(tmp_path: Path, valkey: str) -> Callable[..., Any]:
    """`async with make_rig(**settings) as rig`: a trainer that is started and stopped."""

    @asynccontextmanager
    async def rig(
        transport: Callable[[httpx.Request], httpx.Response] = neighbours, **changes: Any
    ) -> AsyncIterator[Rig]:
        settings = Settings(
            **{
                "redis_url": valkey,
                "runs_dir": tmp_path / "runs",
                "state_dir": tmp_path / "state",
                "learner_command": (sys.executable, str(FAKE_LEARNER)),
                "backoff_s": 0.01,
                "poll_s": 0.02,
                "kill_grace_s": 0.2,
                **changes,
            }
        )
        made = Rig(settings, httpx.MockTransport(transport))
        await made.worker.supervisor.start()
        try:
            yield made
        finally:
            await made.worker.supervisor.stop()
            await made.http.aclose()

    return rig


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Asks whether a process runs."""
    return is_alive
