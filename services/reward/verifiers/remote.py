"""A model behind HTTP, trusted with nothing: its replies are bounded, checked and never a silent 0.

A call that finds no server, or is told 429 or 5xx, is repeated with growing pauses; all tries of a
call share one deadline. What is wrong in the end is a `ServerTrouble`, or `Refused` when the server
will not take this text whoever asks again.
"""

from __future__ import annotations

import json
import logging
import math
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import httpx

from services.reward.verifiers.base import Answer, Outcome

log = logging.getLogger("cohort.reward")
_PATIENCE_S = 1.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 10.0
_REFUSALS = frozenset({400, 413, 422})


class ServerTrouble(Exception):
    """No usable reply: one sentence that says who and why."""


class Refused(ServerTrouble):
    """The server cannot take this text, for example because it is too long for the model."""


class ModelServer:
    """Posts JSON to one server, `concurrency` calls at a time; the answer is its JSON."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        concurrency: int = 32,
        timeout_s: float = 60.0,
        max_tries: int = 6,
        max_reply_bytes: int = 4 * 1024**2,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = httpx.URL(url.rstrip("/"))
        self.timeout_s, self.max_tries, self.max_reply_bytes = timeout_s, max_tries, max_reply_bytes
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._room = anyio.Semaphore(concurrency)
        self._http = httpx.AsyncClient(
            headers=headers,
            timeout=timeout_s,
            transport=transport,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=concurrency),
        )

    @property
    def shown(self) -> str:
        """The address without credentials, for sentences."""
        return f"{self.url.scheme}://{self.url.netloc.decode('ascii')}"

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The reply's JSON. Raises `ServerTrouble`; the deadline starts when there is room."""
        content = json.dumps(body).encode()
        async with self._room:
            last = "it does not answer"
            try:
                with anyio.fail_after(self.timeout_s):
                    for number in range(self.max_tries):
                        try:
                            return await self._once(f"{self.url}{path}", content)
                        except _Again as again:
                            last = again.why
                            if number + 1 < self.max_tries:
                                await anyio.sleep(again.wait_s(number))
            except TimeoutError:
                raise ServerTrouble(
                    f"no reply from {self.shown} within {self.timeout_s:g} s ({last})"
                ) from None
        raise ServerTrouble(f"{self.shown} failed {self.max_tries} times: {last}")

    async def missing(self, who: str) -> list[str]:
        """A sentence when nothing answers there; any HTTP answer will do."""
        try:
            with anyio.fail_after(_PATIENCE_S):
                async with self._http.stream("HEAD", self.url):
                    return []
        except (httpx.TransportError, TimeoutError) as error:
            why = str(error) or type(error).__name__
            return [f"{who}: cannot reach {self.shown} ({why})"]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _once(self, url: str, content: bytes) -> Any:
        try:
            async with self._http.stream("POST", url, content=content) as response:
                body = await self._read(response)
        except httpx.TransportError as error:
            raise _Again(f"cannot reach it, {str(error) or type(error).__name__}") from None
        status = response.status_code
        if status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise _Again(f"{status} {_words(body)}", response.headers.get("retry-after"))
        if status != httpx.codes.OK:
            kind = Refused if status in _REFUSALS else ServerTrouble
            raise kind(f"{self.shown} answered {status}: {_words(body)}")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise ServerTrouble(f"the reply of {self.shown} is not JSON") from None

    async def _read(self, response: httpx.Response) -> bytes:
        """The body as sent: a compressed one could grow without bound, and was not asked for."""
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ServerTrouble(f"the reply of {self.shown} is compressed")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self.max_reply_bytes:
                raise ServerTrouble(
                    f"the reply of {self.shown} is larger than {self.max_reply_bytes} bytes"
                )
        return bytes(body)


class _Again(Exception):
    """Worth another try, after a pause that the server may have named."""

    def __init__(self, why: str, retry_after: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        asked = retry_after if retry_after and len(retry_after) < 6 else ""
        self.asked_s = float(asked) if asked.isdecimal() and asked.isascii() else 0.0

    def wait_s(self, number: int) -> float:
        """Seconds before the next try."""
        wait_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0**number) * random.uniform(0.5, 1.0)
        return max(wait_s, self.asked_s)


async def judge_each(
    answers: Sequence[Answer],
    outcomes: list[Outcome | None],
    judge: Callable[[Answer], Awaitable[Outcome]],
) -> None:
    """All answers side by side; one item's trouble does not take the others along."""

    async def one(place: int, answer: Answer) -> None:
        try:
            outcomes[place] = await judge(answer)
        except Refused as refusal:
            outcomes[place] = Outcome.unscored("unscorable", str(refusal))
        except ServerTrouble as trouble:
            outcomes[place] = Outcome.unscored("infra_error", str(trouble))
        except Exception as error:
            log.error("cannot judge an answer", exc_info=error)
            why = f"unexpected {type(error).__name__}; the log has it"
            outcomes[place] = Outcome.unscored("infra_error", why)

    async with anyio.create_task_group() as group:
        for place, answer in enumerate(answers):
            group.start_soon(one, place, answer)


def finite(value: Any) -> float:
    """A number of a reply as a float. Raises `ServerTrouble` for anything else, NaN included."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ServerTrouble("the model server's reply has something else where a finite number belongs")


def prompt_tokens(reply: Any) -> dict[str, float]:
    """What the server says it read, as a metric; nothing when it does not say."""
    usage = reply.get("usage") if isinstance(reply, dict) else None
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    known = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 2**53
    return {"tokens": float(tokens)} if known and tokens is not None else {}


def _words(body: bytes) -> str:
    """The server's own words, short and on one line."""
    text = body[:2_000].decode("utf-8", "replace")
    try:
        reply = json.loads(body)
        error = reply.get("error", reply) if isinstance(reply, dict) else None
        message = error.get("message") if isinstance(error, dict) else error
        text = message if isinstance(message, str) else text
    except (ValueError, RecursionError):
        pass
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:2_000]).split())
    return line[:200] or "(nothing)"
