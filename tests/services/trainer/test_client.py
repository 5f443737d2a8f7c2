"""TrainerClient against a trainer in a process of its own: events, restarts, kill -9."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cohort.clients import ServiceError, TrainerClient
from cohort.contracts.trainer import ENDED, RunView

FAKE_LEARNER = Path(__file__).with_name("fake_learner.py")


class Served:
    """`python -m services.trainer` on a port of its own."""

    def __init__(self, env: dict[str, str], port: int) -> None:
        self.env, self.url = env | {"COHORT_PORT": str(port)}, f"http://127.0.0.1:{port}"
        self.client = TrainerClient(self.url, retry_for_s=20.0)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "services.trainer"], env=self.env, stderr=subprocess.DEVNULL
        )

    def end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.wait(20.0)

    def until(self, run_id: str, *states: str) -> RunView:
        deadline = time.monotonic() + 40.0
        while (view := self.client.run(run_id)).state not in states:
            assert time.monotonic() < deadline, view
            time.sleep(0.05)
        return view


@pytest.fixture
def served(tmp_path: Path, valkey: str, unused_port: int) -> Iterator[Served]:
    env = os.environ | {
        "COHORT_REDIS_URL": valkey,
        "COHORT_RUNS_DIR": str(tmp_path / "runs"),
        "COHORT_STATE_DIR": str(tmp_path / "state"),
        "COHORT_LEARNER_COMMAND": json.dumps([sys.executable, str(FAKE_LEARNER)]),
        "COHORT_POLL_S": "0.05",
        "COHORT_REWARD_URL": "http://127.0.0.1:1",
    }
    trainer = Served(env, unused_port)
    yield trainer
    trainer.client.close()
    if trainer.process.poll() is None:
        trainer.end(signal.SIGKILL)


def test_the_client_starts_follows_and_reads_a_run(served: Served, config: Any) -> None:
    client = served.client
    started = client.start(config())
    events = list(client.events(started.run_id))
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    states = [event.data["state"] for event in events if event.type == "state"]
    assert (states[0], states[-1]) == ("queued", "succeeded")
    assert [event.data["step"] for event in events if event.type == "step"] == [1, 2, 3]
    later = list(client.events(started.run_id, after=events[2].id))
    assert later == events[3:]
    assert list(client.events(started.run_id, after=len(events))) == []

    run_id = started.run_id
    check_wire(f"{served.url}/runs/{run_id}/events", 1, len(events))
    assert client.run(run_id).state == "succeeded"
    assert [run.run_id for run in client.runs().runs] == [run_id]
    assert [row["step"] for row in client.metrics(run_id, since=1).rows] == [2, 3]
    assert client.completions(run_id, step=3, purpose="eval").rows[0]["prompt"] == "1 + 1"
    assert client.config(run_id)["name"] == "ok"
    assert client.dry_run(config()).checks
    assert client.start(config(), "key").run_id == client.start(config(), "key").run_id
    with pytest.raises(ServiceError, match="no run nobody"):
        list(client.events("nobody"))
    with pytest.raises(ServiceError, match="already succeeded") as refused:
        client.cancel(run_id)
    assert (refused.value.status, refused.value.code) == (409, "wrong_state")


def check_wire(url: str, last_event_id: int, last: int) -> None:
    """One event per message, its id in front; nothing more is 204, which ends an EventSource."""
    response = httpx.get(url, headers={"Last-Event-ID": str(last_event_id)})
    assert response.headers["content-type"].startswith("text/event-stream")
    retry, *messages = response.text.strip().split("\n\n")
    assert retry == "retry: 1000"
    for number, message in enumerate(messages, last_event_id + 1):
        first, kind, data = message.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert (first, kind) == (f"id: {number}", f"event: {event['type']}")
    assert number == last
    assert httpx.get(url, headers={"Last-Event-ID": str(last)}).status_code == 204
    assert httpx.get(url, headers={"Last-Event-ID": "x"}).status_code == 422


def test_events_end_when_the_run_pauses(served: Served, config: Any) -> None:
    run_id = served.client.start(config("obey")).run_id
    seen = []
    for event in served.client.events(run_id):
        seen.append(event)
        if event.data.get("state") == "running":
            served.client.pause(run_id)
    assert seen[-1].data["state"] == "paused"
    served.client.resume(run_id)
    rest = list(served.client.events(run_id, after=seen[-1].id))
    assert rest[-1].data["state"] == "succeeded"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_trainer_that_ends_and_starts_again_carries_on(
    served: Served, config: Any, alive: Callable[[int], bool], how: signal.Signals, tmp_path: Path
) -> None:
    """Its learner dies with it, the next one resumes, and who follows the run misses nothing."""
    run_id = served.client.start(config("obey")).run_id
    served.until(run_id, "running")
    seen: list[int] = []
    follower = threading.Thread(
        target=lambda: seen.extend(event.id for event in served.client.events(run_id))
    )
    follower.start()
    lives = tmp_path / "runs" / run_id / "lives.jsonl"
    first = json.loads(lives.read_text())["pid"]
    served.end(how)
    deadline = time.monotonic() + 10.0
    while alive(first):
        assert time.monotonic() < deadline, "the learner outlived its trainer"
        time.sleep(0.02)
    if how is signal.SIGKILL:
        release_lease(served.env["COHORT_REDIS_URL"], run_id)
    served.start()
    view = served.until(run_id, *ENDED)
    assert view.state == "succeeded"
    assert len(lives.read_text().splitlines()) == 2
    follower.join(20.0)
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) > 3


def release_lease(url: str, run_id: str) -> None:
    """Nobody renews the dead learner's lease: it would run out by itself, later."""
    from cohort.rollouts.queue import RolloutQueue

    queue = RolloutQueue.from_url(url)
    assert queue.learner_alive(run_id)
    queue.release_learner(run_id)
    queue.close()
