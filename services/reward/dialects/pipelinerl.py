"""PipelineRL's math verifier: only the last box counts, and the reply is a word.

    POST /verify_answer {"prediction", "gold", "strict": true, "max_prediction_length": 1000}
    {"answer_status": "correct" | "wrong" | "no_answer" | "unparsable"}

As there: without `\\boxed{` it is `no_answer`; a box that runs on for too long is `unparsable`. The
comparison is always strict, and countdown puzzles are not known here.
"""

from collections.abc import Sequence

from pydantic import Field

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import ScoreItem, ScoreRequest, ScoreResult
from services.reward.dialects.base import Dialect, Options, Wire

_WORDS = {"correct": "correct", "wrong": "wrong", "no_answer": "no_answer"}


class Body(Wire):
    """One answer and the right one."""

    prediction: str
    gold: str
    strict: bool = True
    """Accepted for the protocol's sake."""
    max_prediction_length: int = Field(default=1_000, ge=0)
    """Characters from the last box to the end."""


def ask(body: Body, _: Options) -> ScoreRequest:
    """The last box and what follows; nothing when there is no box. The client waits 300 s."""
    item = ScoreItem(completion=_boxed(body), ground_truth=body.gold)
    return ScoreRequest(items=(item,), timeout_s=60.0)


def answer(body: Body, results: Sequence[ScoreResult], _: Options) -> JsonValue:
    """Anything that is neither right nor wrong nor missing is unparsable."""
    [result] = results
    boxed = _boxed(body)
    too_long = len(boxed) > body.max_prediction_length or "\\boxed{}" in boxed
    word = "unparsable" if too_long else _WORDS.get(result.verdict or "", "unparsable")
    return {"answer_status": word}


def _boxed(body: Body) -> str:
    at = body.prediction.rfind("\\boxed{")
    return body.prediction[at:] if at >= 0 else ""


VERIFY_ANSWER = Dialect("/verify_answer", "PipelineRL math verifier", Body, ask, answer)
