"""How clients reach services: typed errors, retries with backoff, timeouts. Knows no service.

A call that cannot reach its service, or is told to come back later, is repeated for `retry_for_s`
seconds; every other answer that is not a success raises `ServiceError` at once.
"""

import random
import time
from typing import Any, Self, TypeVar

import anyio
import httpx
from pydantic import BaseModel

from cohort.contracts.base import ErrorBody

R = TypeVar("R", bound=BaseModel)
RETRIED = frozenset({429, 502, 503, 504})


class ServiceError(Exception):
    """A service answered with an error; `code` and `message` are its own words."""

    def __init__(self, service: str, status: int, code: str, message: str) -> None:
        super().__init__(f"{service}: {message}")
        self.service, self.status, self.code, self.message = service, status, code, message


class Unreachable(ServiceError):
    """No answer: the connection was refused, broke or timed out."""

    def __init__(self, service: str, url: str, why: str) -> None:
        super().__init__(service, 0, "unreachable", f"cannot reach {url} ({why})")


class Retry:
    """Exponential backoff with jitter, bounded by a total time; honours Retry-After."""

    def __init__(self, retry_for_s: float) -> None:
        self.until = time.monotonic() + retry_for_s
        self.wait_s = 0.1

    def next_wait_s(self, error: ServiceError, retry_after: str | None = None) -> float:
        """Seconds to wait before the next try; raises `error` when there is none."""
        if not isinstance(error, Unreachable) and error.status not in RETRIED:
            raise error
        wait_s = self.wait_s * random.uniform(0.5, 1.0)
        if retry_after and retry_after.isdigit():
            wait_s = max(wait_s, float(retry_after))
        if time.monotonic() + wait_s > self.until:
            raise error
        self.wait_s = min(self.wait_s * 2, 5.0)
        return wait_s


def _headers(api_key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def error_of(service: str, response: httpx.Response) -> ServiceError:
    """The error that an answer carries, in the service's own words where it has any."""
    try:
        detail = ErrorBody.model_validate_json(response.content).error
        return ServiceError(service, response.status_code, detail.code, detail.message)
    except ValueError:
        text = response.text[:200].strip() or response.reason_phrase
        return ServiceError(service, response.status_code, "http_error", text)


def _is_service(response: httpx.Response, service: str) -> bool:
    try:
        return response.is_success and response.json().get("service") == service
    except (ValueError, AttributeError):
        return False


def _body(body: BaseModel | None) -> dict[str, Any]:
    if body is None:
        return {}
    return {"content": body.model_dump_json(), "headers": {"Content-Type": "application/json"}}


class Client:
    """A blocking client of one service."""

    service = "service"

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        retry_for_s: float = 10.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url, self.retry_for_s = url.rstrip("/"), retry_for_s
        self.http = httpx.Client(
            base_url=self.url, headers=_headers(api_key), timeout=timeout_s, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def request(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        """Send, with retries. Raises `ServiceError` unless the answer is a success."""
        retry = Retry(self.retry_for_s)
        while True:
            try:
                response = self.http.request(method, path, **kwargs)
            except httpx.TransportError as error:
                why = str(error) or type(error).__name__
                time.sleep(retry.next_wait_s(Unreachable(self.service, self.url, why)))
                continue
            if response.is_success:
                return response
            failure = error_of(self.service, response)
            time.sleep(retry.next_wait_s(failure, response.headers.get("retry-after")))

    def call(self, method: str, path: str, reply: type[R], body: BaseModel | None = None) -> R:
        """Send a message, return the answer as `reply`."""
        return reply.model_validate_json(self.request(method, path, **_body(body)).content)

    def health(self) -> bool:
        """Whether this service, and not another one, answers; without retrying."""
        try:
            return _is_service(self.http.get("/health"), self.service)
        except (httpx.HTTPError, httpx.InvalidURL):
            return False


class AsyncClient:
    """The same under asyncio or Trio."""

    service = "service"

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        retry_for_s: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url, self.retry_for_s = url.rstrip("/"), retry_for_s
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self.http = httpx.AsyncClient(
            base_url=self.url,
            headers=_headers(api_key),
            timeout=timeout_s,
            transport=transport,
            limits=limits,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()

    async def request(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        """Send, with retries. Raises `ServiceError` unless the answer is a success."""
        retry = Retry(self.retry_for_s)
        while True:
            try:
                response = await self.http.request(method, path, **kwargs)
            except httpx.TransportError as error:
                why = str(error) or type(error).__name__
                await anyio.sleep(retry.next_wait_s(Unreachable(self.service, self.url, why)))
                continue
            if response.is_success:
                return response
            failure = error_of(self.service, response)
            await anyio.sleep(retry.next_wait_s(failure, response.headers.get("retry-after")))

    async def call(
        self,
        method: str,
        path: str,
        reply: type[R],
        body: BaseModel | None = None,
        timeout_s: float | None = None,
    ) -> R:
        """Send a message, return the answer as `reply`."""
        kwargs = _body(body) | ({} if timeout_s is None else {"timeout": timeout_s})
        return reply.model_validate_json((await self.request(method, path, **kwargs)).content)

    async def health(self) -> bool:
        """Whether this service, and not another one, answers; without retrying."""
        try:
            return _is_service(await self.http.get("/health"), self.service)
        except (httpx.HTTPError, httpx.InvalidURL):
            return False

    async def ready(self) -> list[str]:
        """What the service says it is missing; empty when it can work. Raises `Unreachable`."""
        try:
            response = await self.http.get("/ready")
        except httpx.TransportError as error:
            raise Unreachable(self.service, self.url, str(error) or type(error).__name__) from None
        if response.status_code in (200, 503):
            return [str(what) for what in response.json().get("missing", [])]
        raise error_of(self.service, response)
