"""Conformance with other trainers' reward protocols: literal requests, and replies.

What each client sends and reads was taken from its source; the version is said at each test.
"""

import functools
import json

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohort.config import ServiceSettings
from cohort.contracts.reward import RewardSpec, ScoreComponent, ScoreItem, ScoreResult
from cohort.web import create_service
from services.reward.dialects import DIALECTS, add_dialects
from services.reward.dialects.texts import (
    completion_of,
    split_at_assistant,
    text_of,
    without_special_tokens,
)
from services.reward.grader import Grader, Overloaded, RequestError
from services.reward.verifiers.base import Outcome, Params, Verifier
from services.reward.verifiers.math import MathVerifier

PROMPT = (
    "<|im_start|>user\nWhat is 9 + 9? Answer after ####, like #### 18<|im_end|>\n"
    "<|im_start|>assistant\n"
)


class Settings(ServiceSettings):
    dialect_rewards: dict[str, tuple[RewardSpec, ...]] = {}


class LengthParams(Params):
    per: float = 1.0


class Chars(Verifier[LengthParams]):
    """Characters of the completion: shows what a verifier was given, needs no ground truth."""

    name, version, description = "chars", "1", "characters"
    params = LengthParams

    async def score(self, answers, params, outcomes):
        outcomes[:] = [Outcome(len(a.completion) / params.per, verdict="ok") for a in answers]


class Fixed:
    """A grader that answers what it is told to."""

    def __init__(self, *results):
        self.results, self.asked = results, []

    async def score(self, request):
        self.asked.append(request)
        for result in self.results:
            if isinstance(result, Exception):
                raise result
        return tuple(self.results)


def scored(value, verifier="math", **kwargs):
    part = ScoreComponent(value=value, weight=1.0)
    return ScoreResult(score=value, status="scored", components={verifier: part}, **kwargs)


def trouble(status):
    return ScoreResult(score=None, status=status, reason="because", verdict=None)


def app_of(grader=None, **settings):
    async def ready():
        return []

    app = create_service("reward", "a test", Settings(**settings), ready)
    add_dialects(app, grader or real(), app.state.settings)
    return app


@functools.cache
def plain_app():
    return app_of(real())


def real():
    return Grader({"math": MathVerifier(), "chars": Chars()})


def call(method, path, grader=None, content="", headers=(), **settings):
    """What the service answers, over HTTP but without a port."""
    app = app_of(grader, **settings) if grader or settings else plain_app()

    async def go():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://reward") as client:
            kinds = {"Content-Type": "application/json", **dict(headers)}
            return await client.request(method, path, content=content, headers=kinds)

    return anyio.run(go)


def post(path, body, grader=None, headers=(), **settings):
    return call("POST", path, grader, json.dumps(body), headers, **settings)


def reply(path, body, grader=None, **settings):
    answer = post(path, body, grader, **settings)
    assert answer.status_code == 200, answer.text
    return answer.json()


# OpenRLHF 0.11.0 (3c3be62) and 0.11.2 (PyPI): openrlhf/utils/agent.py, one sample a request.


def test_openrlhf_grades_the_completion_not_the_prompt():
    body = {
        "query": [PROMPT + "9 + 9 = 18\n#### 18<|im_end|>", PROMPT + "I do not know<|im_end|>"],
        "prompts": [PROMPT, PROMPT],
        "labels": ["18", "18"],
    }
    assert reply("/get_reward", body) == {
        "rewards": [1.0, 0.0],
        "scores": [1.0, 0.0],
        "extra_logs": {"unscorable": [0.0, 0.0], "math": [1.0, 0.0]},
    }


def test_openrlhf_without_samples_for_the_second_url():
    nothing = {"rewards": [], "scores": [], "extra_logs": {"unscorable": []}}
    assert reply("/get_reward", {"query": [], "prompts": [], "labels": []}) == nothing


