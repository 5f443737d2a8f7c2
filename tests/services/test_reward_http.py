"""The reward service as its callers see it: the schema, limits, keys, logs, several processes."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from fastapi.exceptions import RequestValidationError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cohort.clients import AsyncRewardClient, RewardClient
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreRequest, ScoreResponse
from services.reward.app import create_app
from services.reward.ask import Ask
from services.reward.cache import MemoryCache
from services.reward.config import Settings
from services.reward.grader import Grader
from services.reward.verifiers.base import Outcome, Params, Verifier
from services.reward.verifiers.math import MathVerifier

MATH = {"rewards": [{"verifier": "math"}]}
RIGHT = {"completion": "#### 18", "ground_truth": "18"}


class Remote(Verifier[Params]):
    """Needs somebody who is not there."""

    name, version, description, params = "remote", "1", "needs a server", Params

    async def score(self, answers, params, outcomes):
        raise ConnectionError("nobody there")

    async def missing(self):
        return ["remote: nothing answers at http://nowhere"]


class Deaf(Remote):
    name = "deaf"

    async def missing(self):
        await anyio.sleep(60)
        return ["too late"]


class Steps(Verifier[Params]):
    name, version, description, params = "steps", "1", "has everything", Params

    async def score(self, answers, params, outcomes):
        for place, answer in enumerate(answers):
            value = len(answer.completion) / 8
            outcomes[place] = Outcome(value, "scored", "fine", None, {"m": value}, ((1, value),))


class Broken(Steps):
    """Says what no verifier may say."""

    name = "broken"
    said = (Outcome(float("nan")), Outcome(None), Outcome(0.0, "infra_error"), Outcome(1.0))

    async def score(self, answers, params, outcomes):
        outcomes[:] = [self.said[int(answer.completion)] for answer in answers]


def make_grader(*verifiers, **kwargs):
    every = [MathVerifier(), Steps(), *verifiers]
    return Grader({v.name: v for v in every}, cache=MemoryCache(), **kwargs)


def ask(method, path, *, grader=None, settings=None, **kwargs):
    app = create_app(grader or make_grader(), Settings(**(settings or {})))

    async def go():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://reward") as client:
            return await client.request(method, path, **kwargs)

    return anyio.run(go)


def score(items, grader=None, settings=None, **fields):
    body = {"items": items, **(fields or MATH)}
    return ask("POST", "/v1/score", grader=grader, settings=settings, json=body)


def test_what_goes_over_the_wire_is_what_the_contract_says():
    items = [{"id": str(i), "completion": "x" * i} for i in range(20)]
    items += [{"id": 'Ünï "\\\n', **RIGHT, "verifier": "math"}, {"completion": "", "id": "\x00"}]
    both = [{"verifier": "steps", "weight": 0.5}, {"verifier": "math", "weight": 0}]
    request = ScoreRequest.model_validate({"items": items, "rewards": both})
    grader = make_grader()
    said = score(items, grader=grader, rewards=both).content
    expected = anyio.run(grader.score, request)
    read = ScoreResponse.model_validate_json(said)
    fresh = [result.model_copy(update={"cached": False}) for result in expected]
    assert list(read.results) == fresh
    assert json.loads(said) == json.loads(ScoreResponse(results=tuple(fresh)).model_dump_json())


def test_the_schema_names_the_messages():
    schema = ask("GET", "/openapi.json").json()
    route = schema["paths"]["/v1/score"]["post"]
    body = route["requestBody"]["content"]["application/json"]["schema"]
    reply = route["responses"]["200"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/ScoreRequest"}
    assert reply == {"$ref": "#/components/schemas/ScoreResponse"}
    known = schema["components"]["schemas"]
    assert {"ScoreItem", "RewardSpec", "ScoreResult", "ScoreStep", "ScoreComponent"} <= set(known)
    assert "422" in route["responses"]


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b"", 422, "body: invalid JSON"),
        (b"{", 422, "body: invalid JSON"),
        (b'{"items": ' + b"[" * 5_000, 422, "body: "),
        (b'{"items": [], "x": "\\ud800' + b"[" * 5_000, 422, "body: "),
        (b'{"items": [], "x": "\\ud800"}', 422, "x: unknown field"),
        (b'{"items": [{"completion": 1}]}', 422, "items.0.completion: input should be a"),
        (b"\xff\xfe", 422, "body: invalid JSON"),
        (b"[]", 422, "body: input should be"),
        (b'{"items": []}', 200, ""),
    ],
)
def test_bodies_that_are_no_request_are_refused_in_words(content, status, words):
    response = ask("POST", "/v1/score", content=content)
    assert response.status_code == status
    if words:
        assert response.json()["error"]["code"] == "invalid_request"
        assert words in response.json()["error"]["message"]


texts = st.text(max_size=5)
truths = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
kwargs = st.dictionaries(texts, truths, max_size=2)
specs = st.fixed_dictionaries(
    {"verifier": texts}, optional={"weight": st.floats(), "kwargs": kwargs, "x": st.none()}
)
items = st.fixed_dictionaries(
    {"completion": texts},
    optional={
        "id": texts,
        "prompt": texts | st.none(),
        "ground_truth": truths,
        "num_tokens": st.none() | st.integers() | st.sampled_from([2.0, 2.5, True, "3"]),
        "finish_reason": st.sampled_from(["stop", "length", "abort", None, "other"]),
        "group_id": texts | st.none(),
        "rewards": st.none() | st.lists(specs, max_size=2),
        "verifier": texts | st.none(),
        "kwargs": kwargs,
    },
)
bodies = st.fixed_dictionaries(
    {"items": st.lists(items, max_size=3)},
    optional={
        "rewards": st.lists(specs, max_size=2),
        "timeout_s": st.floats(-1, 4_000) | st.integers(0, 3_601),
        "cache": st.sampled_from(["use", "refresh", "off", "on"]),
    },
)


@given(bodies)
def test_the_fast_reader_reads_what_the_contract_says(body):
    spelled = json.dumps(body).encode()
    try:
        expected = Ask.of(ScoreRequest.model_validate(json.loads(spelled)))
    except ValidationError:
        with pytest.raises(RequestValidationError):
            Ask.read(spelled)
        return
    assert repr(Ask.read(spelled)) == repr(expected)


def test_a_body_needs_no_content_type():
    body = json.dumps({"items": [RIGHT], **MATH}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        response = ask("POST", "/v1/score", content=body, headers={"Content-Type": kind})
        assert response.json()["results"][0]["score"] == 1.0


def test_a_verifier_that_says_nonsense_is_trouble_and_never_a_number():
    items = [{"completion": str(i)} for i in range(4)]
    response = score(items, grader=make_grader(Broken()), rewards=[{"verifier": "broken"}])
    results = response.json()["results"]
    assert [r["status"] for r in results] == ["infra_error"] * 3 + ["scored"]
    assert [r["score"] for r in results] == [None, None, None, 1.0]


def test_too_many_items_are_413_and_too_much_work_is_429():
    response = score([RIGHT] * 3, grader=make_grader(max_items=2))
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_many_items")
    assert response.json()["error"]["message"] == "3 items are more than 2: send several requests"
    busy = make_grader(max_pending_items=2)
    busy.pending_items = 2
    response = score([RIGHT], grader=busy)
    assert (response.status_code, response.json()["error"]["code"]) == (429, "overloaded")
    assert response.headers["retry-after"] == "1"


def test_any_of_the_keys_opens():
    for key, status in (("one", 200), ("two", 200), ("three", 401)):
        headers = {"Authorization": f"Bearer {key}"}
        settings = {"api_key": "one,two"}
        assert ask("GET", "/v1/verifiers", settings=settings, headers=headers).status_code == status


def test_ready_is_not_spoiled_by_a_verifier_whose_server_is_away():
    response = ask("GET", "/ready", grader=make_grader(Remote(), Deaf()))
    assert response.status_code == 200
    assert response.json() == {
        "status": "ready",
        "service": "reward",
        "missing": [],
        "degraded": ["remote: nothing answers at http://nowhere"],
    }
    verifier = Remote()
    verifier.essential = True
    response = ask("GET", "/ready", grader=make_grader(verifier))
    assert response.status_code == 503
    assert response.json()["missing"] == ["remote: nothing answers at http://nowhere"]


def test_completions_are_logged_only_when_asked_for(caplog):
    items = [{"id": str(i), **RIGHT, "completion": "SECRET" + "x" * 9_000} for i in range(99)]
    with caplog.at_level(logging.DEBUG):
        score(items)
        assert "SECRET" not in str([vars(record) for record in caplog.records])
        caplog.clear()
        score(items, settings={"log_completions": True})
    (record,) = [r for r in caplog.records if r.getMessage() == "scored"]
    assert record.fields["num_items"] == 99
    assert len(record.fields["items"]) == 32
    assert record.fields["items"][0]["completion"] == "SECRET" + "x" * 494
    assert record.fields["items"][0]["score"] == 0.0
    assert record.fields["request_id"]


def test_the_diagnostics_route_and_its_client():
    grader = make_grader()
    app = create_app(grader, Settings())

    async def go():
        client = AsyncRewardClient("http://reward", transport=httpx.ASGITransport(app=app))
        try:
            items = (ScoreItem(**RIGHT, group_id="g"), ScoreItem(completion="", group_id="g"))
            rewards = (RewardSpec(verifier="math"),)
            await client.score(ScoreRequest(items=items, rewards=rewards))
            return await client.diagnostics()
        finally:
            await client.aclose()

    report = anyio.run(go)
    assert report.worker == os.getpid()
    assert report.components["math"].num_items == 2


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(**environment: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The real service, alone: no Redis, no sandbox."""
    port = free_port()
    env = {k: v for k, v in os.environ.items() if not k.startswith("COHORT_")}
    env |= {"COHORT_PORT": str(port), "COHORT_SANDBOX_URL": "http://127.0.0.1:9"} | environment
    process = subprocess.Popen([sys.executable, "-m", "services.reward"], env=env)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{url}/health").is_success:
                    break
            except httpx.TransportError:
                assert process.poll() is None
                time.sleep(0.05)
        yield url, process
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) in (0, -signal.SIGTERM)


