"""The sandbox's door with a fake backend: every route, every status code, admission and retries."""

import asyncio
import base64
import contextlib

import httpx
import pytest

from cohort.clients import AsyncSandboxClient, ServiceError
from cohort.contracts.sandbox import BackendReport, RunCase, RunLimits, RunRequest
from services.sandbox.app import create_app
from services.sandbox.backends.base import Backend, Outcome, Stream
from services.sandbox.config import Settings
from services.sandbox.runner import Sandbox


class Fake(Backend):
    """Answers with what it was given; programs named `wait` last until they are let go."""

    name = "fake"
    level = "none"

    def __init__(self, *outcomes, ok=True):
        self.outcomes, self.ok = list(outcomes), ok
        self.jobs, self.slots, self.cancelled = [], [], 0
        self.go = asyncio.Event()

    async def probe(self):
        reason = "" if self.ok else "it leaks: mend it."
        return BackendReport(name=self.name, level=self.level, ok=self.ok, reason=reason)

    async def run(self, job, slot):
        self.jobs.append(job)
        self.slots.append(slot)
        if job.code == b"wait":
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if not self.outcomes:
            return Outcome("ok", 0, stdout=Stream(job.stdin, len(job.stdin)))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@contextlib.asynccontextmanager
async def serving(*backends, **settings):
    chosen = Settings(**settings)
    app = create_app(Sandbox(chosen, backends), chosen)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as http:
        http.sandbox = AsyncSandboxClient("http://sandbox", transport=transport, retry_for_s=0)
        yield http
        await http.sandbox.aclose()


def ask(path="/v1/run", method="POST", backend=None, headers=None, settings=None, **body):
    async def go():
        async with serving(backend or Fake(), **(settings or {})) as http:
            json = body if method == "POST" else None
            return await http.request(method, path, json=json, headers=headers)

    return asyncio.run(go())


def test_a_run_names_its_backend_and_level():
    answer = ask(code="x", stdin="héllo").json()
    assert (answer["status"], answer["stdout"]) == ("ok", "héllo")
    assert (answer["backend"], answer["level"], answer["attempt"]) == ("fake", "none", 1)


def test_health_ready_backends_metrics():
    assert ask("/health", "GET").status_code == 200
    ready = ask("/ready", "GET")
    assert ready.status_code == 200
    assert ready.json()["backend"] == "fake"
    assert ready.json()["level"] == "none"
    assert ask("/v1/backends", "GET").json()["chosen"] == "fake"
    assert "cohort_sandbox_running 0.0" in ask("/metrics", "GET").text


def test_without_a_backend_it_says_so_and_runs_nothing():
    refused = ask(backend=Fake(ok=False), code="x")
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "no_isolation"
    assert "mend it" in refused.json()["error"]["message"]
    ready = ask("/ready", "GET", backend=Fake(ok=False))
    assert ready.status_code == 503
    assert "mend it" in ready.json()["missing"][0]


def test_a_refused_backend_falls_back_to_the_next_aloud(caplog):
    async def go():
        async with serving(Fake(ok=False), Fake()) as http:
            return (await http.post("/v1/run", json={"code": "x"})).status_code

    assert asyncio.run(go()) == 200
    assert "WEAKER" in caplog.text


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "code: required"),
        ({"code": "x", "speed": 1}, "speed: unknown field"),
        ({"code": "x", "language": "perl"}, "language: "),
        ({"code": "x", "limits": {"cpu_ms": 0}}, "limits.cpu_ms: "),
        ({"code": "x", "limits": {"mem_mb": 10**9}}, "limits.mem_mb: "),
        ({"code": "x", "mode": "cases"}, "there are none"),
        ({"code": "x", "cases": [{}]}, "set mode to `cases`"),
        ({"code": "x", "mode": "cases", "cases": [{}], "stdin": "y"}, "stdin in each case"),
        ({"code": "x", "files": {"a": "not base64!"}}, "files.a: "),
    ],
)
def test_what_does_not_fit_the_contract_is_422_and_says_where(body, sentence):
    answer = ask(**body)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/abs",
        "a\0b",
        "",
        ".",
        "a/../b",
        "a//b",
        "a/",
        "n" * 300,
        "main.py",
        "a\nb",
        "\ud800",
    ],
)
def test_bad_file_names_are_not_run(name):
    request = f'{{"code": "x", "files": {{{_json(name)}: ""}}}}'

    async def go():
        async with serving(backend := Fake()) as http:
            return (await http.post("/v1/run", content=request, headers=JSON)), backend

    answer, backend = asyncio.run(go())
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 200:
        assert answer.json()["status"] == "bad_request"
        assert answer.json()["reason"].startswith("files: ")
    assert not backend.jobs


JSON = {"content-type": "application/json"}


def _json(text):
    import json

    return json.dumps(text)


def test_files_that_do_not_fit_are_refused_before_a_slot_is_taken():
    data = base64.b64encode(bytes(2 << 20)).decode()
    answer = ask(code="x", files={"a": data}, limits={"tmp_mb": 1}).json()
    assert answer["status"] == "bad_request"
    assert "tmp_mb" in answer["reason"]


def test_surrogates_reach_the_program_as_invalid_bytes():
    async def go():
        async with serving(backend := Fake()) as http:
            answer = await http.post("/v1/run", content=b'{"code": "\\ud800"}', headers=JSON)
            return answer.status_code, backend.jobs

    status, jobs = asyncio.run(go())
    assert status in (200, 422)
    assert [job.code for job in jobs] in ([], [b"\xed\xa0\x80"])


