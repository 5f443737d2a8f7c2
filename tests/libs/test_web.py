"""Every service's shared parts: one error shape, request ids, API key, body limit."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

from cohort.config import ServiceSettings
from cohort.web import ApiError, create_service


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int


def app_with(missing: Sequence[str] = (), **settings: Any) -> FastAPI:
    async def ready() -> Sequence[str]:
        return missing

    app = create_service("probe", "A service for tests.", ServiceSettings(**settings), ready)

    @app.post("/echo")
    async def echo(body: Body) -> dict[str, int]:
        return {"number": body.number}

    @app.post("/key/{key}/echo")
    async def keyed(key: str, body: Body) -> dict[str, int]:
        return {"number": body.number}

    @app.get("/busy")
    async def busy() -> None:
        raise ApiError(429, "busy", "Come back later.", retry_after_s=3)

    @app.get("/bug")
    async def bug() -> None:
        raise RuntimeError("secret detail")

    return app


def ask(app: FastAPI, method: str, path: str, **kwargs: Any) -> httpx.Response:
    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://probe") as client:
            return await client.request(method, path, **kwargs)

    return asyncio.run(call())


def test_health_ready_and_metrics() -> None:
    app = app_with()
    assert ask(app, "GET", "/health").json() == {"status": "ok", "service": "probe"}
    assert ask(app, "GET", "/ready").json()["missing"] == []
    ask(app, "POST", "/echo", json={"number": 1})
    metrics = ask(app, "GET", "/metrics").text
    assert 'cohort_probe_requests_total{route="/echo",status="200"} 1.0' in metrics


def test_ready_says_what_is_missing() -> None:
    answer = ask(app_with(missing=["Redis at redis://x is not reachable."]), "GET", "/ready")
    assert answer.status_code == 503
    assert answer.json()["missing"] == ["Redis at redis://x is not reachable."]


@pytest.mark.parametrize(
    ("method", "path", "kwargs", "status", "code"),
    [
        ("GET", "/nowhere", {}, 404, "not_found"),
        ("GET", "/echo", {}, 405, "method_not_allowed"),
        ("POST", "/echo", {"json": {"number": "x"}}, 422, "invalid_request"),
        ("POST", "/echo", {"json": {"number": 1, "numbr": 2}}, 422, "invalid_request"),
        ("POST", "/echo", {"content": b"{"}, 422, "invalid_request"),
        ("GET", "/busy", {}, 429, "busy"),
        ("GET", "/bug", {}, 500, "internal"),
    ],
)
def test_errors_have_one_shape(
    method: str, path: str, kwargs: dict[str, Any], status: int, code: str
) -> None:
    answer = ask(app_with(), method, path, **kwargs)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == code
    assert error["message"]
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"]


def test_an_unknown_field_is_named() -> None:
    answer = ask(app_with(), "POST", "/echo", json={"number": 1, "numbr": 2})
    assert answer.json()["error"]["message"] == "numbr: unknown field"


def test_retry_after_and_request_id_travel() -> None:
    answer = ask(app_with(), "GET", "/busy", headers={"X-Request-ID": "abc-1"})
    assert answer.headers["retry-after"] == "3"
    assert answer.headers["x-request-id"] == "abc-1"


def test_the_api_key_guards_everything_but_health() -> None:
    app = app_with(api_key="k3y")
    assert ask(app, "GET", "/health").status_code == 200
    assert ask(app, "GET", "/ready").status_code == 401
    body = {"json": {"number": 1}}
    assert ask(app, "POST", "/echo", **body).status_code == 401
    for wrong in ("Bearer nope", "k3y", "Bearer ", "Basic k3y"):
        assert (
            ask(app, "POST", "/echo", headers={"Authorization": wrong}, **body).status_code == 401
        )
    right = {"Authorization": "Bearer k3y"}
    assert ask(app, "POST", "/echo", headers=right, **body).status_code == 200
    right = {"Authorization": "bearer k3y"}  # the scheme's name has no case
    assert ask(app, "POST", "/echo", headers=right, **body).status_code == 200
    assert (
        ask(app, "POST", "/echo", headers={"Cookie": "cohort_key=k3y"}, **body).status_code == 200
    )
    assert ask(app, "POST", "/key/k3y/echo", **body).status_code == 200
    assert ask(app, "POST", "/key/nope/echo", **body).status_code == 401


def test_a_client_that_hangs_up_is_no_error_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    app = app_with()

    async def call() -> list[Any]:
        sent: list[Any] = []
        scope = {"type": "http", "method": "POST", "path": "/echo", "query_string": b""}
        scope["headers"] = [(b"content-length", b"9"), (b"content-type", b"application/json")]

        async def receive() -> dict[str, str]:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)
        return sent

    asyncio.run(call())
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert 'status="5' not in ask(app, "GET", "/metrics").text


def test_each_of_several_api_keys_opens_and_nothing_else_does() -> None:
    app = app_with(api_key="first, second,,")
    opened = {}
    for key in ("first", "second", "first, second,,", "", ",", "firs", "first,second", "third"):
        headers = {"Authorization": f"Bearer {key}"}
        opened[key] = ask(app, "GET", "/ready", headers=headers).status_code == 200
    assert [key for key, is_open in opened.items() if is_open] == [
        *("first", "second", "first, second,,"),
    ]
    assert ask(app, "POST", "/key/second/echo", json={"number": 1}).status_code == 200


def test_a_key_setting_of_nothing_but_commas_is_no_open_door() -> None:
    app = app_with(api_key=" , ,")
    assert ask(app, "GET", "/ready").status_code == 401
    assert ask(app, "GET", "/ready", headers={"Authorization": "Bearer "}).status_code == 401


def test_a_body_too_large_is_refused_with_and_without_a_length() -> None:
    app = app_with(max_body_mb=0.001)
    big = b'{"number": 1' + b" " * 3000 + b"}"

    async def chunks() -> Any:
        yield big[:1500]
        yield big[1500:]

    for content in (big, chunks()):
        answer = ask(app, "POST", "/echo", content=content)
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "body_too_large"
