"""Clients retry what is worth retrying, for a stated time, and raise everything else at once."""

import httpx
import pytest
import trio

from cohort import RewardClient, ScoreItem, ServiceError, Unreachable
from cohort.clients import AsyncRewardClient
from cohort.contracts.reward import ScoreRequest

RESULTS = {"results": [{"id": "a", "score": 1.0, "status": "scored"}]}


def answers(
    *replies: httpx.Response | Exception,
) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    """A transport that plays the replies in order, and the requests it saw."""
    seen: list[httpx.Request] = []
    left = list(replies)

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return httpx.MockTransport(handle), seen


def client(transport: httpx.MockTransport, retry_for_s: float = 5.0) -> RewardClient:
    return RewardClient("http://reward", api_key="k", retry_for_s=retry_for_s, transport=transport)


ITEM = ScoreItem(id="a", completion="42")


def test_score_sends_the_key_and_returns_results_in_order() -> None:
    transport, seen = answers(httpx.Response(200, json=RESULTS))
    results = client(transport).score([ITEM])
    assert results[0].score == 1.0
    assert seen[0].headers["authorization"] == "Bearer k"
    assert seen[0].url.path == "/v1/score"


def test_overload_and_broken_connections_are_retried() -> None:
    transport, seen = answers(
        httpx.Response(429, headers={"Retry-After": "0"}, json={}),
        httpx.ConnectError("refused"),
        httpx.Response(200, json=RESULTS),
    )
    assert client(transport).score([ITEM])[0].status == "scored"
    assert len(seen) == 3


def test_a_mistake_is_not_retried_and_keeps_the_services_words() -> None:
    body = {"error": {"code": "invalid_request", "message": "verifier: unknown", "details": {}}}
    transport, seen = answers(httpx.Response(422, json=body))
    with pytest.raises(ServiceError, match="reward: verifier: unknown") as caught:
        client(transport).score([ITEM])
    assert caught.value.code == "invalid_request"
    assert len(seen) == 1


def test_unreachable_names_the_url_once_the_time_is_up() -> None:
    transport, _ = answers(httpx.ConnectError("refused"))
    with pytest.raises(Unreachable, match=r"cannot reach http://reward \(refused\)"):
        client(transport, retry_for_s=0.0).score([ITEM])


def test_a_wait_longer_than_the_time_left_gives_up_at_once() -> None:
    transport, seen = answers(httpx.Response(503, headers={"Retry-After": "60"}, json={}))
    with pytest.raises(ServiceError):
        client(transport, retry_for_s=1.0).score([ITEM])
    assert len(seen) == 1


def test_the_async_client_runs_under_trio() -> None:
    transport, seen = answers(httpx.ConnectError("refused"), httpx.Response(200, json=RESULTS))

    async def score() -> float | None:
        async_client = AsyncRewardClient("http://reward", transport=transport)
        results = await async_client.score(ScoreRequest(items=(ITEM,)))
        await async_client.aclose()
        return results[0].score

    assert trio.run(score) == 1.0
    assert len(seen) == 2
