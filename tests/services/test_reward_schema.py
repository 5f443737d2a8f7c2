"""Requests drawn from the OpenAPI schema: whatever fits it, or nearly does, is never a 500."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from cohort.clients import AsyncSandboxClient
from services.reward.app import create_app
from services.reward.cache import MemoryCache
from services.reward.config import Settings
from services.reward.grader import Grader
from services.reward.verifiers import build_verifiers

schemathesis = pytest.importorskip("schemathesis")

SLOW = {"code", "reasoning_gym"}
"""They need a sandbox, or a child process that loads a library."""


def make_app():
    sandbox = AsyncSandboxClient("http://127.0.0.1:9", retry_for_s=0.0)
    verifiers = {n: v for n, v in build_verifiers(sandbox).items() if n not in SLOW}
    return create_app(Grader(verifiers, cache=MemoryCache()), Settings())


schema = schemathesis.openapi.from_asgi("/openapi.json", make_app())
NAMES = sorted(n for n in build_verifiers(AsyncSandboxClient("http://x")) if n not in SLOW)


@schema.hook
def map_body(context: Any, body: Any) -> Any:
    """Drawn texts are hardly ever a verifier's name: most of them become one."""
    if isinstance(body, dict):
        for place in (body, *body.get("items", ())) if isinstance(body.get("items"), list) else ():
            if isinstance(place, dict):
                _name(place)
                for spec in place.get("rewards") or ():
                    _name(spec)
    return body


def _name(place: Any) -> None:
    if isinstance(place, dict) and isinstance(word := place.get("verifier"), str) and word != "":
        place["verifier"] = NAMES[len(word) % len(NAMES)]


def check(case):
    response = case.call()
    assert response.status_code < 500 or response.json()["error"]["code"] in {
        *("infra_error", "timeout", "unscorable", "overloaded"),  # dialects without other words
    }, (response.status_code, response.text[:500], case.as_curl_command()[:2000])
    assert response.headers["x-request-id"]


quick = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
thorough = settings(
    max_examples=int(os.environ.get("COHORT_TEST_EXAMPLES", "400")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@schema.parametrize()
@quick
def test_no_request_is_a_500(case):
    check(case)


@pytest.mark.slow
@schema.parametrize()
@thorough
def test_none_of_many_requests_is_a_500(case):
    check(case)
