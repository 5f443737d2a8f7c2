"""The order of training: waves, replacements and limits, with a world that answers prompts."""

from collections.abc import Callable, Sequence

import pytest

from cohort.config import RunConfig
from cohort.contracts.generator import VersionSpan
from cohort.contracts.queue import GroupCompletion, GroupMessage, PromptMessage
from cohort.contracts.reward import ScoreResult
from cohort.rollouts.queue import Delivered
from cohort.tasks import make_task
from services.trainer.learner.evaluation import Evaluation
from services.trainer.learner.inbox import Inbox
from services.trainer.learner.link import RunFailed
from services.trainer.learner.plan import Plan, Slot
from services.trainer.learner.waves import Filled, Waves


def config(**rollout: object) -> RunConfig:
    return RunConfig.from_dict(
        {
            "model": {"path": "bundled:tiny-random"},
            "task": {
                "name": "arithmetic",
                "args": {"operation": "add", "low": 1, "high": 30, "num_eval": 16},
            },
            "algorithm": {"name": "grpo", "group_size": 2},
            "rewards": [{"verifier": "math"}],
            "rollout": {"prompts_per_step": 3, "max_new_tokens": 4, **rollout},
            "steps": 4,
        }
    )


def reply(prompt: PromptMessage, scores: Sequence[float | None], version: int) -> GroupMessage:
    completions = tuple(
        GroupCompletion(
            prompt_ids=(1,),
            ids=(2,),
            logprobs=(-0.5,),
            loss_mask=(1,),
            offsets=(1,),
            version_spans=(VersionSpan(version=version, start=0, end=1),),
            finish_reason="stop",
            text="x",
            result=ScoreResult(score=score, status="scored" if score is not None else "timeout"),
        )
        for score in scores
    )
    return GroupMessage(
        run_id=prompt.run_id,
        group_id=prompt.group_id,
        step=prompt.step,
        purpose=prompt.purpose,
        attempt=prompt.attempt,
        status="ok",
        fingerprint=f"print-{version}",
        policy_version=version,
        completions=completions,
    )


def failure(prompt: PromptMessage, reason: str = "reward_unreachable: gone") -> GroupMessage:
    return GroupMessage(
        run_id=prompt.run_id,
        group_id=prompt.group_id,
        step=prompt.step,
        purpose=prompt.purpose,
        status="failed",
        reason=reason,
    )


class World:
    """Stands in for the queue and everything behind it: answers in the reverse order of asking."""

    fence = 7

    def __init__(self, answer: Callable[[PromptMessage], GroupMessage]) -> None:
        self.answer = answer
        self.asked: list[PromptMessage] = []
        self.unread: list[Delivered[GroupMessage]] = []
        self.left_over: list[Delivered[GroupMessage]] = []
        self.acknowledged: list[str] = []

    def dispatch(self, prompt: PromptMessage) -> None:
        if any(prompt.group_id == earlier.group_id for earlier in self.asked):
            return
        self.asked.append(prompt)
        self.unread.append(Delivered(f"entry-{len(self.asked)}", self.answer(prompt)))

    def read(self) -> list[Delivered[GroupMessage]]:
        assert self.unread, "waiting for a group that nobody was asked for"
        return [self.unread.pop()]

    def pending(self) -> list[Delivered[GroupMessage]]:
        return self.left_over

    def acknowledge(self, entry_ids: Sequence[str], committed_step: int | None = None) -> None:
        self.acknowledged += entry_ids


def spread(rewards: Sequence[float | None]) -> bool:
    known = [reward for reward in rewards if reward is not None]
    return len(set(known)) > 1


def fill(world: World, run: RunConfig, step: int = 1) -> Filled:
    plan = Plan("run", run, make_task(run.task.name, run.task.args, run.seed))
    inbox = Inbox(world, committed_step=step - 1)  # type: ignore[arg-type]
    waves = Waves(plan, world, inbox, spread, lambda version: f"print-{version}")  # type: ignore[arg-type]
    return waves.fill(step)


