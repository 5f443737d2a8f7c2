"""The model under training at one rank: what an update does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from cohort.config import RunConfig
from cohort.contracts.queue import GroupMessage
from services.trainer.learner.policy import Policy, TrainingDiverged, lr_factor

MakeGroup = Callable[..., GroupMessage]
NewPolicy = Callable[..., Policy]
METRICS = {"loss", "grad_norm", "entropy", "kl", "clip_fraction", "lr", "tokens", "skipped"}


@pytest.fixture(scope="module")
def new_policy(
    save_model: Callable[..., Path],
    make_config: Callable[..., RunConfig],
    tmp_path_factory: pytest.TempPathFactory,
) -> NewPolicy:
    """Every policy starts from the same weights; arguments add to the config."""
    model_dir = save_model(tmp_path_factory.mktemp("model"))
    return lambda **parts: Policy(make_config(**parts), model_dir, 0, 1, total_steps=4)


@pytest.fixture(scope="module")
def groups(make_group: MakeGroup) -> list[GroupMessage]:
    """The second has no signal, and a completion of the third was not scored."""
    rewards = [[0, 1, 1], [1, 1], [0.5, 0, None, 1], [1, 0]]
    return [make_group(number, row) for number, row in enumerate(rewards, start=1)]


def states_equal(one: Policy, other: Policy) -> bool:
    ours, theirs = one.full_state(), other.full_state()
    return ours.keys() == theirs.keys() and all(
        torch.equal(ours[name], theirs[name]) for name in ours
    )


def sampled_by(policy: Policy, groups: list[GroupMessage]) -> list[GroupMessage]:
    """The same groups with the log-probs that the policy itself gives."""
    copies = []
    for item in groups:
        batch = policy._work([item]).batches[0]
        logprobs_RC, _ = policy.model(batch)
        rows = [
            c.model_copy(update={"logprobs": tuple(row[: len(c.ids)].tolist())})
            for c, row in zip(item.completions, logprobs_RC.detach(), strict=True)
        ]
        copies.append(item.model_copy(update={"completions": tuple(rows)}))
    return copies


def test_an_update_reports_and_moves_the_weights(
    new_policy: NewPolicy, groups: list[GroupMessage]
) -> None:
    policy = new_policy()
    before = policy.full_state()
    metrics = policy.update(groups)
    assert metrics.keys() >= METRICS
    assert all(isinstance(value, float) for value in metrics.values())
    assert metrics["tokens"] == sum(len(c.ids) for g in groups for c in g.completions)
    assert metrics["skipped"] == 0.0
    assert metrics["lr"] == 1e-2
    assert metrics["grad_norm"] > 0.0
    after = policy.full_state()
    assert all(not torch.equal(before[name], after[name]) for name in before)


def test_updates_make_rewarded_completions_likelier(
    new_policy: NewPolicy, make_group: MakeGroup
) -> None:
    policy = new_policy()
    target = [make_group(1, [0, 1])]

    def margin() -> float:
        logprobs_RC, _ = policy.model(policy._work(target).batches[0])
        return (logprobs_RC.sum(dim=1) * torch.tensor([-1.0, 1.0])).sum().item()

    before = margin()
    for _ in range(3):
        policy.update(target)
    assert margin() > before + 1.0


def test_the_same_groups_give_the_same_update(
    new_policy: NewPolicy, groups: list[GroupMessage]
) -> None:
    one, other = new_policy(), new_policy()
    assert one.update(groups) == other.update(groups)
    assert states_equal(one, other)


@pytest.mark.parametrize("aggregate", ["sequence_mean", "token_mean"])
def test_micro_batches_do_not_change_the_step(
    new_policy: NewPolicy, groups: list[GroupMessage], aggregate: str
) -> None:
    parts: dict[str, Any] = {"algorithm": {"aggregate": aggregate, "kl": {"beta": 0.1}}}
    whole = new_policy(**parts)
    small = new_policy(**parts, learner={"tokens_per_micro_batch": 1})
    assert len(whole._work(groups).batches) == 1
    assert len(small._work(groups).batches) == sum(len(g.completions) for g in groups)
    for _ in range(2):
        # kl and entropy are means as well: compare all of it.
        assert small.update(groups) == pytest.approx(whole.update(groups), rel=1e-4, abs=1e-5)


def test_groups_without_signal_cost_nothing_but_count(
    new_policy: NewPolicy, groups: list[GroupMessage]
) -> None:
    policy = new_policy()
    with_dead, alone = policy._work([groups[0], groups[1]]), policy._work([groups[0]])
    assert with_dead.batches[0].ids_RC.equal(alone.batches[0].ids_RC)
    assert with_dead.totals.num_completions == 5
    assert alone.totals.num_completions == 3
    norms = [new_policy().update(g)["grad_norm"] for g in (groups[:2], groups[:1])]
    assert norms[0] == pytest.approx(norms[1] * 3 / 5)


def test_a_step_without_signal_is_skipped(new_policy: NewPolicy, make_group: MakeGroup) -> None:
    policy = new_policy()
    before = policy.full_state()
    metrics = policy.update([make_group(2, [1, 1]), make_group(5, [None, None])])
    assert metrics.keys() >= METRICS
    assert (metrics["loss"], metrics["grad_norm"], metrics["skipped"]) == (0.0, 0.0, 1.0)
    assert 2.0 < metrics["entropy"] < 5.0
    assert all(torch.equal(before[name], after) for name, after in policy.full_state().items())
    assert policy.update([])["skipped"] == 1.0


def test_a_kl_term_trains_on_groups_without_spread(
    new_policy: NewPolicy, groups: list[GroupMessage], make_group: MakeGroup
) -> None:
    policy = new_policy(algorithm={"kl": {"beta": 0.5}})
    first = policy.update(groups)
    assert first["kl"] == 0.0
    second = policy.update([make_group(2, [1, 1])])
    assert second["skipped"] == 0.0
    assert second["kl"] > 0.0


def test_on_policy_the_mismatch_is_float_noise(
    new_policy: NewPolicy, groups: list[GroupMessage]
) -> None:
    policy = new_policy()
    live = [groups[0], groups[3]]
    metrics = policy.update(sampled_by(policy, live))
    assert metrics["mismatch_max"] < 1e-5
    assert new_policy().update(live)["mismatch_k3"] > 0.01


def test_the_old_policy_is_the_one_at_the_start_of_the_update(
    new_policy: NewPolicy, groups: list[GroupMessage]
) -> None:
    """Several epochs: the first step has ratio 1, later ones move away from it and clip."""
    policy = new_policy(algorithm={"epochs": 4}, optimizer={"lr": 5e-2})
    work = policy._work(groups)
    assert work.batches[0].old_logprobs_RC is not None
    torch.testing.assert_close(
        work.batches[0].old_logprobs_RC, policy.model(work.batches[0])[0].detach()
    )
    assert policy.update(groups)["clip_fraction"] > 0.0
    assert new_policy().update(groups)["clip_fraction"] == 0.0


def test_with_lag_the_ratio_is_to_the_generators_logprobs(
    new_policy: NewPolicy, groups: list[GroupMessage]
) -> None:
    policy = new_policy(rollout={"max_lag": 1})
    batch = policy._work(groups).batches[0]
    assert batch.old_logprobs_RC is batch.sampled_logprobs_RC
    assert policy.update(groups)["clip_fraction"] > 0.0


def test_mini_batches_are_optimizer_steps_of_their_own(
    new_policy: NewPolicy, groups: list[GroupMessage]
) -> None:
    policy = new_policy(algorithm={"mini_batches": 2})
    policy.update(groups)
    steps = {float(entry["step"]) for entry in policy.optimizer.state.values()}
    assert steps == {2.0}
    # Both mini-batches were compared with the weights before the first of them.
    single = new_policy()
    single.update([groups[0], groups[2]])
    single.update([groups[1], groups[3]])
    ours, theirs = policy.full_state(), single.full_state()
    assert any(not torch.equal(ours[name], theirs[name]) for name in ours)


def test_what_is_not_finite_stops_before_the_weights_are_touched(
    new_policy: NewPolicy, groups: list[GroupMessage], make_group: MakeGroup
) -> None:
    policy = new_policy(rollout={"max_lag": 1})
    before = policy.full_state()
    healthy = make_group(1, [0, 1])
    broken = healthy.completions[0].model_copy(
        update={"logprobs": (float("nan"),) * len(healthy.completions[0].ids)}
    )
    sick = healthy.model_copy(update={"completions": (broken, healthy.completions[1])})
    with pytest.raises(TrainingDiverged, match=r"update 1: loss is nan .*weights were left"):
        policy.update([sick])
    assert all(torch.equal(before[name], after) for name, after in policy.full_state().items())
    assert policy.update(groups)["skipped"] == 0.0


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]),
        ("cosine", [0.5, 1.0, 1.0, 0.853553, 0.5, 0.146447, 0.0]),
    ],
)
def test_learning_rate(
    make_config: Callable[..., RunConfig], schedule: str, expected: list[float]
) -> None:
    section = make_config(optimizer={"warmup_steps": 2, "schedule": schedule}).optimizer
    found = [lr_factor(section, update, 6) for update in range(7)]
    assert found == pytest.approx(expected, abs=1e-6)
