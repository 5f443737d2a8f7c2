"""A scalar reward model: a Hugging Face sequence classifier here, or one that vLLM serves.

The value is the model's number for prompt and completion, raw or through a sigmoid. A text that is
too long is unscorable unless the request says where to cut it: a raw score has no number that is
sure to be low, so none is made up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from cohort.contracts.base import JsonValue
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier
from services.reward.verifiers.classifier import Classifier, ClassifierError, Loaded
from services.reward.verifiers.remote import (
    ModelServer,
    ServerTrouble,
    finite,
    judge_each,
    prompt_tokens,
)
from services.reward.verifiers.transcript import broken_up, turns

MAX_CHARS_PER_TOKEN = 64
"""More characters than this for each token that fits are too long without being tokenised."""
Endpoint = Literal["/classify", "/pooling"]


class RewardModelParams(Params):
    """What the model reads, and what is made of its number."""

    chat: bool = True
    """Prompt and completion are turns in the model's chat template (a prompt that is a JSON list of
    messages is taken apart); false: one text, the completion right after the prompt."""
    scale: Literal["raw", "sigmoid"] = "raw"
    """`sigmoid` maps the model's number to 0..1."""
    too_long: Literal["unscorable", "cut_start", "cut_end"] = "unscorable"
    """What happens to a text that the model cannot read whole. `cut_start` loses the prompt first,
    `cut_end` the answer."""


class RewardModelVerifier(Verifier[RewardModelParams]):
    """Without a model: every item is `infra_error`, with the sentence that says what to set."""

    name = "reward_model"
    version = "1"
    description = "A scalar reward model's number for prompt and completion, raw or in 0..1."
    deterministic = False
    params = RewardModelParams

    async def score(
        self, answers: Sequence[Answer], _: RewardModelParams, outcomes: list[Outcome | None]
    ) -> None:
        """Says that there is no model."""
        why = "no reward model: set COHORT_REWARD_MODEL_PATH or COHORT_REWARD_MODEL_URL"
        outcomes[:] = [Outcome.unscored("infra_error", why) for _ in answers]


class LocalRewardModel(RewardModelVerifier):
    """A sequence classifier with one label in this process."""

    deterministic = True

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    async def score(
        self, answers: Sequence[Answer], params: RewardModelParams, outcomes: list[Outcome | None]
    ) -> None:
        """Batches of similar length, one after the other."""
        try:
            rows = await self.classifier.each(answers, partial(_row, params=params))
            readable = [(place, row) for place, row in enumerate(rows) if isinstance(row, _Row)]
            for place, row in enumerate(rows):
                if isinstance(row, str):
                    outcomes[place] = Outcome.unscored("unscorable", row)
            async for batch, logits in self.classifier.logits([row.ids for _, row in readable]):
                for number, logit in zip(batch, logits, strict=True):
                    place, row = readable[number]
                    outcomes[place] = _outcome(logit[0], params, row.metrics)
        except ClassifierError as error:
            trouble = Outcome.unscored("infra_error", str(error))
            outcomes[:] = [outcome or trouble for outcome in outcomes]

    def cache_key(self, answer: Answer, _: RewardModelParams) -> JsonValue:
        """The text and the model's files; not before those are read."""
        model = self.classifier.fingerprint
        return None if model is None else [answer.prompt, answer.completion, model]

    async def missing(self) -> list[str]:
        """The model's folder, when it is not usable."""
        problem = self.classifier.problem()
        return [f"{self.name}: {problem}"] if problem else []


