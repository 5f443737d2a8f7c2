"""NeMo-Gym resources server: the request comes back with the reward in it.

    POST /seed_session {}  ->  {}
    POST /verify {"responses_create_params": {"input"}, "response": {"output": [...]}, <row fields>}
    the same object plus "reward" and "reward_components"

The ground truth is the row field that `?truth=` names, else the first of `TRUTHS`. The completion
is the assistant's text: every `output_text` of the response's messages, one after the other.
"""

from collections.abc import Iterator, Sequence

from pydantic import ConfigDict

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import ScoreItem, ScoreRequest, ScoreResult
from cohort.integrations.truths import code_cases
from services.reward.dialects.base import ALL, Dialect, Options, Wire, number
from services.reward.dialects.texts import text_of

TRUTHS = ("expected_answer", "ground_truth", "answer", "label")


class Body(Wire):
    """A row with what was asked and what was answered; row fields are kept."""

    model_config = ConfigDict(extra="allow")
    responses_create_params: dict[str, JsonValue] = {}
    response: dict[str, JsonValue]


class Seed(Wire):
    """The beginning of a session; this service keeps none."""


def ask(body: Body, options: Options) -> ScoreRequest:
    """One item."""
    row = body.model_extra or {}
    names = (options["truth"],) if "truth" in options else TRUTHS
    truth = next((row[name] for name in names if name in row), None)
    item = ScoreItem(
        prompt=text_of(body.responses_create_params.get("input")),
        completion="".join(_texts(body.response)),
        ground_truth=code_cases(truth),
    )
    return ScoreRequest(items=(item,))


def answer(body: Body, results: Sequence[ScoreResult], _: Options) -> JsonValue:
    """The request's own fields, untouched, and the reward."""
    [result] = results
    parts = {n: part.value for n, part in result.components.items() if part.value is not None}
    reward: dict[str, JsonValue] = {"reward": number(result), "reward_components": {**parts}}
    sent = {name: getattr(body, name) for name in body.model_fields_set if name not in reward}
    return sent | reward


def _texts(response: dict[str, JsonValue]) -> Iterator[str]:
    output = response.get("output")
    for message in output if isinstance(output, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and part.get("type") == "output_text":
                yield str(part.get("text", ""))


SEED_SESSION = Dialect(
    *("/seed_session", "NeMo-Gym: begin a session", Seed),
    ask=lambda _, __: ScoreRequest(items=()),
    answer=lambda _, __, ___: {},
)
VERIFY = Dialect("/verify", "NeMo-Gym resources server", Body, ask, answer, refuse=ALL)