def test_groups_come_in_prompt_order_whatever_the_order_of_arrival() -> None:
    world = World(lambda prompt: reply(prompt, (0.0, 1.0), 0))
    filled = fill(world, config())
    assert [entry.slot for entry in filled.trained] == [Slot(1, 0, i) for i in range(3)]
    assert [e.group.group_id for e in filled.trained] == [p.group_id for p in world.asked]


def test_a_failed_group_is_recorded_and_its_slot_asked_again() -> None:
    def answer(prompt: PromptMessage) -> GroupMessage:
        if prompt.group_id == Slot(1, 0, 1).group_id:
            return failure(prompt)
        return reply(prompt, (0.0, 1.0), 0)

    world = World(answer)
    filled = fill(world, config())
    assert [(e.slot, e.fate) for e in filled.entries] == [
        (Slot(1, 0, 0), "trained"),
        (Slot(1, 0, 1), "failed"),
        (Slot(1, 0, 1, 1), "trained"),
        (Slot(1, 0, 2), "trained"),
    ]
    first, again = world.asked[1], world.asked[-1]
    assert again.prompts == first.prompts
    assert again.sampling.seed != first.sampling.seed


def test_the_run_fails_with_the_reason_after_too_many_failures_in_a_row() -> None:
    with pytest.raises(RunFailed, match=r"5 groups in a row failed.*reward_unreachable: gone"):
        fill(World(failure), config(max_failures=5))


def test_groups_of_a_lost_or_stale_version_are_dropped_with_the_reason() -> None:
    def answer(prompt: PromptMessage) -> GroupMessage:
        group = reply(prompt, (0.0, 1.0), 1)
        if prompt.attempt == 0 and prompt.group_id.startswith("000002-00-0000"):
            return group.model_copy(update={"fingerprint": "of a crashed learner"})
        if prompt.attempt == 0 and prompt.group_id.startswith("000002-00-0001"):
            return reply(prompt, (0.0, 1.0), 0)
        if prompt.attempt == 0:
            return reply(prompt, (0.0, 1.0), 2)
        return group

    filled = fill(World(answer), config(), step=2)
    dropped = [entry.reason or "" for entry in filled.entries if entry.fate == "dropped"]
    assert [reason.split(":")[0] for reason in dropped] == [
        "lost version",
        "stale",
        "lost version",
    ]
    assert len(filled.trained) == 3


def test_slots_that_never_get_a_usable_group_end_the_run() -> None:
    with pytest.raises(RunFailed, match="no usable group after"):
        fill(World(lambda prompt: reply(prompt, (0.0, 1.0), 3)), config(max_failures=2))


def test_without_dynamic_sampling_every_group_is_trained_on() -> None:
    filled = fill(World(lambda prompt: reply(prompt, (1.0, 1.0), 0)), config())
    assert len(filled.trained) == 3
    assert filled.waves == 1


def test_dynamic_sampling_asks_for_as_many_as_lacked_signal() -> None:
    def answer(prompt: PromptMessage) -> GroupMessage:
        flat = prompt.group_id.startswith(("000001-00-0000", "000001-00-0002", "000001-01-0001"))
        return reply(prompt, (1.0, 1.0) if flat else (0.0, 1.0), 0)

    world = World(answer)
    filled = fill(world, config(dynamic_sampling={"enabled": True, "max_batches": 4}))
    waves = [entry.slot.wave for entry in filled.entries]
    assert waves == [0, 0, 0, 1, 1, 2]
    assert [entry.slot for entry in filled.trained] == [
        Slot(1, 0, 1),
        Slot(1, 1, 0),
        Slot(1, 2, 0),
    ]


def test_dynamic_sampling_is_bounded_and_keeps_what_it_has() -> None:
    world = World(lambda prompt: reply(prompt, (0.0, 0.0), 0))
    filled = fill(world, config(dynamic_sampling={"enabled": True, "max_batches": 3}))
    assert filled.waves == 3
    assert filled.trained == []
    assert filled.count("no_signal") == 9