def test_alone_it_is_useful_and_light():
    with running() as (url, process), RewardClient(url) as client:
        math = [RewardSpec(verifier="math")]
        assert client.score([ScoreItem(**RIGHT)], math)[0].score == 1.0
        assert client.score([ScoreItem(**RIGHT)], math)[0].cached
        code = ScoreItem(
            completion="```python\nprint(5)\n```",
            ground_truth={"cases": [{"expected_stdout": "5"}]},
            verifier="code",
        )
        (result,) = client.score([code], timeout_s=2.0)
        assert result.status in {"infra_error", "timeout"}
        assert httpx.get(f"{url}/ready").status_code == 200
        loaded = Path(f"/proc/{process.pid}/maps").read_text()
    assert "/pydantic_core/" in loaded
    assert "/torch/" not in loaded
    assert "/numpy/" not in loaded


def test_several_workers_share_the_port_a_cache_and_their_metrics(valkey):
    with running(COHORT_WORKERS="2", COHORT_CACHE_URL=valkey) as (url, _):
        workers, hits = set(), 0
        for _ in range(200):
            with RewardClient(url) as client:  # a connection of its own: any worker may take it
                (result,) = client.score([ScoreItem(**RIGHT)], [RewardSpec(verifier="math")])
                assert result.score == 1.0
                hits += result.cached
                workers.add(client.diagnostics().worker)
            if len(workers) == 2:
                break
        assert len(workers) == 2
        assert hits >= 1
        scored = hits + 1
        text = httpx.get(f"{url}/metrics").text
        counted = [line for line in text.splitlines() if line.startswith("cohort_reward_items_")]
        assert counted == [
            f'cohort_reward_items_total{{status="scored",verifier="math"}} {scored}.0'
        ]


def test_workers_die_with_their_parent():
    with running(COHORT_WORKERS="2") as (url, process):
        workers = set()
        while len(workers) < 2:
            workers.add(httpx.get(f"{url}/v1/diagnostics").json()["worker"])
        process.kill()
        process.wait()
        for _ in range(100):
            alive = [pid for pid in workers if Path(f"/proc/{pid}").exists()]
            if not alive:
                break
            time.sleep(0.1)
        assert not alive
        process.returncode = 0
