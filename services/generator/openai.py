"""OpenAI-compatible routes, so that any client can talk to the policy under training.

Fields that would change the answer and that are not supported are refused, not ignored. A stop
string ends the text, as there, although its tokens were sampled.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from services.generator.engines.base import GroupRequest
from services.generator.requests import while_wanted
from services.generator.sampler import Answer, Policy, Sampler
from services.generator.streaming import stream, until_stop

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

    @app.post("/v1/chat/completions", tags=["openai"], response_model=None)
    async def chat(body: ChatRequest, request: Request) -> dict[str, Any] | StreamingResponse:
        """The next turn of a conversation."""
        await sampler.wait_for(None, 0, 0.0)
        turns = [turn.plain() for turn in body.messages]
        ids = await asyncio.to_thread(sampler.engine.render, turns)
        group = body.group(ids, body.max_completion_tokens or body.max_tokens)
        return await _answer(_CHAT, sampler, group, request, body.stream)

    @app.post("/v1/completions", tags=["openai"], response_model=None)
    async def complete(body: TextRequest, request: Request) -> dict[str, Any] | StreamingResponse:
        """Text that continues a prompt."""
        await sampler.wait_for(None, 0, 0.0)
        ids = body.prompt
        if isinstance(ids, str):
            ids = await asyncio.to_thread(sampler.engine.encode, ids, True)
        return await _answer(_TEXT, sampler, body.group(ids, body.max_tokens), request, body.stream)

    @app.get("/v1/models", tags=["openai"])
    async def models() -> dict[str, Any]:
        """The one policy that is served, if any."""
        policy = sampler.policy
        name = policy.run_id or policy.model
        entry = {"id": name, "object": "model", "created": 0, "owned_by": "cohort"}
        return {"object": "list", "data": [entry] if policy.version >= 0 else []}


@dataclass(frozen=True)
class _Shape:
    """How a route says its choices."""

    prefix: str
    whole: str
    piece: str
    choice: Callable[[str], dict[str, Any]]
    delta: Callable[[str], dict[str, Any]]


_CHAT = _Shape(
    prefix="chatcmpl",
    whole="chat.completion",
    piece="chat.completion.chunk",
    choice=lambda text: {"message": {"role": "assistant", "content": text}},
    delta=lambda text: {"delta": {"role": "assistant", "content": text}},
)
_TEXT = _Shape(
    prefix="cmpl",
    whole="text_completion",
    piece="text_completion",
    choice=lambda text: {"text": text},
    delta=lambda text: {"text": text},
)


async def _answer(
    shape: _Shape, sampler: Sampler, group: GroupRequest, request: Request, streamed: bool
) -> dict[str, Any] | StreamingResponse:
    if not streamed:
        answer = await while_wanted(request, sampler.sample(group, timeout_s=_TIMEOUT_S))
        return _whole(shape, group, answer)
    head = _head(shape, shape.piece, sampler.policy)

    def chunk(index: int, text: str, finish_reason: str | None) -> dict[str, Any]:
        choice = {**shape.delta(text), "index": index, "finish_reason": finish_reason}
        return {**head, "choices": [choice]}

    events = await stream(sampler, group, _TIMEOUT_S, chunk)
    return StreamingResponse(events, media_type="text/event-stream")


def _whole(shape: _Shape, group: GroupRequest, answer: Answer) -> dict[str, Any]:
    num_prompt = len(group.prompt_ids)
    num_sampled = sum(len(done.ids) for done in answer.completions)
    choices = [
        {
            **shape.choice(until_stop(done.text, group.stop)),
            "index": index,
            "finish_reason": done.finish_reason,
            "logprobs": None,
        }
        for index, done in enumerate(answer.completions)
    ]
    usage = {
        "prompt_tokens": num_prompt,
        "completion_tokens": num_sampled,
        "total_tokens": num_prompt + num_sampled,
    }
    return {**_head(shape, shape.whole, answer.policy), "choices": choices, "usage": usage}


def _head(shape: _Shape, kind: str, policy: Policy) -> dict[str, Any]:
    return {
        "id": f"{shape.prefix}-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": policy.run_id or policy.model,
        "system_fingerprint": f"{policy.version}-{policy.fingerprint[:12]}",
    }
