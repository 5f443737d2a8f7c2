"""The reward service's door and its sums: every route and status, weights, order, deadlines."""

import json
import math
import random
import subprocess
import sys
import time
from typing import ClassVar

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohort.clients import AsyncRewardClient, AsyncSandboxClient
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreRequest
from services.reward.app import create_app
from services.reward.config import Settings
from services.reward.grader import Grader, Overloaded
from services.reward.verifiers import build_verifiers
from services.reward.verifiers.base import Outcome, Params, Verifier


class NumberParams(Params):
    plus: float = 0.0


class Number(Verifier[NumberParams]):
    """The completion is the value; words stand for every kind of trouble."""

    name, version, description = "number", "7", "a number"
    params = NumberParams
    seen: ClassVar[list] = []

    async def score(self, answers, params, outcomes):
        self.seen.extend(answers)
        for place, answer in enumerate(answers):
            match answer.completion:
                case "broken":
                    raise RuntimeError("a bug")
                case "slow":
                    await anyio.sleep(60)
                case "unscorable":
                    outcomes[place] = Outcome.unscored("unscorable", "it says so", "odd")
                case text:
                    value = float(text) + params.plus
                    outcomes[place] = Outcome(value, verdict="fine", metrics={"m": value})


class Length(Number):
    name = "length"

    async def score(self, answers, params, outcomes):
        outcomes[:] = [Outcome(float(len(a.completion)), verdict="long") for a in answers]


def grader(**kwargs):
    return Grader({"number": Number(), "length": Length()}, **kwargs)


def score(items, rewards=({"verifier": "number"},), judge=None, **fields):
    request = ScoreRequest.model_validate({"items": items, "rewards": rewards, **fields})
    return anyio.run((judge or grader()).score, request)


def post(body, judge=None, **settings):
    """What the service answers to a raw body, over HTTP but without a port."""
    app = create_app(judge or grader(), Settings(**settings))

    async def go():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://reward") as client:
            kind = {"Content-Type": "application/json"}
            return await client.post("/v1/score", content=json.dumps(body), headers=kind)

    return anyio.run(go)


def get(path, judge=None, **settings):
    app = create_app(judge or grader(), Settings(**settings))

    async def go():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://reward") as client:
            return await client.get(path)

    return anyio.run(go)


def real_verifiers():
    return build_verifiers(AsyncSandboxClient("http://sandbox"))


def test_a_score_over_http():
    response = post(
        {
            "items": [{"id": "a", "completion": "2", "prompt": "p"}],
            "rewards": [
                {"verifier": "number", "weight": 0.5, "kwargs": {"plus": 1}},
                {"verifier": "length", "weight": 0},
            ],
        }
    )
    assert response.status_code == 200
    assert response.headers["x-request-id"]
    assert response.json() == {
        "results": [
            {
                "id": "a",
                "score": 1.5,
                "status": "scored",
                "verdict": "fine",
                "components": {
                    "number": {"value": 3.0, "weight": 0.5},
                    "length": {"value": 1.0, "weight": 0.0},
                },
                "steps": [],
                "metrics": {"number.m": 3.0},
                "cached": False,
                "verifier_version": "number@7 length@7",
                "reason": None,
            }
        ]
    }


def test_no_items_no_results():
    assert post({"items": []}).json() == {"results": []}


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({}, "invalid_request", "items: required"),
        ({"items": [{"completion": "1"}]}, "no_verifier", "items.0: nothing says how"),
        ({"items": [{"completion": "1", "verifier": "maths"}]}, "unknown_verifier",
         "items.0: unknown verifier 'maths'; known verifiers: length, number"),
        ({"items": [], "rewards": [{"verifier": "x"}]}, "unknown_verifier", "rewards.0: unknown"),
        ({"items": [], "rewards": [{"verifier": "number", "kwargs": {"pus": 1}}]},
         "invalid_kwargs", "rewards.0.kwargs.pus: unknown field"),
        ({"items": [{"completion": "1", "verifier": "number", "kwargs": {"plus": "x"}}]},
         "invalid_kwargs", "items.0.kwargs.plus: input should be a valid number"),
        ({"items": [{"completion": "1", "kwargs": {"plus": 1}}]}, "invalid_request",
         "items.0.kwargs: they belong to a verifier"),
        ({"items": [{"completion": "1", "verifier": "number", "rewards": []}]},
         "invalid_request", "either rewards or verifier"),
        ({"items": [], "rewards": [{"verifier": "number"}, {"verifier": "number"}]},
         "invalid_request", "named twice"),
        ({"items": [], "rewards": [{"verifier": "number", "weight": 1e300}]},
         "invalid_request", "rewards.0.weight: must be a number between"),
        ({"items": [], "rewards": [{"verifier": "number", "weight": math.nan}]},
         "invalid_request", "rewards.0.weight"),
        ({"items": [], "colour": 1}, "invalid_request", "colour: unknown field"),
        ({"items": [], "timeout_s": 0}, "invalid_request", "timeout_s"),
    ],
)  # fmt: skip
def test_bad_requests_are_422_and_name_the_place(body, code, words):
    response = post(body)
    assert response.status_code == 422
    assert response.json()["error"]["code"] == code
    assert words in response.json()["error"]["message"]


