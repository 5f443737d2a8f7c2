"""OpenAI-compatible routes, so that any client can talk to the policy under training.

Fields that would change the answer and that are not supported are refused, not ignored. A stop
string ends the text, as there, although its tokens were sampled.
"""

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import Any, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field

from cohort.web import ApiError
from services.generator.engines.base import GroupRequest, Sampled
from services.generator.requests import while_wanted
from services.generator.sampler import Answer, Sampler

_TIMEOUT_S = 600.0


class TextPart(BaseModel):
    """A piece of a message's content."""

    type: Literal["text"]
    text: str


class Turn(BaseModel):
    """One message."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[TextPart]
    name: str | None = None

    def plain(self) -> dict[str, str]:
        """As chat templates read it."""
        parts = [self.content] if isinstance(self.content, str) else [p.text for p in self.content]
        return {"role": self.role, "content": "".join(parts)}


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    model: str = "policy"
    """Any name: one policy is served."""
    max_tokens: int = Field(default=256, ge=1, le=65536)
    temperature: float = Field(default=1.0, ge=0.0, le=100.0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    n: int = Field(default=1, ge=1, le=128)
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    user: str | None = None
    logprobs: Literal[False] | None = None
    frequency_penalty: Literal[0] | None = None
    presence_penalty: Literal[0] | None = None
    logit_bias: dict[str, float] | None = Field(default=None, max_length=0)

    def stops(self) -> tuple[str, ...]:
        """Stop strings, the empty one left out."""
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(text for text in stop if text)

    def group(self, ids: Sequence[int], max_new_tokens: int) -> GroupRequest:
        """What the sampler is asked; without a seed every request is another draw."""
        return GroupRequest(
            prompt_ids=tuple(ids),
            num_completions=self.n,
            max_new_tokens=max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=uuid.uuid4().int >> 65 if self.seed is None else self.seed,
            stop=self.stops(),
        )


class ChatRequest(_Asked):
    """Body of `/v1/chat/completions`."""

    messages: list[Turn] = Field(min_length=1)
    max_completion_tokens: int | None = Field(default=None, ge=1, le=65536)
    response_format: dict[Literal["type"], Literal["text"]] | None = None


class TextRequest(_Asked):
    """Body of `/v1/completions`."""

    prompt: str | list[int]
    max_tokens: int = Field(default=16, ge=1, le=65536)
    echo: Literal[False] | None = None
    best_of: Literal[1] | None = None


def add_openai_routes(app: FastAPI, sampler: Sampler) -> None:
    """Add /v1/chat/completions, /v1/completions and /v1/models."""

    @app.post("/v1/chat/completions", tags=["openai"])
    async def chat(body: ChatRequest, request: Request) -> dict[str, Any]:
        """The next turn of a conversation."""
        _no_stream(body)
        await sampler.wait_for(None, 0, 0.0)
        turns = [turn.plain() for turn in body.messages]
        ids = await asyncio.to_thread(sampler.engine.render, turns)
        group = body.group(ids, body.max_completion_tokens or body.max_tokens)
        answer = await while_wanted(request, sampler.sample(group, timeout_s=_TIMEOUT_S))
        choices = [
            {"message": {"role": "assistant", "content": _until_stop(done, group.stop)}}
            for done in answer.completions
        ]
        return _reply("chat.completion", "chatcmpl", choices, len(ids), answer)

    @app.post("/v1/completions", tags=["openai"])
    async def complete(body: TextRequest, request: Request) -> dict[str, Any]:
        """Text that continues a prompt."""
        _no_stream(body)
        await sampler.wait_for(None, 0, 0.0)
        ids = body.prompt
        if isinstance(ids, str):
            ids = await asyncio.to_thread(sampler.engine.encode, ids, True)
        group = body.group(ids, body.max_tokens)
        answer = await while_wanted(request, sampler.sample(group, timeout_s=_TIMEOUT_S))
        choices = [{"text": _until_stop(done, group.stop)} for done in answer.completions]
        return _reply("text_completion", "cmpl", choices, len(ids), answer)

    @app.get("/v1/models", tags=["openai"])
    async def models() -> dict[str, Any]:
        """The one policy that is served, if any."""
        policy = sampler.policy
        name = policy.run_id or policy.model
        entry = {"id": name, "object": "model", "created": 0, "owned_by": "cohort"}
        return {"object": "list", "data": [entry] if policy.version >= 0 else []}


def _no_stream(body: _Asked) -> None:
    if body.stream:
        raise ApiError(422, "not_supported", "stream is not supported yet: ask without it.")


def _until_stop(done: Sampled, stops: Sequence[str]) -> str:
    ends = [done.text.find(stop) for stop in stops if stop in done.text]
    return done.text[: min(ends)] if ends else done.text


def _reply(
    kind: str, prefix: str, choices: list[dict[str, Any]], num_prompt: int, answer: Answer
) -> dict[str, Any]:
    num_sampled = sum(len(done.ids) for done in answer.completions)
    for index, (choice, done) in enumerate(zip(choices, answer.completions, strict=True)):
        choice |= {"index": index, "finish_reason": done.finish_reason, "logprobs": None}
    return {
        "id": f"{prefix}-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": answer.policy.run_id or answer.policy.model,
        "system_fingerprint": f"{answer.policy.version}-{answer.policy.fingerprint[:12]}",
        "choices": choices,
        "usage": {
            "prompt_tokens": num_prompt,
            "completion_tokens": num_sampled,
            "total_tokens": num_prompt + num_sampled,
        },
    }
