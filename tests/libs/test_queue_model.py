"""The queue as a state machine: random interleavings of learners and workers that die at will."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cohort.contracts.queue import GroupMessage, PromptInput, PromptMessage, Sampling
from cohort.rollouts.queue import Delivered, Fenced, RolloutQueue

CAPACITY = 3
WORKERS = ("anna", "bert")
RUN = "machine"


def make_prompt(group_id: str, step: int = 1, purpose: Any = "train") -> PromptMessage:
    sampling = Sampling(num_completions=2, max_new_tokens=4, temperature=1.0, seed=0)
    return PromptMessage(
        run_id=RUN,
        group_id=group_id,
        step=step,
        purpose=purpose,
        prompts=(PromptInput(text="1 + 1 ="),),
        rewards=(),
        sampling=sampling,
    )


def answer(prompt: PromptMessage) -> GroupMessage:
    return GroupMessage(
        run_id=prompt.run_id,
        group_id=prompt.group_id,
        step=prompt.step,
        purpose=prompt.purpose,
        status="failed",
        reason="deadline: for the test",
    )


class QueueMachine(RuleBasedStateMachine):
    """A model of what must be where: every id is waiting, admitted, delivered or acknowledged."""

    url: str

    def __init__(self) -> None:
        super().__init__()
        self.worker_queue = self.open()
        self.worker_queue.close_run(RUN)
        self.learner = self.open()
        self.fence = self.learner.raise_fence(RUN)
        self.learner.open_run(RUN)
        self.old: list[tuple[RolloutQueue, int]] = []
        self.waiting: dict[str, PromptMessage] = {}  # dispatched, its group not admitted
        self.admitted: dict[str, int] = {}  # id -> how often the learner was handed it first
        self.delivered: dict[str, Delivered[GroupMessage]] = {}  # to this learner, unacknowledged
        self.stolen: set[str] = set()  # handed to a learner that should be dead
        self.acknowledged: set[str] = set()
        self.committed = -1
        self.in_hand: dict[str, list[Delivered[PromptMessage]]] = {name: [] for name in WORKERS}
        self.done: list[Delivered[PromptMessage]] = []

    def open(self) -> RolloutQueue:
        return RolloutQueue.from_url(self.url, capacity=CAPACITY, lease_s=3600.0)

    def teardown(self) -> None:
        self.nothing_is_lost()
        for queue in (self.worker_queue, self.learner, *(queue for queue, _ in self.old)):
            queue.close()

    @rule(number=st.integers(0, 11), eval=st.booleans())
    def dispatch(self, number: int, eval: bool) -> None:
        step, purpose = number // 3, "eval" if eval else "train"
        group_id = f"{purpose}-{number}"
        known = {*self.waiting, *self.admitted} - self.acknowledged
        late = purpose == "train" and step <= self.committed
        if group_id in self.acknowledged and not late:
            return  # a learner repeats only what is not committed; eval ids carry its fence
        prompt = make_prompt(group_id, step, purpose)
        word = self.learner.dispatch(prompt, self.fence)
        assert word == ("dup" if group_id in known or late else "ok")
        if word == "ok":
            self.waiting[group_id] = prompt

    @rule(worker=st.sampled_from(WORKERS), count=st.integers(1, 4))
    def lease(self, worker: str, count: int) -> None:
        leased = self.worker_queue.lease_prompts(RUN, worker, count, 0.0)
        for item in leased:
            assert item.message == self.waiting[item.message.group_id]
            others = [i for name in WORKERS if name != worker for i in self.in_hand[name]]
            assert item not in others, "two live workers hold the same prompt"
        self.in_hand[worker] += leased

    @rule(worker=st.sampled_from(WORKERS))
    def renew(self, worker: str) -> None:
        ids = [item.entry_id for item in self.in_hand[worker]]
        live = [i.entry_id for i in self.in_hand[worker] if i.message.group_id in self.waiting]
        assert self.worker_queue.renew(RUN, worker, ids) == live

    @rule(worker=st.sampled_from(WORKERS))
    def worker_dies(self, worker: str) -> None:
        for item in self.in_hand[worker]:
            self.run_out(worker, item)
        self.done += self.in_hand[worker]  # it may yet push: it was only thought dead
        self.in_hand[worker] = []

    def run_out(self, worker: str, item: Delivered[PromptMessage]) -> None:
        """Let the lease of an entry be older than `lease_s`."""
        self.worker_queue.redis.xclaim(
            f"prompts:{RUN}", "workers", worker, 0, [item.entry_id], idle=3_700_000, justid=True
        )

    @rule(worker=st.sampled_from(WORKERS), data=st.data())
    def push(self, worker: str, data: st.DataObject) -> None:
        candidates = self.in_hand[worker] + self.done
        if not candidates:
            return
        item = data.draw(st.sampled_from(candidates))
        group_id = item.message.group_id
        word = self.worker_queue.push_group(worker, item.entry_id, answer(item.message))
        if group_id not in self.waiting:
            assert word == "dup"
        elif item.message.purpose == "train" and item.message.step <= self.committed:
            assert word == "dup"
            del self.waiting[group_id]
            self.acknowledged.add(group_id)
        elif len(self.undelivered() - self.stolen) >= CAPACITY:
            assert word == "full"
            return
        else:
            assert word == "ok"
            del self.waiting[group_id]
            self.admitted[group_id] = 0
        if item in self.in_hand[worker]:
            self.in_hand[worker].remove(item)
            self.done.append(item)

    def undelivered(self) -> set[str]:
        return {group_id for group_id, times in self.admitted.items() if times == 0}

    @rule(count=st.integers(1, 4))
    def read(self, count: int) -> None:
        groups = self.learner.read_groups(RUN, count, 0.0)
        fresh = self.undelivered() - self.stolen
        assert len(groups) == min(count, len(fresh or self.stolen))
        for item in groups:
            group_id = item.message.group_id
            assert self.admitted[group_id] == 0, "handed out twice"
            self.admitted[group_id] += 1
            self.delivered[group_id] = item
            self.stolen.discard(group_id)

    @precondition(lambda self: self.delivered)
    @rule(step=st.integers(0, 3))
    def commit(self, step: int) -> None:
        """As the learner does: all that it holds of these steps, once nothing is left out there."""
        early = [p for p in self.waiting.values() if p.purpose == "train" and p.step <= step]
        if early or any(f"train-{n}" in self.undelivered() for n in range(3 * step + 3)):
            return
        names = [name for name, item in self.delivered.items() if item.message.step <= step]
        ids = [self.delivered[name].entry_id for name in names]
        for queue, fence in self.old:
            with pytest.raises(Fenced):
                queue.acknowledge(RUN, ids, fence, step)
        self.learner.acknowledge(RUN, ids, self.fence, step)
        self.learner.acknowledge(RUN, ids, self.fence, step)
        self.acknowledged |= set(names)
        self.committed = max(self.committed, step)
        for name in names:
            del self.delivered[name]

    @rule()
    def learner_restarts(self) -> None:
        self.old = [*self.old[-1:], (self.learner, self.fence)]
        self.learner = self.open()
        self.fence = self.learner.raise_fence(RUN)
        self.learner.open_run(RUN)
        again = self.learner.pending_groups(RUN)
        names = [item.message.group_id for item in again]
        assert sorted(names) == sorted({*self.delivered, *self.stolen})
        self.delivered = {item.message.group_id: item for item in again}
        self.admitted |= dict.fromkeys(names, 1)
        self.stolen.clear()
        with pytest.raises(Fenced):
            self.old[-1][0].dispatch(make_prompt("of-the-old-one"), self.old[-1][1])

    @precondition(lambda self: self.old and self.undelivered() - self.stolen)
    @rule()
    def old_learner_steals(self) -> None:
        """A learner that should be dead reads: the living one still gets every group."""
        (taken,) = self.old[-1][0].read_groups(RUN, 1, 0.0)
        self.stolen.add(taken.message.group_id)

    @invariant()
    def bounded(self) -> None:
        client: Any = self.worker_queue.redis
        pending = client.xpending(f"rollouts:{RUN}", "learner")["pending"]
        assert client.xlen(f"rollouts:{RUN}") - pending <= CAPACITY

    @invariant()
    def all_there(self) -> None:
        client: Any = self.worker_queue.redis
        assert client.xlen(f"prompts:{RUN}") == len(self.waiting)
        live = {*self.undelivered(), *self.delivered}
        assert client.xlen(f"rollouts:{RUN}") == len(live)
        ids = {name.decode() for name in client.smembers(f"dispatched:{RUN}")}
        assert ids == live | {*self.waiting}

    def nothing_is_lost(self) -> None:
        """Whoever held what: a new worker and a new learner finish everything, each id once."""
        for worker, items in self.in_hand.items():
            for item in items:
                if item.message.group_id in self.waiting:
                    self.run_out(worker, item)
        expected = {*self.waiting, *self.undelivered()}
        seen: list[str] = []
        while len(seen) < len(expected):
            for item in self.worker_queue.lease_prompts(RUN, "carl", CAPACITY, 0.0):
                word = self.worker_queue.push_group("carl", item.entry_id, answer(item.message))
                if word == "full":
                    self.run_out("carl", item)
            groups = self.learner.read_groups(RUN, 100, 0.0)
            assert groups, f"never came: {expected - set(seen)}"
            seen += [item.message.group_id for item in groups]
        assert sorted(seen) == sorted(expected)


def test_random_interleavings(valkey: str) -> None:
    QueueMachine.url = valkey
    run_state_machine_as_test(
        QueueMachine,
        settings=settings(
            max_examples=30, stateful_step_count=30, deadline=None, derandomize=True, database=None
        ),
    )
