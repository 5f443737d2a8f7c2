"""GRPO (2402.03300): a group's completions are each other's baseline, no critic.

    A_i  = (r_i - mean r) / (std r + eps)              for every token of completion i
    loss = mean_i mean_t [ max(-A rho, -A clip(rho)) + beta KL(policy || reference) ]

Shape letters: R completions (rows) of a batch, C completion tokens (padded).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cohort.algorithms import terms
from cohort.config import AlgorithmSection
from cohort.rollouts.packing import Batch


@dataclass(frozen=True)
class Grpo:
    """The preset `grpo` with its typed parts."""

    section: AlgorithmSection

    def has_signal(self, rewards: Sequence[float | None]) -> bool:
        """Whether the rewards of a group spread; with a KL term every group teaches."""
        return self.section.kl.beta > 0.0 or terms.spread(rewards) > 0.0

    def advantages(self, rewards: Sequence[float | None]) -> list[float]:
        """One per completion; they sum to 0. Unscored completions (None) get 0."""
        part = self.section.advantage
        return terms.group_advantages(rewards, part.scale, part.eps)

    def loss(
        self, batch: Batch, logprobs_RC: Tensor, totals: terms.Totals
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """This batch's share of the step's loss, and sums over its tokens for the metrics.

        Without `batch.old_logprobs_RC` the batch is on-policy: the old policy is the current one.
        """
        section, mask_RC = self.section, batch.loss_mask_RC
        old_RC = batch.old_logprobs_RC
        ratio_RC = terms.ratio(logprobs_RC, logprobs_RC.detach() if old_RC is None else old_RC)
        losses_RC, clipped_RC = terms.clipped_loss(
            ratio_RC, batch.advantages_R, section.clip.low, section.clip.high
        )
        kl_RC = torch.zeros_like(losses_RC)
        if batch.ref_logprobs_RC is not None:
            kl_RC = terms.kl(logprobs_RC, batch.ref_logprobs_RC, section.kl.estimator)
            losses_RC = losses_RC + section.kl.beta * kl_RC
        loss = terms.aggregate(losses_RC, mask_RC, section.aggregate, totals)
        return loss, {
            "clip_fraction": terms.masked_sum(clipped_RC, mask_RC),
            "kl": terms.masked_sum(kl_RC.detach(), mask_RC),
        }
