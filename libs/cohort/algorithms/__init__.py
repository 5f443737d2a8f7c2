"""What the papers say: rewards become advantages, a batch becomes a loss. Pure torch, no I/O."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from cohort.algorithms.grpo import Grpo
from cohort.algorithms.terms import Totals
from cohort.config import AlgorithmSection
from cohort.rollouts.packing import Batch

__all__ = ["Algorithm", "Totals", "get_algorithm"]


class Algorithm(Protocol):
    """What the learner needs to know of an algorithm. Shape letters: R completions, C tokens."""

    def has_signal(self, rewards: Sequence[float | None]) -> bool:
        """Whether a group with these rewards (None: unscored) can change the policy."""

    def advantages(self, rewards: Sequence[float | None]) -> list[float]:
        """One per completion of the group; 0 where a completion was not scored."""

    def loss(
        self, batch: Batch, logprobs_RC: Tensor, totals: Totals
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """This batch's share of the step's loss, and sums over its tokens for metrics."""


def get_algorithm(section: AlgorithmSection) -> Algorithm:
    """The algorithm that a run config names."""
    return {"grpo": Grpo}[section.name](section)
