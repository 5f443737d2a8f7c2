"""Is the completion short for its group? Rewards that compare all completions of one prompt.

    kimi        shorter than the middle: up to 0.5; longer: down to -0.5   add it to correctness
    grpo_lead   right: the shorter among the right ones the better         is the whole reward
    efficient   right minus a share that grows with the length             is the whole reward

A group is all items of the request with one `group_id`; lengths are their `num_tokens`. A group of
which one member cannot be judged is not scored: its statistics would be those of another group.

Does the worst right answer still earn more than the best wrong one? With `grpo_lead` and
`efficient` always. `kimi` alone is inverted (-0.5 for the longest right answer, 0 for a short wrong
one); beside a 0/1 reward of weight 1 it is in order as long as its own weight is below 2.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from services.reward.verifiers.base import Answer, Outcome, Params, Verifier
from services.reward.verifiers.correctness import CorrectBy, correctness
from services.reward.verifiers.length import length_of, of_length

GroupKind = Literal["kimi", "grpo_lead", "efficient"]
_ALPHA = {"grpo_lead": 0.05, "efficient": 0.1}
_EPSILON = 1e-6


class LengthGroupParams(Params):
    """The formula, how much length counts, and who says what is right."""

    kind: GroupKind
    """`kimi` (k1.5), `grpo_lead` or `efficient` (Arora and Zanette)."""
    alpha: float | None = Field(default=None, ge=0.0, lt=1.0)
    """How much length counts: 0.05 for `grpo_lead`, 0.1 for `efficient` unless given."""
    correct_by: CorrectBy = "math"
    """The verifier that says whether an answer is right, with its default parameters."""

    @model_validator(mode="after")
    def _kimi_has_no_alpha(self) -> "LengthGroupParams":
        if self.kind == "kimi" and self.alpha is not None:
            raise ValueError("kind kimi takes no alpha: weigh the whole component instead")
        return self


class LengthGroupVerifier(Verifier[LengthGroupParams]):
    """The reward of a completion's length among its group."""

    name = "length_group"
    version = "1"
    description = "Rewards by length within the group: kimi, grpo_lead or efficient, by `kind`."
    compares_group = True
    params = LengthGroupParams

    async def score(
        self, answers: Sequence[Answer], params: LengthGroupParams, outcomes: list[Outcome | None]
    ) -> None:
        """Verdicts are those of `correct_by`."""
        judged = await correctness(answers, params.correct_by)
        groups: dict[str, list[int]] = defaultdict(list)
        for place, answer in enumerate(answers):
            if answer.group_id:
                groups[answer.group_id].append(place)
            else:
                outcomes[place] = Outcome.unscored("unscorable", "the item has no group_id")
        for places in groups.values():
            members = [answers[place] for place in places]
            found = _judge_group(members, [judged[place] for place in places], params)
            for place, outcome in zip(places, found, strict=True):
                outcomes[place] = outcome

    def cache_key(self, answer: Answer, _: LengthGroupParams) -> None:
        """Never cached: it depends on the other answers."""


def _judge_group(
    answers: Sequence[Answer], judged: Sequence[Outcome], params: LengthGroupParams
) -> list[Outcome]:
    lengths = [length_of(answer) for answer in answers]
    own = [n if isinstance(n, Outcome) else o for n, o in zip(lengths, judged, strict=True)]
    trouble = next((outcome for outcome in own if outcome.value is None), None)
    if trouble is not None:
        why = f"a member of the group cannot be judged: {trouble.reason}"
        of_group = Outcome.unscored(trouble.status, why, trouble.verdict)
        return [outcome if outcome.value is None else of_group for outcome in own]
    tokens = [n for n in lengths if isinstance(n, int)]
    right = [outcome.verdict == "correct" for outcome in judged]
    values = group_values(params.kind, tokens, right, params.alpha)
    rows = zip(values, judged, tokens, strict=True)
    return [of_length(value, outcome.verdict, n) for value, outcome, n in rows]


def group_values(
    kind: GroupKind, tokens: Sequence[int], right: Sequence[bool], alpha: float | None = None
) -> list[float]:
    """The reward of each member of one group."""
    if kind == "kimi":
        return kimi(tokens, right)
    alpha = _ALPHA[kind] if alpha is None else alpha
    return (
        grpo_lead(tokens, right, alpha) if kind == "grpo_lead" else efficient(tokens, right, alpha)
    )


def kimi(tokens: Sequence[int], right: Sequence[bool]) -> list[float]:
    """Kimi k1.5's length reward (arXiv 2501.12599), lambda = 0.5 - (n - min) / (max - min).

    It is lambda for a right answer, min(0, lambda) for a wrong one, 0 when all are equally long.
    """
    low, high = min(tokens), max(tokens)
    if low == high:
        return [0.0] * len(tokens)
    scale = [0.5 - (n - low) / (high - low) for n in tokens]
    return [x if ok else min(0.0, x) for x, ok in zip(scale, right, strict=True)]


def grpo_lead(tokens: Sequence[int], right: Sequence[bool], alpha: float) -> list[float]:
    """GRPO-LEAD's length-dependent accuracy (arXiv 2504.09696): exp(-alpha z) when right, else -1.

    z is the length standardised over the right answers, by their sample deviation (1 for a single
    one). The paper's weight by difficulty belongs to the advantage, not to the reward.
    """
    of_right = [n for n, ok in zip(tokens, right, strict=True) if ok]
    if not of_right:
        return [-1.0] * len(tokens)
    mean = statistics.fmean(of_right)
    deviation = statistics.stdev(of_right) if len(of_right) > 1 else 1.0
    return [
        math.exp(-alpha * (n - mean) / (deviation + _EPSILON)) if ok else -1.0
        for n, ok in zip(tokens, right, strict=True)
    ]


def efficient(tokens: Sequence[int], right: Sequence[bool], alpha: float) -> list[float]:
    """Arora and Zanette's reward (arXiv 2502.04463): r (1 - alpha sigmoid(z)).

    z is the length standardised over the right answers, by their population deviation.
    """
    of_right = [n for n, ok in zip(tokens, right, strict=True) if ok]
    if not of_right:
        return [0.0] * len(tokens)
    mean, deviation = statistics.fmean(of_right), statistics.pstdev(of_right)
    scale = deviation or 1.0  # equally long answers are all at the mean
    return [
        1.0 - alpha * _sigmoid((n - mean) / scale) if ok else 0.0
        for n, ok in zip(tokens, right, strict=True)
    ]


def _sigmoid(x: float) -> float:
    return 0.5 * (1.0 + math.tanh(0.5 * x))
