"""A process reward model: a token classifier, here or behind vLLM's /pooling, scores each step.

The completion is cut into steps, a mark follows each of them, and the model says at every mark how
likely the solution is still right. Marks and special tokens in the policy's own text are broken up,
so that it cannot add a step; a reply with another number of scores is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from cohort.contracts.base import JsonValue
from services.reward.verifiers.aggregation import Aggregation, aggregate
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier
from services.reward.verifiers.classifier import Classifier, ClassifierError, Loaded
from services.reward.verifiers.remote import (
    ModelServer,
    ServerTrouble,
    finite,
    judge_each,
    prompt_tokens,
)
from services.reward.verifiers.reward_model import MAX_CHARS_PER_TOKEN, sigmoid
from services.reward.verifiers.step_marks import STYLES, Style, StyleName, conversation, marked
from services.reward.verifiers.transcript import Turn, broken_up, split_steps


class PrmParams(Params):
    """What a step is, and what its scores make of a solution."""

    split: Literal["blank_line", "line"] = "blank_line"
    """Steps are paragraphs, or lines."""
    aggregation: Aggregation = "min"
    """One value from the steps; `pure` is a soft minimum."""
    temperature: float = Field(default=0.1, ge=1e-3, le=100.0)
    """Of the soft minimum."""
    scale: Literal["probability", "signed"] = "probability"
    """A step's score: P(right) in 0..1, or P(right) - P(wrong) in -1..1."""
    max_steps: int = Field(default=256, ge=1, le=4_096)
    """A completion with more has the lowest value, verdict `limit`."""

    @model_validator(mode="after")
    def _products_need_probabilities(self) -> Self:
        if self.aggregation == "product" and self.scale == "signed":
            raise ValueError("aggregation: two negative scores would make a good product")
        return self

    @property
    def lowest(self) -> float:
        """The value of a completion that offers the model nothing to judge."""
        return -1.0 if self.scale == "signed" else 0.0


class PrmVerifier(Verifier[PrmParams]):
    """Without a model: every item is `infra_error`, with the sentence that says what to set."""

    name = "prm"
    version = "1"
    description = "A process reward model's score for each step, and one value made of them."
    deterministic = False
    params = PrmParams

    async def score(
        self, answers: Sequence[Answer], _: PrmParams, outcomes: list[Outcome | None]
    ) -> None:
        """Says that there is no model."""
        why = "no process reward model: set COHORT_PRM_PATH or COHORT_PRM_URL"
        outcomes[:] = [Outcome.unscored("infra_error", why) for _ in answers]


class LocalPrm(PrmVerifier):
    """A token classifier with two labels in this process, as TRL's PRMTrainer saves it."""

    deterministic = True

    def __init__(self, classifier: Classifier, style: StyleName = "trl") -> None:
        self.classifier, self.style = classifier, STYLES[style]

    async def score(
        self, answers: Sequence[Answer], params: PrmParams, outcomes: list[Outcome | None]
    ) -> None:
        """Batches of similar length, one after the other."""
        try:
            read = partial(_row, style=self.style, params=params)
            rows = await self.classifier.each(answers, read)
            readable = [(place, row) for place, row in enumerate(rows) if isinstance(row, _Row)]
            for place, row in enumerate(rows):
                if isinstance(row, Outcome):
                    outcomes[place] = row
            async for batch, logits in self.classifier.logits([row.ids for _, row in readable]):
                for number, logit in zip(batch, logits, strict=True):
                    place, row = readable[number]
                    outcomes[place] = self._outcome(row, logit, params)
        except ClassifierError as error:
            trouble = Outcome.unscored("infra_error", str(error))
            outcomes[:] = [outcome or trouble for outcome in outcomes]

    def cache_key(self, answer: Answer, _: PrmParams) -> JsonValue:
        """The text and the model's files; not before those are read."""
        model = self.classifier.fingerprint
        return None if model is None else [answer.prompt, answer.completion, model]

    async def missing(self) -> list[str]:
        """The model's folder, when it is not usable."""
        problem = self.classifier.problem()
        return [f"{self.name}: {problem}"] if problem else []

    def _outcome(self, row: _Row, logits: Sequence[Sequence[float]], params: PrmParams) -> Outcome:
        positive = self.style.positive
        try:
            found = [
                sigmoid(finite(logits[at][positive]) - finite(logits[at][1 - positive]))
                for at in row.marks
            ]
        except ServerTrouble:
            return Outcome.unscored("infra_error", "the model's step scores are not finite")
        return _outcome(row.steps, found, params, {"tokens": float(len(row.ids))})


class ServedPrm(PrmVerifier):
    """vLLM's /pooling with STEP pooling: one row of two probabilities for each mark."""

    def __init__(
        self, server: ModelServer, model: str | None = None, style: StyleName = "qwen"
    ) -> None:
        self.server, self.model, self.style = server, model, STYLES[style]

    async def score(
        self, answers: Sequence[Answer], params: PrmParams, outcomes: list[Outcome | None]
    ) -> None:
        """One call each, side by side: the server makes its own batches."""

        async def judge(answer: Answer) -> Outcome:
            steps = split_steps(answer.completion, params.split)
            if refused := _nothing_to_judge(steps, params):
                return refused
            reply = await self.server.post("/pooling", self._request(answer, steps))
            found = _probabilities(reply, len(steps), self.style.positive)
            return _outcome(steps, found, params, prompt_tokens(reply))

        await judge_each(answers, outcomes, judge)

    def cache_key(self, answer: Answer, _: PrmParams) -> JsonValue:  # noqa: ARG002
        """Never: another model may be behind the address tomorrow."""
        return None

    async def missing(self) -> list[str]:
        """The server, when nothing answers there."""
        return await self.server.missing(self.name)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.server.aclose()

    def _request(self, answer: Answer, steps: Sequence[tuple[int, int]]) -> dict[str, Any]:
        style = self.style
        body: dict[str, Any] = {} if self.model is None else {"model": self.model}
        if style.chat:
            return body | {"messages": conversation(answer, steps, style, [style.mark])}
        prompt = broken_up(answer.prompt, [style.mark]) + style.after_prompt
        spoken = marked(answer, steps, style, [style.mark])
        return body | {"input": prompt + spoken}


