"""From a request's prompt to token ids, and the end of requests that nobody waits for any more."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from fastapi import Request

from cohort.contracts.generator import ChatMessage, GenerateRequest, RenderRequest
from cohort.web import ApiError
from services.generator.engines.base import Engine

T = TypeVar("T")
_LOOK_S = 0.25
"""How often a connection is looked at while its request is in work."""


def prompt_ids(engine: Engine, body: GenerateRequest) -> tuple[int, ...]:
    """The prompt of a request, from the one form that it has. Raises `ApiError`, `EngineError`."""
    forms = (body.prompt_ids, body.prompt, body.messages)
    if sum(form is not None for form in forms) != 1:
        raise ApiError(422, "invalid_request", "Give exactly one of prompt_ids, prompt, messages.")
    if body.prompt_ids is not None:
        return body.prompt_ids
    if body.messages is not None:
        return tuple(engine.render(turns(body.messages)))
    return tuple(engine.encode(body.prompt or "", special=True))


def rendered(engine: Engine, body: RenderRequest) -> tuple[int, ...]:
    """Ids of messages or text after the prefix. Raises `ApiError`, `EngineError`."""
    if (body.messages is None) == (body.text is None):
        raise ApiError(422, "invalid_request", "Give exactly one of messages, text.")
    if body.messages is not None:
        return (*body.prefix_ids, *engine.render(turns(body.messages)))
    return (*body.prefix_ids, *engine.encode(body.text or "", special=not body.prefix_ids))


def turns(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
    """Messages as chat templates read them."""
    return [{"role": message.role, "content": message.content} for message in messages]


async def while_wanted(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do the work, but drop it when the client hangs up."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=_LOOK_S)
            if not task.done() and await request.is_disconnected():
                raise ApiError(499, "client_gone", "The client closed the connection.")
        return task.result()
    finally:
        task.cancel()