def test_key_body_limit_method_and_unknown_route():
    assert ask(settings={"api_key": "k"}, code="x").status_code == 401
    key = {"authorization": "Bearer k"}
    assert ask(settings={"api_key": "k"}, headers=key, code="x").status_code == 200
    assert ask(settings={"max_body_mb": 0.001}, code="x" * 2_000).status_code == 413
    assert ask(method="GET").status_code == 405
    assert ask("/nowhere").status_code == 404


def test_cases_are_compared_outside_and_expected_output_stays_there():
    backend = Fake()
    cases = [
        {"stdin": "a \n\n", "expected_stdout": "a"},
        {"stdin": "b", "expected_stdout": "c-secret"},
        {"stdin": "d"},
    ]
    answer = ask(backend=backend, mode="cases", code="x", cases=cases).json()
    assert [case["passed"] for case in answer["cases"]] == [True, False, None]
    assert answer["status"] == "ok"
    assert "c-secret" not in repr(backend.jobs)
    stopped = ask(mode="cases", code="x", cases=cases, stop_at_first_failure=True).json()
    assert len(stopped["cases"]) == 2


def test_right_output_of_a_failed_run_does_not_pass_and_ours_is_not_judged():
    right = Stream(b"1", 1)
    outcomes = [Outcome("exit_nonzero", 1, stdout=right), *[Outcome("infra_error")] * 2]
    cases = [{"expected_stdout": "1"}, {"expected_stdout": "1"}]
    answer = ask(backend=Fake(*outcomes), mode="cases", code="x", cases=cases).json()
    assert [case["passed"] for case in answer["cases"]] == [False, None]
    assert answer["status"] == "exit_nonzero"


def test_a_lost_sandbox_is_tried_once_more():
    lost = Outcome("sandbox_killed")
    answer = ask(backend=Fake(lost), code="x").json()
    assert (answer["status"], answer["attempt"]) == ("ok", 2)
    assert ask(backend=Fake(lost, lost), code="x").json()["status"] == "sandbox_killed"


def test_a_bug_of_ours_is_an_infra_error():
    answer = ask(backend=Fake(OSError("no more pids"), OSError("no more pids")), code="x")
    assert answer.status_code == 200
    assert answer.json()["status"] == "infra_error"
    assert "no more pids" in answer.json()["reason"]


def test_long_output_keeps_both_ends():
    text = b"a" * 100 + b"b" * 100
    outcome = Outcome("ok", 0, stdout=Stream(text, 200), stderr=Stream(b"\xff", 1))
    answer = ask(backend=Fake(outcome), code="x", limits={"keep_bytes": 10}).json()
    assert answer["stdout"] == "aaaaa\n[... 190 bytes left out ...]\nbbbbb"
    assert answer["stdout_truncated"] is True
    assert answer["stdout_bytes"] == 200
    assert answer["stderr"] == "\ufffd"
    nothing = ask(backend=Fake(outcome), code="x", limits={"keep_bytes": 0}).json()
    assert "200 bytes left out" in nothing["stdout"]


def test_requests_beyond_the_queue_are_told_to_come_back():
    async def go():
        backend = Fake()
        async with serving(backend, slots=1, max_waiting=1) as http:
            first = asyncio.create_task(http.post("/v1/run", json={"code": "wait"}))
            second = asyncio.create_task(http.post("/v1/run", json={"code": "wait"}))
            while len(backend.jobs) < 1:
                await asyncio.sleep(0.001)
            third = await http.post("/v1/run", json={"code": "x"})
            backend.go.set()
            return third, await first, await second, backend.slots

    third, first, second, slots = asyncio.run(go())
    assert third.status_code == 429
    assert third.headers["retry-after"] == "1"
    assert (first.status_code, second.status_code) == (200, 200)
    assert slots == [0, 0]


def test_a_client_that_leaves_ends_its_program_and_frees_the_slot():
    async def go():
        backend, left = Fake(), asyncio.Event()
        settings = Settings(slots=1)
        sandbox = Sandbox(settings, [backend])
        app = create_app(sandbox, settings)
        body = [{"type": "http.request", "body": b'{"code": "wait"}', "more_body": False}]
        sent = []

        async def receive():
            if body:
                return body.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
            "path": "/v1/run", "raw_path": b"/v1/run", "query_string": b"", "scheme": "http",
            "headers": [(b"content-type", b"application/json")], "root_path": "",
            "server": ("sandbox", 80), "client": ("test", 1),
        }  # fmt: skip
        request = asyncio.create_task(app(scope, receive, send))
        while not backend.jobs:
            await asyncio.sleep(0.001)
        left.set()
        await request
        return backend.cancelled, sandbox.running, sandbox.waiting

    assert asyncio.run(go()) == (1, 0, 0)


def test_the_client_speaks_the_contract():
    async def go():
        async with serving(Fake()) as http:
            files = {"a": base64.b64encode(b"\xff")}
            cases = (RunCase(stdin="1", expected_stdout="1"),)
            request = RunRequest(
                code="x", mode="cases", cases=cases, files=files, limits=RunLimits(cpu_ms=100)
            )
            reply = await http.sandbox.run(request)
            assert reply.cases[0].passed is True
            assert (await http.sandbox.backends()).chosen == "fake"
        async with serving(Fake(ok=False)) as http:
            with pytest.raises(ServiceError, match="mend it"):
                await http.sandbox.run(RunRequest(code="x"))

    asyncio.run(go())


def test_settings_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("COHORT_SANDBOX_ALLOW_INSECURE", "true")
    monkeypatch.setenv("COHORT_SANDBOX_SLOTS", "3")
    monkeypatch.setenv("COHORT_PORT", "1234")
    settings = Settings()
    assert (settings.allow_insecure, settings.slots, settings.port) == (True, 3, 1234)
    with pytest.raises(ValueError, match="unknown backend docker"):
        Settings(backends="docker")


def test_insecure_is_never_a_default():
    assert Settings().allow_insecure is False
