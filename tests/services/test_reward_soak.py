"""Hundreds of clients, some of which go away: nothing leaks, and every score is its own item's."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import anyio
import httpx
import psutil
import pytest

from cohort.web import serve
from services.reward.app import create_app
from services.reward.cache import MemoryCache
from services.reward.config import Settings
from services.reward.grader import Grader
from services.reward.verifiers.base import Outcome, Params, Verifier
from services.reward.verifiers.math import MathVerifier

SECONDS = float(os.environ.get("COHORT_SOAK_S", "60"))
CLIENTS = 200
GROWTH_MB = 40


class Slow(Verifier[Params]):
    """Takes its time; the value follows from the completion."""

    name, version, description, params = "slow", "1", "slow", Params

    async def score(self, answers, params, outcomes):
        for place, answer in enumerate(answers):
            await anyio.sleep(0.002 * (len(answer.completion) % 5))
            outcomes[place] = Outcome(slow_value(answer.completion))


def slow_value(completion):
    return float(sum(completion.encode()) % 97)


def main():
    """The service with a slow verifier, and a route that tells how many tasks there are."""
    verifiers = {"math": MathVerifier(), "slow": Slow()}
    grader = Grader(verifiers, cache=MemoryCache(max_entries=2_000))
    settings = Settings(log_level="warning")
    app = create_app(grader, settings)

    @app.get("/tasks")
    async def tasks() -> dict[str, int]:
        return {"tasks": len(asyncio.all_tasks()), "pending": grader.pending_items}

    serve(app, settings, int(sys.argv[1]))


def draw_request(draw):
    """A request and the scores that it must get."""
    items, expected = [], {}
    for number in range(draw.randint(1, 24)):
        answer, truth = draw.randrange(40), draw.randrange(40)
        text = f"{'Well. ' * draw.randrange(6)}The answer is {answer}."
        both = draw.random() < 0.3
        item = {"id": f"{number}-{draw.random()}", "completion": text, "ground_truth": str(truth)}
        if both:
            item["rewards"] = [{"verifier": "math"}, {"verifier": "slow", "weight": 0.5}]
        items.append(item)
        expected[item["id"]] = float(answer == truth) + (0.5 * slow_value(text) if both else 0.0)
    mode = draw.choice(["use", "use", "refresh", "off"])
    return {"items": items, "rewards": [{"verifier": "math"}], "cache": mode}, expected


async def client(url, seed, until, counts):
    """Ask again and again; hang up on every fifth request or so."""
    draw = random.Random(seed)
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:
        while time.monotonic() < until:
            body, expected = draw_request(draw)
            patience_s = draw.uniform(0.0, 0.2) if draw.random() < 0.2 else 120
            with anyio.move_on_after(patience_s):
                results = (await http.post("/v1/score", json=body)).json()["results"]
                assert [r["id"] for r in results] == list(expected)
                assert {r["id"]: r["score"] for r in results} == expected
                counts["answered"] += 1
                continue
            counts["given_up"] += 1


async def storm(url, seconds, counts):
    until = time.monotonic() + seconds
    async with anyio.create_task_group() as group:
        for seed in range(CLIENTS):
            group.start_soon(client, url, seed, until, counts)


def calm(url, process):
    """What the service holds when nobody asks."""
    for _ in range(100):
        state = httpx.get(f"{url}/tasks").json()
        if state["pending"] == 0 and state["tasks"] <= 8:
            break
        time.sleep(0.1)
    measured = psutil.Process(process.pid)
    return {
        **state,
        "threads": measured.num_threads(),
        "fds": measured.num_fds(),
        "rss_mb": measured.memory_info().rss / 2**20,
    }


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 3 + 240)
def test_nothing_leaks_and_no_score_goes_astray():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([sys.executable, __file__, str(port)], env=env)
    url = f"http://127.0.0.1:{port}"
    counts = {"answered": 0, "given_up": 0}
    try:
        while True:
            try:
                httpx.get(f"{url}/health")
                break
            except httpx.TransportError:
                assert process.poll() is None
                time.sleep(0.1)
        anyio.run(storm, url, SECONDS / 4, counts)  # caches and pools fill up
        before = calm(url, process)
        anyio.run(storm, url, SECONDS * 3 / 4, counts)
        after = calm(url, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    print(counts, before, after)  # noqa: T201
    assert counts["answered"] > CLIENTS
    assert counts["given_up"] > CLIENTS / 10
    assert after["pending"] == 0
    assert after["tasks"] <= before["tasks"] + 2
    assert after["threads"] <= before["threads"] + 2
    assert after["fds"] <= before["fds"] + 4
    assert after["rss_mb"] <= before["rss_mb"] + GROWTH_MB


if __name__ == "__main__":
    main()
