"""Server-sent events of the OpenAI-compatible routes: text goes out as its tokens are sampled."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from services.generator.engines.base import GroupRequest
from services.generator.sampler import Answer, Sampler, SamplerError

Chunk = Callable[[int, str, str | None], dict[str, Any]]
"""Shapes an event: choice index, new text, finish reason (None until the end)."""


def until_stop(text: str, stops: Sequence[str]) -> str:
    """The text before the first stop string."""
    ends = [text.find(stop) for stop in stops if stop in text]
    return text[: min(ends)] if ends else text


class Spoken:
    """How much of a completion's text has gone out."""

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str]) -> None:
        self.decode, self.stops = decode, stops
        self.held = max((len(stop) - 1 for stop in stops), default=0)
        self.ids: list[int] = []
        self.sent = 0

    def hear(self, token: int) -> str:
        """New text that is certain: no half character, nothing that may begin a stop string."""
        self.ids.append(token)
        text = self.decode(self.ids).rstrip("�")
        cut = until_stop(text, self.stops)
        return self._new(cut if cut != text else text[: len(text) - self.held])

    def finish(self, text: str) -> str:
        """The rest of the final text."""
        return self._new(until_stop(text, self.stops))

    def _new(self, text: str) -> str:
        new, self.sent = text[self.sent :], max(self.sent, len(text))
        return new


async def stream(
    sampler: Sampler, group: GroupRequest, timeout_s: float, chunk: Chunk
) -> AsyncIterator[bytes]:
    """Events of one request, once its first token is there. Raises `SamplerError` before that.

    A client that goes away takes its request out of the batch.
    """
    loop = asyncio.get_running_loop()
    heard: asyncio.Queue[tuple[int, int] | None] = asyncio.Queue()

    def on_token(completion: int, token: int) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, (completion, token))

    sampling = asyncio.create_task(sampler.sample(group, timeout_s=timeout_s, on_token=on_token))
    sampling.add_done_callback(lambda _: heard.put_nowait(None))
    try:
        first = await heard.get()
        if first is None:
            sampling.result()
    except BaseException:
        sampling.cancel()
        raise
    return _events(sampler, group, sampling, first, heard, chunk)


async def _events(
    sampler: Sampler,
    group: GroupRequest,
    sampling: "asyncio.Task[Answer]",
    first: tuple[int, int] | None,
    heard: "asyncio.Queue[tuple[int, int] | None]",
    chunk: Chunk,
) -> AsyncIterator[bytes]:
    spoken = [Spoken(sampler.engine.decode, group.stop) for _ in range(group.num_completions)]
    try:
        item = first
        while item is not None:
            index, token = item
            if text := spoken[index].hear(token):
                yield _event(chunk(index, text, None))
            item = await heard.get()
        for index, done in enumerate((await sampling).completions):
            yield _event(chunk(index, spoken[index].finish(done.text), done.finish_reason))
    except SamplerError as error:
        yield _event({"error": {"code": error.code, "message": f"{error}.", "details": {}}})
    finally:
        sampling.cancel()
    yield b"data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()
