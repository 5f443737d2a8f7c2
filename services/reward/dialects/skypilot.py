"""SkyPilot's job group example for RL: a batch of answers, a number or null each.

POST /batch_reward {"items": [{"prompt", "response", "ground_truth"}]}
{"rewards": [{"reward": 1.0}]}
"""

from collections.abc import Sequence

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import ScoreItem, ScoreRequest, ScoreResult
from cohort.integrations.truths import code_cases
from services.reward.dialects.base import Dialect, Options, Wire
from services.reward.dialects.texts import without_special_tokens


class Item(Wire):
    """One answer."""

    prompt: str = ""
    response: str
    ground_truth: JsonValue = None


class Body(Wire):
    """A batch."""

    items: list[Item]


def ask(body: Body, _: Options) -> ScoreRequest:
    """One item for each. The client waits 120 s."""
    items = tuple(
        ScoreItem(
            prompt=item.prompt,
            completion=without_special_tokens(item.response),
            ground_truth=code_cases(item.ground_truth),
        )
        for item in body.items
    )
    return ScoreRequest(items=items, timeout_s=110.0)


def answer(_: Body, results: Sequence[ScoreResult], __: Options) -> JsonValue:
    """Null where there is no score."""
    return {"rewards": [{"reward": result.score} for result in results]}


BATCH_REWARD = Dialect("/batch_reward", "SkyPilot RL job group", Body, ask, answer, refuse={})
