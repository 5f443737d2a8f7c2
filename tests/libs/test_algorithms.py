"""GRPO and its terms: hand-computed cases and properties."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cohort.algorithms import Totals, get_algorithm, terms
from cohort.config import AlgorithmSection
from cohort.contracts.queue import GroupCompletion
from cohort.rollouts.packing import Batch, Rollouts, collate

REWARDS = st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=2, max_size=16)


def section(**parts: object) -> AlgorithmSection:
    return AlgorithmSection.model_validate({"kl": {"beta": 0.0}} | parts)


def batch(advantages: list[float], lengths: list[int]) -> Batch:
    """One prompt, completions of these lengths."""
    completions = tuple(
        GroupCompletion(
            prompt_ids=(1,), ids=(2,) * n, logprobs=(-1.0,) * n, loss_mask=(1,) * n,
            offsets=(0,) * n, version_spans=(), finish_reason="stop", text="",
        )
        for n in lengths
    )  # fmt: skip
    return collate([Rollouts((1,), completions, tuple(advantages))])


def test_advantages_by_hand() -> None:
    # mean 1/2, sample deviation sqrt(1/3)
    expected = 0.5 / (math.sqrt(1 / 3) + 1e-6)
    found = get_algorithm(section()).advantages([1.0, 0.0, 0.0, 1.0])
    assert found == pytest.approx([expected, -expected, -expected, expected])


def test_advantages_scale() -> None:
    population = section(advantage={"scale": "population_std"})
    assert get_algorithm(population).advantages([1.0, 0.0]) == pytest.approx([1, -1], abs=1e-5)
    plain = section(advantage={"scale": "none"})
    assert get_algorithm(plain).advantages([1.0, 0.0, 0.5]) == pytest.approx([0.5, -0.5, 0.0])


def test_an_unscored_completion_is_not_a_zero() -> None:
    grpo = get_algorithm(section())
    for hole in (None, math.nan, math.inf):
        with_hole = grpo.advantages([1.0, hole, 0.0, 1.0])
        assert with_hole[1] == 0.0
        assert [with_hole[i] for i in (0, 2, 3)] == pytest.approx(grpo.advantages([1.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    "rewards", [[], [1.0], [None, 0.7], [None, None], [1.0, math.nan], [0.3, 0.1 + 0.2]]
)
def test_nothing_to_compare_is_no_signal(rewards: list[float | None]) -> None:
    grpo = get_algorithm(section())
    assert grpo.advantages(rewards) == [0.0] * len(rewards)
    assert not grpo.has_signal(rewards)
    assert get_algorithm(section(kl={"beta": 0.1})).has_signal(rewards)


@given(REWARDS)
def test_advantages_sum_to_zero(rewards: list[float]) -> None:
    assert sum(get_algorithm(section()).advantages(rewards)) == pytest.approx(0.0, abs=1e-9)


@given(REWARDS, st.integers(-100, 100))
def test_advantages_ignore_a_shift(rewards: list[float], shift: int) -> None:
    grpo = get_algorithm(section())
    shifted = grpo.advantages([reward + shift for reward in rewards])
    assert shifted == pytest.approx(grpo.advantages(rewards), abs=1e-9)


@given(REWARDS, st.randoms(use_true_random=False))
def test_advantages_follow_a_permutation(rewards: list[float], random: object) -> None:
    order = list(range(len(rewards)))
    random.shuffle(order)  # type: ignore[attr-defined]
    grpo = get_algorithm(section())
    expected = grpo.advantages(rewards)
    permuted = grpo.advantages([rewards[i] for i in order])
    assert permuted == pytest.approx([expected[i] for i in order], abs=1e-12)


@given(st.floats(-1e3, 1e3), st.lists(st.integers(-4, 4), min_size=2, max_size=8))
def test_a_constant_group_is_zero_in_spite_of_float_noise(reward: float, noise: list[int]) -> None:
    rewards = [reward * (1 + k * 2.0**-52) for k in noise]
    assert get_algorithm(section()).advantages(rewards) == [0.0] * len(rewards)


@pytest.mark.parametrize("how", ["sequence_mean", "token_mean"])
def test_on_policy_gradient_is_minus_advantage_over_the_denominator(how: terms.Aggregate) -> None:
    rows = batch([1.0, -0.5], [3, 1])
    logprobs_RC = rows.sampled_logprobs_RC.clone().requires_grad_()
    loss, sums = get_algorithm(section(aggregate=how)).loss(rows, logprobs_RC, Totals(2, 4))
    (grad_RC,) = torch.autograd.grad(loss, logprobs_RC)
    per_token = {"sequence_mean": [-1 / 6, 0.5 / 2], "token_mean": [-1 / 4, 0.5 / 4]}[how]
    assert grad_RC[0].tolist() == pytest.approx([per_token[0]] * 3)
    assert grad_RC[1].tolist() == pytest.approx([per_token[1], 0.0, 0.0])
    assert sums["clip_fraction"] == 0


def test_the_clip_takes_the_gradient_of_tokens_that_moved_far() -> None:
    rows = replace(batch([1.0, -1.0], [2, 2]), old_logprobs_RC=torch.full((2, 2), -1.0))
    logprobs_RC = torch.tensor([[-0.5, -1.1], [-0.9, -1.5]], requires_grad=True)
    loss, sums = get_algorithm(section(aggregate="token_mean")).loss(
        rows, logprobs_RC, Totals(2, 4)
    )
    # ratios e^.5 (clipped to 1.2), e^-.1; e^.1, e^-.5 (clipped to .8)
    expected = (-1.2 - math.exp(-0.1) + math.exp(0.1) + 0.8) / 4
    assert loss.item() == pytest.approx(expected)
    (grad_RC,) = torch.autograd.grad(loss, logprobs_RC)
    assert (grad_RC != 0).tolist() == [[False, True], [True, False]]
    assert sums["clip_fraction"] == 2


def test_kl_term_by_hand() -> None:
    # k3 at a log-ratio of 1: e^-1 + 1 - 1
    rows = replace(batch([0.0], [1]), ref_logprobs_RC=torch.tensor([[-2.0]]))
    algorithm = get_algorithm(section(kl={"beta": 0.5, "estimator": "k3"}))
    loss, sums = algorithm.loss(rows, torch.tensor([[-1.0]]), Totals(1, 1))
    assert sums["kl"].item() == pytest.approx(math.exp(-1))
    assert loss.item() == pytest.approx(0.5 * math.exp(-1))


@given(st.data())
def test_shares_of_micro_batches_add_up_whatever_stands_in_the_padding(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=6))
    cut = data.draw(st.integers(1, len(lengths) - 1))
    how = data.draw(st.sampled_from(["sequence_mean", "token_mean"]))
    totals = Totals(sum(map(bool, lengths)), sum(lengths))
    torch.manual_seed(0)
    losses_RC, mask_RC = torch.randn(len(lengths), 6, dtype=torch.float64), torch.zeros(
        len(lengths), 6, dtype=torch.bool
    )  # fmt: skip
    for row, length in enumerate(lengths):
        mask_RC[row, :length] = True
    losses_RC[~mask_RC] = math.nan
    whole = terms.aggregate(losses_RC, mask_RC, how, totals)
    parts = [
        terms.aggregate(losses_RC[part], mask_RC[part], how, totals)
        for part in (slice(None, cut), slice(cut, None))
    ]
    narrow = terms.aggregate(losses_RC[:, :4], mask_RC[:, :4], how, totals)
    assert torch.isfinite(whole)
    torch.testing.assert_close(sum(parts), whole)
    torch.testing.assert_close(narrow, whole)