def test_what_a_crashed_learner_left_behind_is_used_before_anything_new() -> None:
    world = World(lambda prompt: reply(prompt, (0.0, 1.0), 0))
    fill(world, config())
    again = World(lambda prompt: pytest.fail("asked although the group was pending"))
    again.asked = world.asked
    again.left_over = [
        Delivered(f"entry-{i}", reply(prompt, (0.0, 1.0), 0))
        for i, prompt in enumerate(world.asked)
    ]
    assert len(fill(again, config()).trained) == 3


def test_committed_groups_and_foreign_evaluations_are_only_acknowledged() -> None:
    plan = Plan("run", config(), make_task("arithmetic", config().task.args, 0))
    world = World(lambda prompt: reply(prompt, (0.0, 1.0), 0))
    old = reply(plan.prompt(Slot(1, 0, 0)), (0.0, 1.0), 0)
    foreign = old.model_copy(update={"purpose": "eval", "group_id": "eval-6-000000-00000-00"})
    world.left_over = [Delivered("a", old), Delivered("b", foreign)]
    Inbox(world, committed_step=1)  # type: ignore[arg-type]
    assert world.acknowledged == ["a", "b"]


def test_an_evaluation_asks_each_question_once_and_repeats_what_failed() -> None:
    def answer(prompt: PromptMessage) -> GroupMessage:
        if prompt.attempt == 0 and prompt.group_id.endswith("00002-00"):
            return failure(prompt)
        return reply(prompt, (1.0,), prompt.step)

    world = World(answer)
    plan = Plan("run", config(), make_task("arithmetic", config().task.args, 0))
    inbox = Inbox(world, committed_step=0)  # type: ignore[arg-type]
    evaluation = Evaluation(plan, world, inbox)  # type: ignore[arg-type]
    groups = evaluation.collect(evaluation.ask(version=3, size=5))
    assert len(groups) == 5
    assert len(world.asked) == 6
    assert {prompt.min_policy_version for prompt in world.asked} == {3}
    assert all(prompt.sampling.temperature == 0.0 for prompt in world.asked)
    assert len(world.acknowledged) == 6


def test_an_answer_of_another_version_does_not_count_in_an_evaluation() -> None:
    world = World(lambda prompt: reply(prompt, (1.0,), 5 if prompt.attempt == 0 else prompt.step))
    plan = Plan("run", config(), make_task("arithmetic", config().task.args, 0))
    inbox = Inbox(world, committed_step=0)  # type: ignore[arg-type]
    evaluation = Evaluation(plan, world, inbox)  # type: ignore[arg-type]
    groups = evaluation.collect(evaluation.ask(version=3, size=4))
    assert [group.policy_version for group in groups] == [3] * 4
    first, again = world.asked[0], world.asked[4]
    assert first.sampling == again.sampling


def test_the_plan_depends_on_nothing_but_config_and_slot() -> None:
    def plan(seed: int) -> Plan:
        run = config().model_copy(update={"seed": seed})
        return Plan("run", run, make_task(run.task.name, run.task.args, seed))

    slots = [Slot(step, 0, index) for step in range(1, 5) for index in range(3)]
    first, second = [[plan(0).prompt(slot) for slot in slots] for _ in range(2)]
    assert first == second
    assert len({prompt.prompts for prompt in first}) == len(slots)
    assert [plan(1).prompt(slot).prompts for slot in slots] != [p.prompts for p in first]
    assert len({prompt.sampling.seed for prompt in first}) == len(slots)


@pytest.mark.parametrize(("max_lag", "oldest"), [(0, [0, 1, 2, 3]), (2, [0, 0, 0, 1])])
def test_max_lag_bounds_the_age_of_samples(max_lag: int, oldest: list[int]) -> None:
    run = config(max_lag=max_lag)
    plan = Plan("run", run, make_task(run.task.name, run.task.args, 0))
    assert [plan.oldest_version(step) for step in range(1, 5)] == oldest
