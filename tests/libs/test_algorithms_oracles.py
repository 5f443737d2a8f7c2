"""The terms against independently computed numbers (`../shared/reference/oracles.json`)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from cohort.algorithms import Totals, get_algorithm, terms
from cohort.config import AlgorithmSection
from cohort.rollouts.packing import Batch

FILE = Path(__file__).parents[3] / "shared/reference/oracles.json"
AGGREGATE = {"seq-mean-token-mean": "sequence_mean", "token-mean": "token_mean"}

pytestmark = pytest.mark.skipif(not FILE.exists(), reason=f"no oracle file at {FILE}")


@pytest.fixture(scope="module")
def cases() -> dict[str, dict[str, Any]]:
    return {case["name"]: case for case in json.loads(FILE.read_text())["cases"]}


def tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def near(found: Tensor, case: dict[str, Any], expected: Any) -> None:
    torch.testing.assert_close(found, tensor(expected), rtol=case["tol"], atol=case["tol"])


def batch_of(inputs: dict[str, Any]) -> Batch:
    """Only what the loss reads; the pads keep the oracle's garbage."""
    mask_RC = tensor(inputs["mask"]).bool()
    rows, width = mask_RC.shape
    return Batch(
        prompt_ids_NP=torch.zeros(1, 1, dtype=torch.int64),
        prompt_mask_NP=torch.ones(1, 1, dtype=torch.bool),
        prompt_of_R=torch.zeros(rows, dtype=torch.int64),
        ids_RC=torch.zeros(rows, width, dtype=torch.int64),
        mask_RC=mask_RC,
        loss_mask_RC=mask_RC,
        advantages_R=tensor(inputs["advantages_seq"]),
        sampled_logprobs_RC=tensor(inputs.get("rollout_logp", inputs["old_logp"])),
        old_logprobs_RC=tensor(inputs["old_logp"]),
        ref_logprobs_RC=tensor(inputs["ref_logp"]) if "ref_logp" in inputs else None,
    )


def section(params: dict[str, Any]) -> AlgorithmSection:
    return AlgorithmSection.model_validate(
        {
            "aggregate": AGGREGATE[params["agg"]],
            "clip": {"low": params.get("lo", 0.2), "high": params.get("hi", 0.2)},
            "kl": {"beta": params.get("beta", 0.0)},
        }
    )


def totals(inputs: dict[str, Any]) -> Totals:
    lengths = [int(sum(row)) for row in inputs["mask"]]
    return Totals(sum(map(bool, lengths)), sum(lengths))


@pytest.mark.parametrize(
    "name",
    [
        "adv_grpo_sample_std_eps1e-6",
        "adv_grpo_population_std",
        "adv_grpo_nonbinary_sample",
        "adv_rcgrpo_mixed_tokens_one_group",
    ],
)
def test_advantages(cases: dict[str, dict[str, Any]], name: str) -> None:
    case = cases[name]
    scale: terms.Scale = "sample_std" if case["params"]["ddof"] else "population_std"
    found = terms.group_advantages(case["inputs"]["rewards"], scale, case["params"]["eps"])
    near(tensor(found), case, case["expected"])


def test_ragged_groups_and_a_singleton(cases: dict[str, dict[str, Any]]) -> None:
    case = cases["adv_grpo_ragged_groups_singleton_zero"]
    rewards, groups = case["inputs"]["rewards"], case["inputs"]["group"]
    found = [0.0] * len(rewards)
    for name in set(groups):
        rows = [row for row, group in enumerate(groups) if group == name]
        values = terms.group_advantages([rewards[row] for row in rows], "sample_std", 1e-6)
        for row, value in zip(rows, values, strict=True):
            found[row] = value
    near(tensor(found), case, case["expected"])


def test_saturated_groups(cases: dict[str, dict[str, Any]]) -> None:
    case = cases["rcgrpo_saturation_gate"]
    grpo = get_algorithm(AlgorithmSection.model_validate({"kl": {"beta": 0.0}}))
    found = [not grpo.has_signal(rewards) for rewards in case["inputs"]["groups"]]
    assert found == case["expected"]["saturated"]


@pytest.mark.parametrize(
    "name",
    [
        "ppo_clip_seq_mean_token_mean",
        "dapo_clip_higher_token_mean",
        "grpo_full_objective_k3_in_loss",
        "on_policy_ratio_one",
        "bypass_mode_ppo_clip",
    ],
)
def test_losses_and_gradients(cases: dict[str, dict[str, Any]], name: str) -> None:
    case = cases[name]
    inputs, batch = case["inputs"], batch_of(case["inputs"])
    if name == "bypass_mode_ppo_clip":
        batch = replace(batch, old_logprobs_RC=batch.sampled_logprobs_RC)
    elif name == "on_policy_ratio_one":
        batch = replace(batch, old_logprobs_RC=None)
    logprobs_RC = tensor(inputs["new_logp"]).requires_grad_()
    loss, sums = get_algorithm(section(case["params"])).loss(batch, logprobs_RC, totals(inputs))
    near(loss.detach(), case, case["expected"]["loss"])
    (grad_RC,) = torch.autograd.grad(loss, logprobs_RC)
    near(grad_RC, case, case["expected"]["grad_new_logp"])
    if "mean_k3" in case["expected"]:
        near(sums["kl"] / batch.mask_RC.sum(), case, case["expected"]["mean_k3"])