def test_openrlhf_up_to_0_5_sends_queries_only():
    answer = reply("/get_reward?verifier=chars", {"query": ["four", "sixsix</s>"]})
    assert answer["rewards"] == [4.0, 6.0]


def test_openrlhf_unreadable_label_is_zero_and_says_so():
    body = {"query": ["p#### 3"], "prompts": ["p"], "labels": [""]}
    answer = reply("/get_reward", body)
    assert answer["rewards"] == [0.0]
    assert answer["extra_logs"]["unscorable"] == [1.0]
    numbers = [value for values in answer["extra_logs"].values() for value in values]
    assert all(isinstance(value, float) for value in numbers)  # torch.tensor(value) over there


def test_openrlhf_scores_are_accuracy_within_0_and_1():
    parts = {
        "math": ScoreComponent(value=1.0, weight=2.0),
        "length": ScoreComponent(value=-0.5, weight=1.0),
    }
    grader = Fixed(ScoreResult(score=1.5, status="scored", components=parts))
    answer = reply("/get_reward", {"query": ["x"]}, grader)
    assert answer["rewards"] == [1.5]
    assert answer["scores"] == [1.0]
    assert answer["extra_logs"] == {"unscorable": [0.0], "math": [1.0], "length": [-0.5]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"query": ["a"], "prompts": [], "labels": ["1"]}, "prompts: 0 for 1"),
        ({"query": ["a"], "labels": ["1", "2"]}, "labels: 2 for 1"),
        ({"query": ["#### 18"], "prompts": ["another"], "labels": ["18"]}, "does not contain its"),
        ({"query": "text"}, "query"),
        ({}, "query"),
    ],
)
def test_openrlhf_requests_that_make_no_sense(body, words):
    answer = post("/get_reward", body)
    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]


# slime 624b824: slime/rollout/rm_hub/__init__.py, remote_rm.


def test_slime_reply_is_the_number():
    body = {"prompt": PROMPT, "response": "#### 18<|im_end|>", "label": "18"}
    assert reply("/compat/slime", body) == 1.0
    assert reply("/compat/slime", body | {"response": "#### 17<|im_end|>"}) == 0.0


def test_slime_object_for_reward_key():
    messages = [{"role": "user", "content": "What is 9 + 9?"}]
    body = {"prompt": messages, "response": "#### 18", "label": 18}
    answer = reply("/compat/slime?format=object", body)
    assert answer == {
        "score": 1.0,
        "acc": 1.0,
        "unscorable": 0.0,
        "verdict": "correct",
        "components": {"math": 1.0},
    }


# verl 1dda039 and 0.9.1 (PyPI): verl/experimental/reward_loop/reward_loop.py, compute_score_disrm.


def test_verl_reads_the_last_probability_of_vllm():
    chat = PROMPT + "eighteen<|im_end|>\n"
    body = {"model": "a/model", "input": chat, "use_activation": False}
    answer = reply("/classify", body, dialect_rewards={"default": [{"verifier": "chars"}]})
    assert answer["data"][-1]["probs"][-1] == 8.0
    assert answer["object"] == "list"
    assert answer["model"] == "a/model"


def test_verl_reads_the_last_number_of_sglang():
    answer = reply("/v1/embeddings?verifier=chars", {"model": "m", "input": ["a", "four"]})
    assert [one["embedding"] for one in answer["data"]] == [[1.0], [4.0]]
    assert answer["data"][-1]["embedding"][-1] == 4.0


def test_verl_a_verifier_that_needs_a_ground_truth_is_refused_for_good():
    answer = post("/classify", {"model": "m", "input": "#### 18"})
    assert answer.status_code == 422  # 4xx is not repeated over there
    assert "retry-after" not in answer.headers
    assert answer.json()["error"]["code"] == "unscorable"


def test_the_model_name_may_choose_the_rewards():
    rewards = {
        "m": [{"verifier": "chars", "kwargs": {"per": 2}}],
        "/classify": [{"verifier": "chars"}],
    }
    for model, wanted in (("m", 2.0), ("other", 4.0)):
        answer = reply("/classify", {"model": model, "input": "four"}, dialect_rewards=rewards)
        assert answer["data"][0]["probs"] == [wanted]