class ServedRewardModel(RewardModelVerifier):
    """vLLM with `--runner pooling`: `/classify`, or `/pooling` with task `classify`."""

    def __init__(
        self, server: ModelServer, model: str | None = None, endpoint: Endpoint = "/classify"
    ) -> None:
        self.server, self.model, self.endpoint = server, model, endpoint

    async def score(
        self, answers: Sequence[Answer], params: RewardModelParams, outcomes: list[Outcome | None]
    ) -> None:
        """One call each, side by side: the server makes its own batches."""

        async def judge(answer: Answer) -> Outcome:
            reply = await self.server.post(self.endpoint, self._request(answer, params))
            number = _last_number(reply, "probs" if self.endpoint == "/classify" else "data")
            return _outcome(number, params, prompt_tokens(reply))

        await judge_each(answers, outcomes, judge)

    def cache_key(self, answer: Answer, _: RewardModelParams) -> JsonValue:  # noqa: ARG002
        """Never: another model may be behind the address tomorrow."""
        return None

    async def missing(self) -> list[str]:
        """The server, when nothing answers there."""
        return await self.server.missing(self.name)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.server.aclose()

    def _request(self, answer: Answer, params: RewardModelParams) -> dict[str, Any]:
        body: dict[str, Any] = {"use_activation": False}
        if params.chat:
            body["messages"] = turns(answer)
        else:
            body["input"] = answer.prompt + broken_up(answer.completion)
        if self.model is not None:
            body["model"] = self.model
        if self.endpoint == "/pooling":
            body["task"] = "classify"
        if params.too_long != "unscorable":
            # To what the model can read. Without a side, vLLM 0.32 cuts the end, older ones the
            # start; those that do not know the field yet cut the start whatever it says.
            body["truncate_prompt_tokens"] = -1
            body["truncation_side"] = "left" if params.too_long == "cut_start" else "right"
        return body


@dataclass(frozen=True, slots=True)
class _Row:
    """Token ids that the model reads, and how many were cut off."""

    ids: list[int]
    cut: int

    @property
    def metrics(self) -> dict[str, float]:
        return {
            "tokens": float(len(self.ids)),
            **({"cut_tokens": float(self.cut)} if self.cut else {}),
        }


def _row(loaded: Loaded, answer: Answer, params: RewardModelParams) -> _Row | str:
    """What the model reads of an answer, or why it cannot."""
    if params.chat and not loaded.tokenizer.chat_template:
        raise ClassifierError("the reward model has no chat template: ask with chat: false")
    most, max_chars = loaded.max_tokens, loaded.max_tokens * MAX_CHARS_PER_TOKEN
    whole, at_start = params.too_long == "unscorable", params.too_long == "cut_start"
    too_long = f"too long for the reward model, which reads {most} tokens: see too_long"
    if whole and len(answer.prompt) + len(answer.completion) > max_chars:
        return too_long
    if params.chat:
        spoken = turns(answer, loaded.marks)
        text = str(loaded.tokenizer.apply_chat_template(spoken, tokenize=False))
    else:
        text = answer.prompt + broken_up(answer.completion, loaded.marks)
    text = text[-max_chars:] if at_start else text[:max_chars]
    ids = loaded.tokenizer(text, add_special_tokens=not params.chat)["input_ids"]
    over = max(0, len(ids) - most)
    if not ids:
        return "neither prompt nor completion has anything to read"
    if over and whole:
        return too_long
    return _Row(ids[over:] if at_start else ids[:most], over)


def _outcome(number: float, params: RewardModelParams, metrics: dict[str, float]) -> Outcome:
    if not math.isfinite(number):
        return Outcome.unscored("infra_error", "the reward model's number is not finite")
    value = sigmoid(number) if params.scale == "sigmoid" else number
    return Outcome(value, verdict="judged", metrics={"raw": number, **metrics})


def sigmoid(number: float) -> float:
    """1 / (1 + exp(-number)), for any finite number."""
    if number >= 0.0:
        return 1.0 / (1.0 + math.exp(-number))
    return math.exp(number) / (1.0 + math.exp(number))


def _last_number(reply: Any, field: str) -> float:
    """`data[-1].<field>[-1]`: the contract that verl's reward loop relies on as well."""
    try:
        rows = reply["data"]
        numbers = rows[-1][field]
    except (TypeError, KeyError, IndexError):
        raise ServerTrouble(f"the model server's reply has no data[-1].{field}") from None
    if not isinstance(rows, list) or len(rows) != 1:
        raise ServerTrouble("the model server answered for another number of texts than one")
    if not isinstance(numbers, list) or not numbers:
        raise ServerTrouble(f"the model server's data[-1].{field} is no list of numbers")
    return finite(numbers[-1])