def test_401_413_429():
    body = {"items": [{"completion": "1"}] * 3, "rewards": [{"verifier": "number"}]}
    assert post(body, api_key="k").status_code == 401
    assert post(body, max_body_mb=1e-5).status_code == 413
    busy = grader(max_pending_items=4)
    busy.pending_items = 2
    response = post(body, judge=busy)
    assert response.status_code == 429
    assert response.headers["retry-after"] == "1"
    assert busy.pending_items == 2


def test_a_batch_beyond_the_limit_is_taken_when_nothing_else_is_in_work():
    judge = grader(max_pending_items=2)
    assert [r.score for r in score([{"completion": "1"}] * 3, judge=judge)] == [1.0] * 3
    assert judge.pending_items == 0


def test_overload_while_another_batch_runs():
    judge = grader(max_pending_items=2)
    items = tuple(ScoreItem(completion=text) for text in ("slow", "1"))
    spec = (RewardSpec(verifier="number"),)

    async def go():
        async with anyio.create_task_group() as group:
            slow = ScoreRequest(items=items, rewards=spec, timeout_s=0.2)
            group.start_soon(judge.score, slow)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(Overloaded):
                await judge.score(ScoreRequest(items=items[1:], rewards=spec))
        return await judge.score(ScoreRequest(items=items[1:], rewards=spec))

    assert anyio.run(go)[0].score == 1.0


def test_an_item_may_bring_its_own_rewards_or_verifier():
    results = score(
        [
            {"completion": "5"},
            {"completion": "5", "verifier": "length"},
            {"completion": "5", "verifier": "number", "kwargs": {"plus": 10}},
            {"completion": "5", "rewards": [{"verifier": "number", "weight": -2}]},
        ]
    )
    assert [result.score for result in results] == [5.0, 1.0, 15.0, -10.0]


def test_one_unscored_component_that_counts_makes_the_item_unscored():
    both = [{"verifier": "length"}, {"verifier": "number", "weight": 0.25}]
    bad, good = score([{"completion": "unscorable"}, {"completion": "4"}], both)
    assert (bad.score, bad.status, bad.verdict) == (None, "unscorable", "long")
    assert bad.reason == "number: it says so"
    assert bad.components["length"].value == 10.0
    assert (good.score, good.status) == (2.0, "scored")
    metric = [{"verifier": "length"}, {"verifier": "number", "weight": 0}]
    (result,) = score([{"completion": "unscorable"}], metric)
    assert (result.score, result.status) == (10.0, "scored")
    assert result.components["number"].value is None


def test_a_verifier_that_breaks_is_infra_error_and_keeps_what_was_done():
    results = score([{"completion": text} for text in ("1", "broken", "2")])
    assert [r.status for r in results] == ["scored", "infra_error", "infra_error"]
    assert [r.score for r in results] == [1.0, None, None]
    assert results[1].reason == "number: number failed: RuntimeError"


def test_the_deadline_holds_and_what_was_done_by_then_counts():
    started = time.monotonic()
    items = [{"completion": text} for text in ("1", "slow", "2")]
    results = score(items, timeout_s=0.1)
    assert time.monotonic() - started < 30  # the slow item alone sleeps for 60 s
    assert [r.status for r in results] == ["scored", "timeout", "timeout"]
    assert results[1].score is None
    assert "deadline" in results[1].reason


def test_steps_are_those_of_the_first_verifier_that_has_some():
    class Steps(Number):
        name = "steps"

        def __init__(self, shift):
            self.shift = shift

        async def score(self, answers, params, outcomes):
            steps = ((3 + self.shift, 1.0), (9 + self.shift, 0.5))
            outcomes[:] = [Outcome(0.5, steps=steps) for _ in answers]

    judge = Grader({"number": Number(), "a": Steps(0), "b": Steps(1)})
    rewards = [{"verifier": name} for name in ("number", "b", "a")]
    (result,) = score([{"completion": "1"}], rewards, judge=judge)
    assert [(step.end, step.score) for step in result.steps] == [(4, 1.0), (10, 0.5)]