# PipelineRL 58d3934: pipelinerl/domains/math/verifier_api.py, verify_answer_rpc.


@pytest.mark.parametrize(
    ("prediction", "gold", "word"),
    [
        (r"so \boxed{18}", r"\boxed{18}", "correct"),
        (r"\boxed{18} no, \boxed{17}", r"\boxed{18}", "wrong"),
        ("the answer is 18", r"\boxed{18}", "no_answer"),
        (r"\boxed{}", r"\boxed{18}", "unparsable"),
        (r"\boxed{18} " + "x" * 1_000, r"\boxed{18}", "unparsable"),
        (r"\boxed{18}", "", "unparsable"),
    ],
)
def test_pipelinerl_words(prediction, gold, word):
    body = {"prediction": prediction, "gold": gold, "strict": True, "max_prediction_length": 1000}
    assert reply("/verify_answer", body) == {"answer_status": word}


def test_pipelinerl_health():
    assert call("GET", "/health").json()["status"] == "ok"


# NeMo-Gym 07d6b0d: nemo_gym/base_resources_server.py, BaseVerifyRequest and BaseVerifyResponse.

GYM = {
    "responses_create_params": {"input": [{"role": "user", "content": "What is 9 + 9?"}]},
    "response": {
        "id": "resp_1",
        "object": "response",
        "output": [
            {"type": "reasoning", "summary": []},
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "9 + 9 = 18\n", "annotations": []},
                    {"type": "refusal", "refusal": "#### 1"},
                    {"type": "output_text", "text": "#### 18", "annotations": []},
                ],
            },
        ],
    },
    "expected_answer": "18",
    "uuid": 12,
}


def test_nemo_gym_gets_its_request_back_with_the_reward():
    wanted = GYM | {"reward": 1.0, "reward_components": {"math": 1.0}}
    assert reply("/verify", GYM) == wanted
    assert reply("/verify", wanted | {"reward": 0.5}) == wanted  # a second time


def test_nemo_gym_row_field_with_the_truth():
    assert (reply("/verify?truth=gold", GYM | {"gold": 17}))["reward"] == 0.0


@pytest.mark.parametrize("body", [{}, {"cookies": 1}])
def test_nemo_gym_session(body):
    assert reply("/seed_session", body) == {}


def test_nemo_gym_odd_text_comes_back_as_it_came():
    odd = {"note": "\ud800 caf\u00e9 \U0001f600", "deep": [[[{}]]], "big": 2**70}
    answer = post("/verify", GYM | odd)
    assert answer.status_code in (200, 422)
    if answer.status_code == 200:
        assert {name: answer.json()[name] for name in odd} == odd


def test_a_number_that_json_does_not_have_is_refused():
    answer = post("/verify", GYM | {"weight": float("nan")})
    assert answer.status_code == 422


# SkyPilot llm/rl-post-training-jobgroup/code/trainer.py at 307760a: compute_rewards.


def test_skypilot_null_where_there_is_no_score():
    items = [
        {"prompt": "What is 9 + 9?", "response": "#### 18", "ground_truth": "18"},
        {"prompt": "What is 9 + 9?", "response": "#### 18", "ground_truth": ""},
        {"prompt": "What is 9 + 9?", "response": "#### 1", "ground_truth": 18},
    ]
    wanted = {"rewards": [{"reward": 1.0}, {"reward": None}, {"reward": 0.0}]}
    assert reply("/batch_reward", {"items": items}) == wanted


# Trouble of ours is never a number: the table of statuses, one row for each route.

