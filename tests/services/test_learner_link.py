"""The learner's end of the queue, with a real Valkey."""

from collections.abc import Iterator

import pytest

from cohort.contracts.queue import (
    GroupMessage,
    PolicyRecord,
    PromptInput,
    PromptMessage,
    Sampling,
)
from cohort.rollouts.queue import Fenced, RolloutQueue
from services.trainer.learner import link as link_module
from services.trainer.learner.link import Link, Stopped

RUN = "run-1"


@pytest.fixture
def queue(valkey: str) -> Iterator[RolloutQueue]:
    queue = RolloutQueue.from_url(valkey)
    yield queue
    queue.close()


def link_of(queue: RolloutQueue, said: list[str | None], limit_s: float = 30.0) -> Link:
    link = Link(queue, RUN, limit_s, said.append)
    link.open()
    return link


def prompt(group_id: str, step: int) -> PromptMessage:
    return PromptMessage(
        run_id=RUN,
        group_id=group_id,
        step=step,
        purpose="train",
        prompts=(PromptInput(text="1 + 1 ="),),
        rewards=(),
        sampling=Sampling(num_completions=1, max_new_tokens=4, temperature=1.0, seed=7),
    )


def failed(message: PromptMessage) -> GroupMessage:
    return GroupMessage(
        run_id=RUN,
        group_id=message.group_id,
        step=message.step,
        purpose="train",
        status="failed",
        reason="deadline: for the test",
    )


def test_a_learner_ends_its_own_lease_and_no_other(queue: RolloutQueue) -> None:
    old = link_of(queue, [])
    new = link_of(queue, [])
    old.release()
    assert queue.learner_alive(RUN)
    queue.redis.persist(f"learner:{RUN}")
    new.release()
    for _ in range(1000):
        if not queue.learner_alive(RUN):
            break
    assert not queue.learner_alive(RUN)


def test_the_next_learner_makes_room_for_what_it_asks_first(queue: RolloutQueue) -> None:
    """Groups of step 3 need version 2, which comes again only after steps 1 and 2."""
    old = link_of(queue, [])
    for group_id, step in (("late", 3), ("next", 1)):
        old.dispatch(prompt(group_id, step))
    link_of(queue, []).resume(0, last_step=1)
    leased = queue.lease_prompts(RUN, "w", 9, 0.0)
    assert [item.message.group_id for item in leased] == ["next"]
    with pytest.raises(Fenced):
        old.check_fence()


def test_what_redis_forgot_is_said_again(
    queue: RolloutQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came back from a disk that lacked its last second, and the learner lives on."""
    monkeypatch.setattr(link_module, "_REMIND_S", 0.0)
    link = link_of(queue, [])
    policies = [
        PolicyRecord(run_id=RUN, version=n, path=f"w/{n}", fingerprint="f", fence=link.fence)
        for n in (3, 4)
    ]
    link.publish(policies[1])
    for group_id in ("g1", "g2"):
        link.dispatch(prompt(group_id, 5))
    answered, forgotten = queue.lease_prompts(RUN, "w", 2, 0.0)
    queue.push_group("w", answered.entry_id, failed(answered.message))
    queue.redis.xdel(f"prompts:{RUN}", forgotten.entry_id)
    queue.redis.srem(f"dispatched:{RUN}", "g2")
    queue.publish_policy(policies[0])
    assert [item.message.group_id for item in link.read(0.0)] == ["g1"]
    assert queue.policy(RUN) == policies[1]
    assert [i.message.group_id for i in queue.lease_prompts(RUN, "w", 9, 0.0)] == ["g2"]
    link._next_look = 0.0
    link.read(0.0)
    assert queue.lease_prompts(RUN, "w", 9, 0.0) == []


def test_a_request_to_pause_ends_a_wait_but_is_not_the_fence(queue: RolloutQueue) -> None:
    link = link_of(queue, [])
    queue.set_control(RUN, "pause")
    link.check_fence()
    with pytest.raises(Stopped):
        link.wait_while(lambda: "a generator")


def test_a_wait_that_may_be_given_up_ends_at_the_limit(queue: RolloutQueue) -> None:
    said: list[str | None] = []
    link_of(queue, said, limit_s=0.2).wait_while(lambda: "a generator")
    assert said == []
    troubles = iter(["a generator", None])
    link_of(queue, said).wait_while(lambda: next(troubles))
    assert said == []
