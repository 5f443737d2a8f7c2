"""slime `--rm-type remote_rm --rm-url URL`: one sample a request, and the reply is the reward.

{"prompt": "...", "response": "... #### 18<|im_end|>", "label": "18"}  ->  1.0
with ?format=object and --reward-key score  ->  {"score": 1.0, "acc": 1.0, ...}
"""

from collections.abc import Sequence

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import ScoreItem, ScoreRequest, ScoreResult
from cohort.integrations.truths import code_cases
from services.reward.dialects.base import Dialect, Options, Wire, accuracy, number, unscorable
from services.reward.dialects.texts import text_of, without_special_tokens


class Body(Wire):
    """One sample."""

    prompt: JsonValue = ""
    """Text, or messages."""
    response: str
    label: JsonValue = None


def ask(body: Body, _: Options) -> ScoreRequest:
    """One item. The client waits 120 s."""
    item = ScoreItem(
        prompt=text_of(body.prompt),
        completion=without_special_tokens(body.response),
        ground_truth=code_cases(body.label),
    )
    return ScoreRequest(items=(item,), timeout_s=110.0)


def answer(_: Body, results: Sequence[ScoreResult], options: Options) -> JsonValue:
    """The bare number, or an object with what is known."""
    [result] = results
    if options.get("format") != "object":
        return number(result)
    return {
        "score": number(result),
        "acc": accuracy(result),
        "unscorable": unscorable(result),
        "verdict": result.verdict,
        "components": {name: part.value for name, part in result.components.items()},
    }


COMPAT = Dialect("/compat/slime", "slime remote_rm", Body, ask, answer)