def test_a_slow_verifier_does_not_take_the_others_along():
    mixed = [{"completion": "slow"}, {"completion": "1", "verifier": "length"}]
    assert [r.status for r in score(mixed, timeout_s=0.1)] == ["timeout", "scored"]


def test_the_prompt_is_a_field_of_its_own_and_earns_nothing():
    Number.seen.clear()
    score([{"prompt": "secret prompt", "completion": "1", "ground_truth": "t", "num_tokens": 3}])
    (answer,) = Number.seen
    assert (answer.prompt, answer.completion) == ("secret prompt", "1")
    assert (answer.ground_truth, answer.num_tokens) == ("t", 3)
    item = {"prompt": "#### 18", "completion": "Hm.", "ground_truth": "18", "verifier": "math"}
    assert score([item], (), judge=Grader(real_verifiers()))[0].score == 0.0


values = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


@given(st.lists(values, min_size=1, max_size=8), values, values)
@settings(deadline=None, max_examples=40)
def test_the_score_is_the_weighted_sum(numbers, weight, other):
    rewards = [
        {"verifier": "number", "weight": weight},
        {"verifier": "length", "weight": other},
    ]
    for number, result in zip(
        numbers, score([{"completion": str(n)} for n in numbers], rewards), strict=True
    ):
        assert math.isclose(
            result.score, weight * number + other * len(str(number)), rel_tol=1e-9, abs_tol=1e-9
        )


@given(st.lists(st.tuples(values, st.booleans()), max_size=12), st.randoms())
@settings(deadline=None, max_examples=40)
def test_results_stay_with_their_items_in_any_order(pairs, shuffler: random.Random):
    items = [
        {"id": str(i), "completion": str(value), **({"verifier": "length"} if own else {})}
        for i, (value, own) in enumerate(pairs)
    ]
    before = {item["id"]: r for item, r in zip(items, score(items), strict=True)}
    shuffler.shuffle(items)
    after = score(items)
    assert [r.id for r in after] == [item["id"] for item in items]
    assert {r.id: r for r in after} == before


def test_the_client_and_the_list_of_verifiers():
    app = create_app(Grader(real_verifiers()), Settings())

    async def go():
        client = AsyncRewardClient("http://reward", transport=httpx.ASGITransport(app=app))
        try:
            request = ScoreRequest(items=(ScoreItem(completion="#### 18", ground_truth="18"),),
                                   rewards=(RewardSpec(verifier="math"),))  # fmt: skip
            return await client.verifiers(), await client.score(request), await client.ready()
        finally:
            await client.aclose()

    listed, scored, missing = anyio.run(go)
    infos = {info.name: info for info in listed.verifiers}
    assert list(infos) == sorted(infos)
    assert {"code", "format", "length", "math", "reasoning_gym"} <= infos.keys()
    assert infos["format"].parameters["properties"]["tags"]["description"]
    assert not infos["code"].deterministic
    assert scored[0].score == 1.0
    assert missing == []


def test_half_a_surrogate_pair_spoils_neither_its_item_nor_the_others():
    items = [
        {"id": "a\ud800", "completion": "\ud800 #### 18", "ground_truth": "18"},
        {"completion": "#### 18", "ground_truth": "\udfff"},
        {"completion": "#### 1", "ground_truth": "1"},
    ]
    body = {"items": items, "rewards": [{"verifier": "math"}]}
    results = post(body, judge=Grader(real_verifiers())).json()["results"]
    assert [r["verdict"] for r in results] == ["correct", "unparsable_gold", "correct"]
    assert results[0]["id"] == "a?"


def test_operation_routes():
    assert get("/health", api_key="k").json() == {"status": "ok", "service": "reward"}
    assert get("/ready").json()["status"] == "ready"
    judge = grader()
    score([{"completion": "1"}, {"completion": "unscorable"}], judge=judge)
    text = get("/metrics", judge=judge).text
    assert 'cohort_reward_items_total{status="scored",verifier="number"} 1.0' in text
    assert 'cohort_reward_items_total{status="unscorable",verifier="number"} 1.0' in text


def test_start_up_is_light():
    script = """
import sys
import services.reward.__main__
heavy = {"torch", "transformers", "reasoning_gym", "sympy", "numpy"} & set(sys.modules)
sys.exit(f"imported at start: {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