BODIES = {
    "/get_reward": {"query": ["x"]},
    "/compat/slime": {"response": "x"},
    "/classify": {"input": "x"},
    "/v1/embeddings": {"input": "x"},
    "/verify_answer": {"prediction": "x", "gold": "x"},
    "/verify": {"response": {}},
    "/test_program": {"program": "x", "tests": ["x"]},
    "/test_program_stdio": {"program": "x", "tests": [{"input": "", "output": ""}]},
    "/batch_reward": {"items": [{"response": "x"}]},
}
UNSCORABLE = {
    "/get_reward": 200,
    "/compat/slime": 200,
    "/classify": 422,
    "/v1/embeddings": 422,
    "/verify_answer": 200,
    "/verify": 503,
    "/test_program": 503,
    "/test_program_stdio": 503,
    "/batch_reward": 200,
}


def test_every_row_is_tested():
    assert {dialect.path for dialect in DIALECTS} == {*BODIES, "/seed_session"}


@pytest.mark.parametrize("path", sorted(BODIES))
@pytest.mark.parametrize("status", ["infra_error", "timeout"])
def test_our_trouble_is_503_to_be_tried_again(path, status):
    answer = post(path, BODIES[path], Fixed(trouble(status)))
    if path == "/batch_reward":
        assert answer.json() == {"rewards": [{"reward": None}]}
        return
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["error"]["code"] == status
    assert "because" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", sorted(BODIES))
def test_what_cannot_be_scored(path):
    answer = post(path, BODIES[path], Fixed(trouble("unscorable")))
    assert answer.status_code == UNSCORABLE[path]


@pytest.mark.parametrize("path", sorted(BODIES))
def test_too_much_at_once_is_503_because_verl_does_not_repeat_429(path):
    answer = post(path, BODIES[path], Fixed(Overloaded("full")))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


@pytest.mark.parametrize("path", sorted(BODIES))
def test_an_unknown_verifier_is_named(path):
    answer = post(path, BODIES[path], Fixed(RequestError("unknown_verifier", "no 'x'")))
    assert answer.status_code == 422
    assert answer.json()["error"] == {
        "code": "unknown_verifier",
        "message": "no 'x'",
        "details": {},
    }


# Which verifier: one rule for all.


@pytest.mark.parametrize(
    ("query", "chosen", "wanted"),
    [
        ("", {}, ("math", {})),
        ("", {"default": "a"}, ("a", {})),
        ("", {"default": "a", "/compat/slime": "b"}, ("b", {})),
        ("?verifier=c", {"default": "a", "/compat/slime": "b"}, ("c", {})),
        ("?verifier=c&kwargs=%7B%22k%22%3A1%7D", {}, ("c", {"k": 1})),
    ],
)
def test_which_verifier(query, chosen, wanted):
    grader = Fixed(scored(1.0))
    rewards = {key: [{"verifier": name}] for key, name in chosen.items()}
    reply("/compat/slime" + query, {"response": ""}, grader, dialect_rewards=rewards)
    [spec] = grader.asked[0].rewards
    assert (spec.verifier, spec.kwargs) == wanted


@pytest.mark.parametrize(
    "query", ["?kwargs={}", "?verifier=c&kwargs=[", "?verifier=c&kwargs=[1]", "?verifier=c&kwargs="]
)
def test_kwargs_that_are_none(query):
    answer = post("/compat/slime" + query, {"response": ""}, Fixed())
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid_kwargs"


def test_rewards_come_from_the_environment(monkeypatch):
    rewards = {"/get_reward": [{"verifier": "math", "weight": 2}]}
    monkeypatch.setenv("COHORT_DIALECT_REWARDS", json.dumps(rewards))
    spec = RewardSpec(verifier="math", weight=2)
    assert Settings.read().dialect_rewards == {"/get_reward": (spec,)}


# The key may be in the path, and only there.


def test_the_key_in_the_path(caplog):
    body = {"response": "#### 18", "label": "18"}
    caplog.set_level("INFO", "cohort.web")
    good = post("/key/s3cret/compat/slime", body, api_key="s3cret")
    assert good.json() == 1.0
    for path in ("/compat/slime", "/key/wrong/compat/slime"):
        assert (post(path, body, api_key="s3cret")).status_code == 401
    bearer = {"Authorization": "Bearer s3cret"}
    assert (post("/compat/slime", body, headers=bearer, api_key="s3cret")).json() == 1.0
    assert "/key/***/compat/slime" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.path)
