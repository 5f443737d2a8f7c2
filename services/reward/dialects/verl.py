"""verl's discriminative reward model: the vLLM and the SGLang server that it would ask.

    POST /classify {"model", "input": "<chat text>", "use_activation": false} -> data[-1].probs[-1]
    POST /v1/embeddings {"model", "input": "<chat text>"} -> data[-1].embedding[-1]

A chat text has no ground truth, so this is for verifiers that need none (`reward_model`, `judge`,
`format`, ...); one that needs it is refused with 422, which verl does not repeat. The score is
never squashed. verl's rule rewards come by `cohort.integrations.verl` instead.
"""

from collections.abc import Sequence

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import ScoreItem, ScoreRequest, ScoreResult
from services.reward.dialects.base import INFRA, Dialect, Options, Wire, number
from services.reward.dialects.texts import split_at_assistant, without_special_tokens


class Body(Wire):
    """The fields that are looked at; the engines have more."""

    model: str = ""
    input: str | list[str]


def ask(body: Body, _: Options) -> ScoreRequest:
    """One item for each text; the last turn is what is judged. The client has no time limit."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    parts = [split_at_assistant(text) or ("", text) for text in texts]
    items = tuple(
        ScoreItem(prompt=prompt, completion=without_special_tokens(completion))
        for prompt, completion in parts
    )
    return ScoreRequest(items=items, timeout_s=300.0)


def classified(body: Body, results: Sequence[ScoreResult], _: Options) -> JsonValue:
    """As vLLM's `/classify` with one class."""
    return _listed(
        body,
        [
            {"index": index, "label": "reward", "probs": [number(result)], "num_classes": 1}
            for index, result in enumerate(results)
        ],
    )


def embedded(body: Body, results: Sequence[ScoreResult], _: Options) -> JsonValue:
    """As SGLang's `/v1/embeddings` of a reward model: a vector of one number."""
    return _listed(
        body,
        [
            {"index": index, "object": "embedding", "embedding": [number(result)]}
            for index, result in enumerate(results)
        ],
    )


def _listed(body: Body, data: list[JsonValue]) -> JsonValue:
    usage: JsonValue = {"prompt_tokens": 0, "total_tokens": 0, "completion_tokens": 0}
    return {"object": "list", "model": body.model, "data": data, "usage": usage}


_REFUSE = {**INFRA, "unscorable": 422}
CLASSIFY = Dialect(
    *("/classify", "vLLM reward model, as verl asks it", Body, ask, classified),
    refuse=_REFUSE,
    model=lambda body: body.model,
)
EMBEDDINGS = Dialect(
    *("/v1/embeddings", "SGLang reward model, as verl asks it", Body, ask, embedded),
    refuse=_REFUSE,
    model=lambda body: body.model,
)
