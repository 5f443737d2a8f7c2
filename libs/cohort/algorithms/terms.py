"""The terms that policy losses are made of: pure functions on tensors, no state, no I/O.

Shape letters: G completions of a group, R completions (rows) of a batch, C completion tokens.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeGuard

import torch
from torch import Tensor

Scale = Literal["sample_std", "population_std", "none"]
Aggregate = Literal["sequence_mean", "token_mean"]
Estimator = Literal["k1", "k2", "k3"]

_MAX_LOG_RATIO = 20.0
_MAX_KL = 10.0


@dataclass(frozen=True)
class Totals:
    """What a step is averaged over: all of it, whatever the micro-batches and ranks."""

    num_completions: int
    """Completions with at least one trained token."""
    num_tokens: int
    """Trained tokens."""


def is_scored(reward: float | None) -> TypeGuard[float]:
    """A number that can be compared: None, nan and inf are not."""
    return reward is not None and math.isfinite(reward)


def spread(rewards: Sequence[float | None]) -> float:
    """Largest minus smallest reward; 0 when it is float noise or fewer than two are scored."""
    scored = [reward for reward in rewards if is_scored(reward)]
    if len(scored) < 2:
        return 0.0
    width = max(scored) - min(scored)
    return width if width > 1e-6 * max(1.0, *map(abs, scored)) else 0.0


def group_advantages(rewards: Sequence[float | None], scale: Scale, eps: float) -> list[float]:
    """(r - mean) / (deviation + eps) within a group (GRPO, 2402.03300); float64.

    Completions without a finite score are outside the statistics and get 0. A group whose rewards
    do not spread, a single scored completion included, gets exact zeros.
    """
    if not spread(rewards):
        return [0.0] * len(rewards)
    scored_G = torch.tensor([is_scored(r) for r in rewards])
    rewards_G = torch.tensor([r if is_scored(r) else 0.0 for r in rewards], dtype=torch.float64)
    centred_G = torch.where(scored_G, rewards_G - rewards_G[scored_G].mean(), 0.0)
    if scale != "none":
        correction = 1 if scale == "sample_std" else 0
        centred_G = centred_G / (rewards_G[scored_G].std(correction=correction) + eps)
    advantages: list[float] = centred_G.tolist()
    return advantages


def ratio(logprobs_RC: Tensor, old_logprobs_RC: Tensor) -> Tensor:
    """How much likelier a token became; the log is held within 20 before exp."""
    return (logprobs_RC - old_logprobs_RC).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()


def clipped_loss(
    ratio_RC: Tensor, advantages_R: Tensor, low: float, high: float
) -> tuple[Tensor, Tensor]:
    """PPO's pessimistic loss per token (1707.06347), and 1.0 where the clip took the gradient."""
    advantages_R1 = advantages_R.unsqueeze(1)
    free_RC = -advantages_R1 * ratio_RC
    held_RC = -advantages_R1 * ratio_RC.clamp(1.0 - low, 1.0 + high)
    return torch.maximum(free_RC, held_RC), (held_RC > free_RC).to(ratio_RC.dtype)


def kl(logprobs_RC: Tensor, ref_logprobs_RC: Tensor, estimator: Estimator) -> Tensor:
    """KL(policy || reference) per sampled token: Schulman's k1, k2 or k3; all >= 0 but k1.

    As a loss k1 has no gradient in expectation, k2 that of the KL, k3 that of KL(reference ||
    policy) (2506.09477). k3 is held as verl does: exponent within 20, value at most 10.
    """
    log_ratio_RC = logprobs_RC - ref_logprobs_RC
    if estimator == "k1":
        return log_ratio_RC
    if estimator == "k2":
        return 0.5 * log_ratio_RC.square()
    inverse_RC = (-log_ratio_RC).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    return (inverse_RC.exp() - inverse_RC - 1.0).clamp(max=_MAX_KL)


def masked_sum(values_RC: Tensor, mask_RC: Tensor) -> Tensor:
    """Sum where the mask is 1; whatever stands under a 0, inf and nan included, does not matter."""
    return torch.where(mask_RC.bool(), values_RC, 0.0).sum()


def aggregate(losses_RC: Tensor, mask_RC: Tensor, how: Aggregate, totals: Totals) -> Tensor:
    """This batch's share of the step's loss; the shares of all batches and ranks add up to it.

    `sequence_mean`: mean over completions of token means (GRPO). `token_mean`: mean over all tokens
    of the step (DAPO, 2503.14476). Completions without trained tokens count nowhere.
    """
    if how == "token_mean":
        return masked_sum(losses_RC, mask_RC) / max(1, totals.num_tokens)
    lengths_R1 = mask_RC.sum(dim=1, keepdim=True).clamp(min=1)
    return masked_sum(losses_RC / lengths_R1, mask_RC) / max(1, totals.num_completions)