def test_every_route_has_its_keyed_twin(dialect):
    body = BODIES.get(dialect.path, {})
    results = () if dialect.path == "/seed_session" else (scored(1.0),)
    answer = post(f"/key/k{dialect.path}", body, Fixed(*results), api_key="k")
    assert answer.status_code == 200


def test_the_openapi_schema_has_the_bodies():
    paths = app_of(Fixed()).openapi()["paths"]
    for dialect in DIALECTS:
        assert paths[dialect.path]["post"]["requestBody"], dialect.path
    assert not any(path.startswith("/key/") for path in paths)


# Whatever is sent, the answer is a reply or an error for people.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
FIELDS = sorted({name for dialect in DIALECTS for name in dialect.body.model_fields})


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.path)
@given(data=st.data())
@settings(max_examples=40)
def test_any_body_is_answered(dialect, data):
    fields = st.dictionaries(st.sampled_from(FIELDS), JSON | st.lists(st.text(), max_size=3))
    body = BODIES.get(dialect.path, {}) | data.draw(fields)
    answer = post(dialect.path + "?verifier=math", body)
    assert answer.status_code in (200, 422, 503), answer.text
    if answer.status_code != 200:
        assert answer.json()["error"]["code"] != "internal"


@pytest.mark.parametrize("text", ["\ud800", "\udcff#### 18", "a\x00b"])
def test_half_a_surrogate_pair_is_no_bug(text):
    for path, body in BODIES.items():
        spelled = json.loads(json.dumps(body).replace('"x"', json.dumps(text)))
        answer = post(path + "?verifier=math", spelled)
        assert answer.status_code in (200, 422, 503), (path, answer.text)
        if answer.status_code == 503:
            assert answer.json()["error"]["code"] == "unscorable"


# Texts.


@pytest.mark.parametrize(
    ("query", "prompt", "completion"),
    [
        ("promptanswer", "prompt", "answer"),
        ("<s>promptanswer</s>", "prompt", "answer"),
        ("answer<|im_end|>\n<|endoftext|><|endoftext|>", "", "answer"),
        ("p a|> <|im_end|>", "p", " a|> "),
        ("p#### 3 <| >", "p", "#### 3 <| >"),
        ("pprompt", "p", "prompt"),
        ("cut<|im_start|>assistant\nanswer", "a cut<|im_start|>assistant\n", "answer"),
        ("p", "p", ""),
        ("", "", ""),
    ],
)
def test_completion_of(query, prompt, completion):
    assert completion_of(query, prompt) == completion


@given(st.text(), st.text())
def test_what_follows_the_prompt_is_what_was_sampled(prompt, completion):
    found = completion_of(prompt + completion, prompt)
    assert completion.startswith(found)
    assert without_special_tokens(found) == found


def test_special_tokens_are_cut_in_linear_time():
    assert without_special_tokens("a" + "<|endoftext|>\n" * 100_000) == "a"
    assert without_special_tokens("a" * 1_000_000 + "|>") == "a" * 1_000_000 + "|>"
    assert without_special_tokens("a <|not a token|>") == "a <|not a token|>"


def test_the_last_turn_of_the_assistant():
    assert split_at_assistant("[INST] q [/INST] a") == ("[INST] q [/INST]", " a")
    assert split_at_assistant("no chat") is None


def test_text_of_prompts():
    assert text_of("p") == "p"
    assert text_of([{"content": "a"}, {"content": ["?"]}, {"content": "b"}, 3]) == "a\n\nb"
    assert text_of(None) == ""


def test_items_are_what_the_grader_takes():
    for dialect in DIALECTS:
        body = dialect.body.model_validate(BODIES.get(dialect.path, {}))
        for item in dialect.ask(body, {}).items:
            assert isinstance(item, ScoreItem)