@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        ("microbatch_invariance_token_mean", "microbatches", "correct_sum_over_global_N"),
        ("dp_invariance_token_mean", "ranks", "mean_over_ranks"),
    ],
)
def test_shares_add_up(
    cases: dict[str, dict[str, Any]], name: str, split: str, expected: str
) -> None:
    case = cases[name]
    whole = totals(case["inputs"])
    algorithm = get_algorithm(section({"agg": "token-mean"}))
    losses = []
    for rows in case["params"][split]:
        part = {key: [values[row] for row in rows] for key, values in case["inputs"].items()}
        loss, _ = algorithm.loss(batch_of(part), tensor(part["new_logp"]), whole)
        losses.append(loss)
    near(torch.stack(losses).sum(), case, case["expected"][expected])
    if split == "ranks":
        num_ranks = case["params"]["dp_size"]
        near(torch.stack(losses) * num_ranks, case, case["expected"]["rank_losses"])


def test_clip_fraction_is_zero_when_the_weights_did_not_move(
    cases: dict[str, dict[str, Any]],
) -> None:
    case = cases["phantom_clipping_fraction"]
    inputs = case["inputs"] | {"old_logp": case["inputs"]["trainer_logp_same_weights"]}
    batch, current_RC = batch_of(inputs), tensor(inputs["old_logp"])
    bypass = replace(batch, old_logprobs_RC=batch.sampled_logprobs_RC)
    algorithm = get_algorithm(section({"agg": "token-mean"}))
    for old, expected in (
        (bypass, "bypass_clip_fraction_with_zero_policy_change"),
        (batch, "decoupled_clip_fraction"),
    ):
        _, sums = algorithm.loss(old, current_RC, totals(inputs))
        near(sums["clip_fraction"] / batch.mask_RC.sum(), case, case["expected"][expected])


def test_k3_is_held(cases: dict[str, dict[str, Any]]) -> None:
    case = cases["kl_k3_clamped_verl"]
    found = terms.kl(tensor(case["inputs"]["logp"]), tensor(case["inputs"]["ref_logp"]), "k3")
    near(found, case, case["expected"])


def test_k3_gradient(cases: dict[str, dict[str, Any]]) -> None:
    case = cases["kl_k3_gradient_plain"]
    logp = tensor(case["inputs"]["logp"]).requires_grad_()
    value = terms.kl(logp, tensor(case["inputs"]["ref_logp"]), "k3").sum()
    near(torch.autograd.grad(value, logp)[0], case, case["expected"]["grad_logp"])


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
def test_expected_kl_gradients(
    cases: dict[str, dict[str, Any]], estimator: terms.Estimator
) -> None:
    case = cases["kl_gradients_wrt_logits"]
    p, q = tensor(case["inputs"]["p"]), tensor(case["inputs"]["q"])
    logits = p.log().requires_grad_()
    values = terms.kl(logits.log_softmax(0), q.log(), estimator)
    (grad,) = torch.autograd.grad((p * values).sum(), logits)
    near(grad, case, case["expected"][f"E_grad_{estimator}"])


def test_three_clipped_epochs_of_a_tabular_policy(cases: dict[str, dict[str, Any]]) -> None:
    case = cases["tabular_grpo_three_epochs_sgd"]
    inputs, expected = case["inputs"], case["expected"]
    algorithm = get_algorithm(section(case["params"]))
    ids_RC1 = torch.tensor(inputs["completions"]).unsqueeze(-1)
    logits_CV = tensor(inputs["logits"])
    ones = [[1.0] * ids_RC1.shape[1]] * len(ids_RC1)
    advantages = algorithm.advantages(inputs["rewards"])
    near(tensor(advantages), case, expected["advantages"])
    filler = {"mask": ones, "old_logp": ones, "advantages_seq": advantages}
    batch = batch_of(filler)
    for epoch in range(case["params"]["epochs"]):
        logits_CV.requires_grad_()
        rows = logits_CV.log_softmax(-1).expand(len(ids_RC1), -1, -1)
        logprobs_RC = rows.gather(2, ids_RC1).squeeze(2)
        if epoch == 0:
            batch = replace(batch, old_logprobs_RC=logprobs_RC.detach())
        loss, sums = algorithm.loss(batch, logprobs_RC, totals(filler))
        (grad_CV,) = torch.autograd.grad(loss, logits_CV)
        near(loss.detach(), case, expected["losses_before_each_step"][epoch])
        fraction = sums["clip_fraction"] / batch.mask_RC.sum()
        near(fraction, case, expected["clip_fraction_before_each_step"][epoch])
        near(grad_CV, case, expected["grads"][epoch])
        logits_CV = logits_CV.detach() - case["params"]["lr"] * grad_CV
        near(logits_CV, case, expected["logits_after_each_step"][epoch])