@dataclass(frozen=True, slots=True)
class _Row:
    """Token ids, where the marks are in them, and the steps that they end."""

    ids: list[int]
    marks: list[int]
    steps: list[tuple[int, int]]


def _row(loaded: Loaded, answer: Answer, style: Style, params: PrmParams) -> _Row | Outcome:
    steps = split_steps(answer.completion, params.split)
    if refused := _nothing_to_judge(steps, params):
        return refused
    max_chars = loaded.max_tokens * MAX_CHARS_PER_TOKEN
    if len(answer.prompt) > max_chars:
        return Outcome.unscored("unscorable", "the prompt is too long for the model")
    if len(answer.completion) > max_chars:
        return Outcome(params.lowest, verdict="limit")
    tokenise = _chat_row if style.chat else _plain_row
    prompt, ids, marks = tokenise(loaded, answer, style, steps)
    if prompt >= loaded.max_tokens:
        return Outcome.unscored("unscorable", "the prompt is too long for the model")
    if len(ids) > loaded.max_tokens:
        return Outcome(params.lowest, verdict="limit")
    if len(marks) != len(steps):
        why = f"the model's template shows {len(marks)} step marks for {len(steps)} steps"
        return Outcome.unscored("infra_error", why)
    return _Row(ids, marks, steps)


def _plain_row(
    loaded: Loaded, answer: Answer, style: Style, steps: Sequence[tuple[int, int]]
) -> tuple[int, list[int], list[int]]:
    """As TRL's PRMTrainer: prompt, steps and separators are tokenised one by one."""

    def tokens(text: str) -> list[int]:
        return list(loaded.tokenizer(text, add_special_tokens=False)["input_ids"])

    bos, mark = loaded.tokenizer.bos_token_id, tokens(style.mark)
    ids = ([] if bos is None else [bos]) + tokens(answer.prompt + style.after_prompt)
    prompt, marks = len(ids), []
    for start, end in steps:
        ids += tokens(broken_up(answer.completion[start:end], [style.mark, *loaded.marks])) + mark
        marks.append(len(ids) - 1)
    return prompt, ids, marks


def _chat_row(
    loaded: Loaded, answer: Answer, style: Style, steps: Sequence[tuple[int, int]]
) -> tuple[int, list[int], list[int]]:
    """As Qwen2.5-Math-PRM: a conversation, its marks found again as tokens."""
    tokenizer = loaded.tokenizer
    if not tokenizer.chat_template:
        raise ClassifierError("the process reward model has no chat template: set another style")
    mark = tokenizer(style.mark, add_special_tokens=False)["input_ids"]
    if len(mark) != 1:
        raise ClassifierError(f"{style.mark} is no single token of the process reward model")
    spoken = conversation(answer, steps, style, [style.mark, *loaded.marks])

    def tokens(conversation: list[Turn]) -> list[int]:
        text = tokenizer.apply_chat_template(conversation, tokenize=False)
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    ids = tokens(spoken)
    prompt = len(tokens(spoken[:-1])) if len(ids) > loaded.max_tokens else 0
    return prompt, ids, [at for at, token in enumerate(ids) if token == mark[0]]


def _nothing_to_judge(steps: Sequence[object], params: PrmParams) -> Outcome | None:
    if not steps:
        return Outcome(params.lowest, verdict="no_answer")
    return Outcome(params.lowest, verdict="limit") if len(steps) > params.max_steps else None


def _probabilities(reply: Any, steps: int, positive: int) -> list[float]:
    """`data[0].data`: a row of two probabilities for each step."""
    try:
        (entry,) = reply["data"]
        rows = entry["data"]
        if not isinstance(rows, list) or any(len(row) != 2 for row in rows):
            raise ValueError
    except (TypeError, KeyError, ValueError):
        raise ServerTrouble("the model server's reply has no data[0].data of pairs") from None
    if len(rows) != steps:
        raise ServerTrouble(
            f"the model server scored {len(rows)} steps of {steps}: does it pool at the step marks?"
        )
    found = [(finite(row[positive]), finite(row[1 - positive])) for row in rows]
    if any(min(pair) < 0.0 or abs(sum(pair) - 1.0) > 0.01 for pair in found):
        raise ServerTrouble("the model server's step scores are no probabilities")
    return [min(1.0, right) for right, _ in found]


def _outcome(
    steps: Sequence[tuple[int, int]],
    right: Sequence[float],
    params: PrmParams,
    metrics: dict[str, float],
) -> Outcome:
    scores = [2.0 * p - 1.0 for p in right] if params.scale == "signed" else list(right)
    return Outcome(
        aggregate(scores, params.aggregation, params.temperature),
        verdict="judged",
        metrics={"steps": float(len(steps)), "min_step": min(scores), **metrics},
        steps=tuple((end, score) for (_, end), score in zip(steps, scores, strict=True)),
    )
