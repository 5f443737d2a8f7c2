"""Real clients of other projects against a real service: where they lie, and the service itself.

    tests/peers/install.sh NAME     puts a client into .cohort/peers/NAME, a virtual environment

A client that is not there is skipped, with that command as the reason.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.conftest import free_port

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "services.reward"]


@pytest.fixture(scope="session")
def reward_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A child `python -m services.reward` of the session."""
    port = free_port()
    log = tmp_path_factory.mktemp("reward") / "log"
    environment = os.environ | {"COHORT_PORT": str(port), "OMP_NUM_THREADS": "1"}
    models = {route: [{"verifier": "format"}] for route in ("/classify", "/v1/embeddings")}
    environment["COHORT_DIALECT_REWARDS"] = json.dumps(models)
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        child = subprocess.Popen(COMMAND, stdout=out, stderr=out, env=environment, cwd=ROOT)
    try:
        for _ in range(600):
            assert child.poll() is None, log.read_text()
            try:
                if httpx.get(f"{url}/health").is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        child.terminate()
        child.wait()


def run_with(peer: str, script: str, *arguments: str) -> str:
    """What a script prints in a peer's environment; skips when the peer is not there."""
    python = ROOT / ".cohort" / "peers" / peer / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{peer} is not installed: run tests/peers/install.sh {peer}")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [python, "-c", script, *arguments], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return done.stdout
