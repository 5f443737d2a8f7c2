"""From the scores of a solution's steps to one number. Pure functions.

min       the weakest step: Math-Shepherd, arXiv 2312.08935
product   all steps are right, were they independent: "Let's verify step by step", 2305.20050
last      the step that holds the answer
mean      not for training: more steps dilute a wrong one
pure      a soft minimum, the sum of `pure_step_rewards`: PURE, arXiv 2504.15275
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Aggregation = Literal["min", "product", "last", "mean", "pure"]


def aggregate(scores: Sequence[float], how: Aggregation, temperature: float = 0.1) -> float:
    """One value for a solution with these step scores, in order; `temperature` is for `pure`.

    Raises `ValueError` for no steps: what a solution without steps is worth is not ours to say.
    """
    if not scores:
        raise ValueError("a solution without steps has no aggregated score")
    if how == "min":
        return min(scores)
    if how == "product":
        return math.prod(scores)
    if how == "last":
        return scores[-1]
    if how == "mean":
        return math.fsum(scores) / len(scores)
    return math.fsum(pure_step_rewards(scores, temperature))


def pure_step_rewards(scores: Sequence[float], temperature: float = 0.1) -> list[float]:
    """PURE's reward of each step: `softmax(-scores / temperature) * scores`.

    Their sum from a step on is about the lowest score from there on, so that a policy that collects
    them cannot gain by writing more steps. Raises `ValueError` for a temperature of 0 or less.
    """
    if not temperature > 0.0:
        raise ValueError("the temperature of the soft minimum must be above 0")
    if not scores:
        return []
    lowest = min(scores)
    weights = [math.exp((lowest - score) / temperature) for score in scores]
    total = math.fsum(weights)
    return [score * weight / total for score, weight in zip(scores, weights, strict=True)]
