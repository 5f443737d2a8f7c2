"""What every app has: /health /ready /metrics, one error shape, request ids, API key, body limit.

`create_service` returns a FastAPI app with all of it; a service adds its own routes. A route raises
`ApiError` for anything that the caller should know; a bug becomes a 500 `internal` with the request
id in it, and its traceback goes to the log.
"""

import inspect
import logging
import os
import re
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cohort.api_keys import key_given, read_keys
from cohort.config import ServiceSettings, sentence
from cohort.logs import mask

log = logging.getLogger("cohort.web")
_REQUEST_ID = re.compile(r"^[A-Za-z0-9._-]{1,128}$")

_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}

ReadyCheck = Callable[[], Awaitable[Sequence[str]]]
"""Returns what is missing, one sentence each; empty when the service can work."""
ReadyDetails = Callable[[], dict[str, Any] | Awaitable[dict[str, Any]]]
"""Returns more keys for the answer of /ready."""


class ApiError(Exception):
    """An error for the caller: HTTP status, stable code, one sentence, and headers if any."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: dict[str, Any] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.details = details or {}
        self.retry_after_s = retry_after_s


def error_response(error: ApiError) -> JSONResponse:
    """The body that every error has."""
    body = {"error": {"code": error.code, "message": error.message, "details": error.details}}
    headers = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    return JSONResponse(body, status_code=error.status, headers=headers)


class Gate:
    """ASGI layer in front of a service: request id, API key, body limit, access log, counters."""

    def __init__(
        self,
        app: ASGIApp,
        service: str,
        settings: ServiceSettings,
        registry: CollectorRegistry,
        open_paths: Sequence[str] = (),
    ) -> None:
        self.app, self.settings = app, settings
        self.keys = read_keys(settings.api_key)
        self.open_paths = frozenset({"/health", *open_paths})
        self.max_body = int(settings.max_body_mb * 1024 * 1024)
        self.requests = Counter(
            f"cohort_{service}_requests_total",
            "Requests by route and status",
            ["route", "status"],
            registry=registry,
        )
        self.seconds = Histogram(
            f"cohort_{service}_request_seconds", "Time to answer", ["route"], registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        given = request.headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.match(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-request-id", request_id.encode()),
                ]
            await send(message)

        try:
            refused = self._refuse(request)
            if refused is not None:
                await error_response(refused)(scope, receive, send_with_id)
            else:
                await self.app(scope, self._limited(receive), send_with_id)
        except ClientDisconnect:
            status = status or 499  # it hung up: there is nobody to answer
        except Exception as error:
            if status:
                raise  # half an answer is out: closing the connection is all that is left
            await error_response(_bug(error, request_id))(scope, receive, send_with_id)
        finally:
            self._account(request, request_id, status, time.perf_counter() - started)

    def _account(self, request: Request, request_id: str, status: int, took_s: float) -> None:
        """Counters and the access log, without bodies."""
        route = getattr(request.scope.get("route"), "path", "other")
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(took_s)
        fields = {"request_id": request_id, "status": status, "ms": round(took_s * 1e3, 2)}
        quiet = request.url.path in {"/health", "/ready", "/metrics"}
        level = logging.DEBUG if quiet else logging.INFO
        path = mask(request.url.path)
        log.log(level, "%s %s", request.method, path, extra={"fields": fields})

    def _refuse(self, request: Request) -> ApiError | None:
        guarded = self.keys and request.url.path not in self.open_paths
        if guarded and not key_given(request, self.keys):
            return ApiError(
                401,
                "unauthorized",
                "This service needs its API key: send `Authorization: Bearer <key>`.",
            )
        length = request.headers.get("content-length", "0")
        if not length.isdigit():
            return ApiError(400, "bad_request", "Content-Length must be a number.")
        if int(length) > self.max_body:
            return self._too_large()
        return None

    def _too_large(self) -> ApiError:
        limit = f"{self.settings.max_body_mb:g} MB"
        return ApiError(
            413, "body_too_large", f"The request body is larger than {limit}: send less at a time."
        )

    def _limited(self, receive: Receive) -> Receive:
        """Count a body that came without Content-Length."""
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.max_body:
                raise HTTPException(413, self._too_large().message)
            return message

        return limited


def _bug(error: Exception, request_id: str) -> ApiError:
    fields = {"fields": {"request_id": request_id}}
    log.error("unexpected %s", type(error).__name__, exc_info=error, extra=fields)
    message = f"An unexpected error: the service's log has it under request id {request_id}."
    return ApiError(500, "internal", message)


def create_service(
    name: str,
    promise: str,
    settings: ServiceSettings,
    ready: ReadyCheck,
    registry: CollectorRegistry | None = None,
    open_paths: Sequence[str] = (),
    ready_details: ReadyDetails | None = None,
    **kwargs: Any,
) -> FastAPI:
    """An app with the parts that all services share; keyword arguments go to FastAPI.

    `open_paths` need no API key; `ready_details` adds keys to the answer of /ready. The
    registry is `app.state.registry` afterwards, for the service's own metrics.
    """
    registry = registry or CollectorRegistry()
    app = FastAPI(title=f"Cohort {name}", description=promise, **kwargs)
    app.state.registry = registry
    app.state.settings = settings
    app.add_middleware(
        Gate, service=name, settings=settings, registry=registry, open_paths=open_paths
    )
    _add_error_handlers(app)

    _add_operation_routes(app, name, ready, registry, ready_details)
    return app


def _add_operation_routes(
    app: FastAPI,
    name: str,
    ready: ReadyCheck,
    registry: CollectorRegistry,
    ready_details: ReadyDetails | None,
) -> None:
    @app.get("/health", tags=["operation"])
    async def health() -> dict[str, str]:
        """The process is alive."""
        return {"status": "ok", "service": name}

    @app.get("/ready", tags=["operation"])
    async def is_ready() -> JSONResponse:
        """200 when the service can work, 503 with what is missing otherwise."""
        missing = list(await ready())
        body = {"status": "missing" if missing else "ready", "service": name, "missing": missing}
        details = ready_details() if ready_details else {}
        body |= await details if inspect.isawaitable(details) else details
        return JSONResponse(body, status_code=503 if missing else 200)

    @app.get("/metrics", tags=["operation"])
    async def metrics() -> Response:
        """Prometheus metrics."""
        shown = registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # the sum over all worker processes
            shown = CollectorRegistry()
            MultiProcessCollector(shown)  # type: ignore[no-untyped-call]
        return Response(generate_latest(shown), media_type="text/plain; version=0.0.4")


def _add_error_handlers(app: FastAPI) -> None:
    async def api_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        return error_response(error)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        problems = [
            sentence({**item, "loc": item["loc"][1:] or item["loc"]}) for item in error.errors()
        ]
        return error_response(
            ApiError(422, "invalid_request", "; ".join(problems[:8]), {"problems": problems[:100]})
        )

    async def http_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = _CODES.get(error.status_code, "http_error")
        response = error_response(ApiError(error.status_code, code, str(error.detail)))
        response.headers.update(error.headers or {})
        return response

    app.add_exception_handler(ApiError, api_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http_error)


def serve(app: FastAPI | str, settings: ServiceSettings, port: int, workers: int = 1) -> None:
    """Run the app until SIGTERM; its own JSON logs replace uvicorn's access log.

    Several workers need the app as the import string of a function without arguments that makes it,
    since each is a process of its own. They share the port, and their metrics are summed up.
    """
    import uvicorn

    with _summed_metrics() if workers > 1 else nullcontext():
        uvicorn.run(
            app,
            factory=isinstance(app, str),
            workers=workers,
            host=settings.host,
            port=port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=30,
        )


@contextmanager
def _summed_metrics() -> Iterator[None]:
    """A folder where the workers keep their counts, so that each can tell those of all."""
    with tempfile.TemporaryDirectory(prefix="cohort-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield
