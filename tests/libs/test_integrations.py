"""Reward functions for TRL and verl: their calling conventions, and what happens when we fail."""

import asyncio
import importlib.util
import inspect
import json
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cohort.clients import ServiceError, Unreachable
from cohort.contracts.reward import RewardSpec
from cohort.integrations import trl, verl
from cohort.integrations.truths import code_cases


class Service:
    """A reward service of which the test says what it answers; keeps the requests."""

    def __init__(self, url, asked, heads, connections):
        self.url, self.asked, self.heads, self.connections = url, asked, heads, connections


@contextmanager
def service(*answers) -> Iterator[Service]:
    """Each answer is (status, score or body); the last one stays."""
    asked, heads, connections, left = [], [], set(), list(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            connections.add(self.client_address)
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body)
            heads.append(dict(self.headers))
            answer = left.pop(0) if len(left) > 1 else left[0]
            status, results = answer(body) if callable(answer) else answer
            raw = json.dumps({"results": results} if status == 200 else results).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Service(f"http://127.0.0.1:{server.server_port}", asked, heads, connections)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def result(score, status="scored", verdict=None, **components):
    parts = {name: {"value": value, "weight": 1.0} for name, value in components.items()}
    return {
        "score": score,
        "status": status,
        "verdict": verdict,
        "components": parts,
        "reason": None if status == "scored" else "because",
    }


def by_length(body):
    """Scores that tell the items apart."""
    return 200, [result(float(len(item["completion"]))) for item in body["items"]]


ERROR = {"error": {"code": "overloaded", "message": "later", "details": {}}}


async def closing(sessions, work):
    """Run and close the connections: tests leave no open sockets behind."""
    try:
        return await work
    finally:
        await sessions.client().aclose()


def ask_trl(function, prompts, completions, **columns):
    sessions = inspect.getclosurevars(function).nonlocals["sessions"]
    call = function(prompts=prompts, completions=completions, **columns)
    return asyncio.run(closing(sessions, call))


def ask_verl(url, *args, retry_for_s=5.0, **kwargs):
    sessions = verl._sessions(url, kwargs.get("api_key"), retry_for_s)
    call = verl.compute_score(*args, url=url, retry_for_s=retry_for_s, **kwargs)
    return asyncio.run(closing(sessions, call))


# TRL: GRPOTrainer._calculate_rewards of 1.16.0.


def test_trl_one_request_for_the_batch_in_order():
    with service(by_length) as there:
        function = trl.reward_function(there.url)
        rewards = ask_trl(
            function,
            ["p", "p", "q"],
            ["a", "bb", "ccc"],
            completion_ids=[[1], [1, 2], [1, 2, 3]],
            answer=["1", "2", "3"],
            trainer_state=object(),
            something=[1, 2, 3],
        )
    assert rewards == [1.0, 2.0, 3.0]
    [body] = there.asked
    assert [item["ground_truth"] for item in body["items"]] == ["1", "2", "3"]
    assert [item["num_tokens"] for item in body["items"]] == [1, 2, 3]
    assert [item["group_id"] for item in body["items"]] == ["p", "p", "q"]
    assert [spec["verifier"] for spec in body["rewards"]] == ["math"]


def test_trl_conversations_are_graded_by_what_the_assistant_said():
    prompt = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "9 + 9?"}]
    blocks = [{"role": "assistant", "content": [{"type": "text", "text": "eighteen"}]}]
    with service(by_length) as there:
        function = trl.reward_function(there.url)
        said = [[{"role": "assistant", "content": "18"}], blocks]
        assert ask_trl(function, [prompt, prompt], said, answer=["18", "18"]) == [2.0, 8.0]
    assert there.asked[0]["items"][0]["prompt"] == "Be brief.\n\n9 + 9?"


def test_trl_none_for_what_has_no_score_and_logs_say_why():
    columns, metrics = {}, {}
    answers = [
        result(1.0, verdict="correct"),
        result(None, "unscorable"),
        result(None, "infra_error"),
        result(0.0),
    ]
    with service((200, answers)) as there:
        rewards = ask_trl(
            trl.reward_function(there.url),
            ["p"] * 4,
            ["c"] * 4,
            log_extra=columns.__setitem__,
            log_metric=metrics.__setitem__,
        )
    assert rewards == [1.0, None, None, 0.0]
    words = ["correct", "unscorable: because", "infra_error: because", "scored"]
    assert columns == {"math_verdict": words}
    assert metrics == {"rewards/math/frac_unscored": 0.5}


def test_trl_none_for_all_when_the_service_stays_away(caplog):
    function = trl.reward_function("http://127.0.0.1:9", retry_for_s=0.1)
    assert ask_trl(function, ["p"] * 2, ["c"] * 2) == [None, None]
    assert "cannot reach http://127.0.0.1:9" in caplog.text
    with service((503, ERROR)) as there:
        assert ask_trl(trl.reward_function(there.url, retry_for_s=0.1), ["p"], ["c"]) == [None]


def test_trl_tries_again_when_told_to_come_back():
    with service((429, ERROR), (503, ERROR), by_length) as there:
        assert ask_trl(trl.reward_function(there.url), ["p"], ["abc"]) == [3.0]
    assert len(there.asked) == 3


def test_trl_a_refused_request_is_an_error_not_a_batch_without_rewards():
    wrong = {"error": {"code": "unknown_verifier", "message": "no such verifier", "details": {}}}
    with service((422, wrong)) as there, pytest.raises(ServiceError, match="no such verifier"):
        ask_trl(trl.reward_function(there.url, "mth"), ["p"], ["c"])


def test_trl_columns_with_the_truth():
    with service(by_length) as there:
        ask_trl(trl.reward_function(there.url), ["p"], ["c"], solution=["s"], answer=["a"])
        ask_trl(trl.reward_function(there.url, ground_truth="gold"), ["p"], ["c"], gold=["g"])
        ask_trl(trl.reward_function(there.url, "format"), ["p"], ["c"])
        with pytest.raises(ValueError, match="no column 'gold'; its columns are: answer"):
            ask_trl(trl.reward_function(there.url, ground_truth="gold"), ["p"], ["c"], answer=["a"])
    assert [body["items"][0]["ground_truth"] for body in there.asked] == ["a", "g", None]


def test_trl_names_and_weights():
    rewards = [RewardSpec(verifier="math"), RewardSpec(verifier="length", weight=0.1)]
    assert trl.reward_function("http://x").__name__ == "math"
    assert trl.reward_function("http://x", rewards=rewards).__name__ == "math_length"
    assert trl.reward_function("http://x", name="mine").__name__ == "mine"
    assert inspect.iscoroutinefunction(trl.reward_function("http://x"))
    with service(by_length) as there:
        ask_trl(trl.reward_function(there.url, rewards=rewards), ["p"], ["c"])
    assert [spec["weight"] for spec in there.asked[0]["rewards"]] == [1.0, 0.1]


def test_trl_an_empty_batch():
    with service(by_length) as there:
        metrics = {}
        function = trl.reward_function(there.url)
        assert ask_trl(function, [], [], log_metric=metrics.__setitem__) == []
    assert metrics == {}


# verl: NaiveRewardManager.run_single of 0.9.1 awaits it with these four by keyword.


def test_verl_a_score_and_its_accuracy():
    with service((200, [result(0.7, math=1.0, length=-0.3)])) as there:
        found = ask_verl(there.url, "gsm8k", "#### 18", "18", {"question": "9 + 9?"})
    assert found == {"score": 0.7, "acc": 1.0, "unscorable": 0.0}
    [item] = there.asked[0]["items"]
    assert (item["completion"], item["ground_truth"]) == ("#### 18", "18")
    assert (item["id"], item["prompt"]) == ("gsm8k", "9 + 9?")


def test_verl_the_same_keys_for_every_sample():
    with service((200, [result(None, "unscorable", math=None)])) as there:
        found = ask_verl(there.url, "gsm8k", "x", "no answer", None)
    assert found == {"score": 0.0, "acc": 0.0, "unscorable": 1.0}


@pytest.mark.parametrize("status", ["infra_error", "timeout"])
def test_verl_our_trouble_is_raised(status):
    with (
        service((200, [result(None, status)])) as there,
        pytest.raises(verl.NotScored, match=f"{status}: because"),
    ):
        ask_verl(there.url, "gsm8k", "x", "1")


def test_verl_a_service_that_stays_away_is_raised():
    with pytest.raises(Unreachable, match="cannot reach"):
        ask_verl("http://127.0.0.1:9", "gsm8k", "x", "1", retry_for_s=0.1)


def test_verl_connections_are_reused_within_a_loop_and_not_across_loops():
    async def many(url):
        sessions = verl._sessions(url, None, 120.0)
        for text in ("a", "bb"):
            found = await verl.compute_score("d", text, "1", url=url)
            assert found["score"] == len(text)
        await sessions.client().aclose()

    with service(by_length) as there:
        asyncio.run(many(there.url))
        assert len(there.connections) == 1
        asyncio.run(many(there.url))
        assert len(there.connections) == 2


def test_verl_settings_come_as_reward_kwargs_or_from_the_environment(monkeypatch):
    with service(by_length) as there:
        rewards = [{"verifier": "math"}, {"verifier": "length", "weight": 0.5}]
        ask_verl(there.url, "d", "a", "1", rewards=rewards, api_key="k")
        ask_verl(
            there.url, "d", "a", "1", verifier="gsm8k", kwargs={"a": 1}, reward_router_address="x"
        )
        monkeypatch.setenv("COHORT_REWARD_URL", there.url)
        monkeypatch.setenv("COHORT_API_KEY", "env")
        ask_verl(None, "d", "a", "1")
        verl._sessions.cache_clear()
    assert there.asked[0]["rewards"][1] == {"verifier": "length", "weight": 0.5, "kwargs": {}}
    assert there.asked[1]["rewards"] == [{"verifier": "gsm8k", "weight": 1.0, "kwargs": {"a": 1}}]
    keys = [head.get("Authorization") for head in there.heads]
    assert keys == ["Bearer k", None, "Bearer env"]


def test_verl_file_can_be_loaded_by_its_path():
    spec = importlib.util.spec_from_file_location("custom_module_1", Path(verl.__file__))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with service(by_length) as there:
        found = asyncio.run(
            closing(
                module._sessions(there.url, None, 120.0),
                module.compute_score("d", "abc", "1", {}, url=there.url),
            )
        )
    assert found["score"] == 3.0


def test_integrations_import_no_trainer():
    code = (
        "import sys, cohort.integrations.trl, cohort.integrations.verl\n"
        "print([n for n in ('torch', 'trl', 'verl', 'numpy', 'fastapi') if n in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# Ground truths of code, as verl 0.9.1 reads them (reward_score/sandbox_fusion).


@pytest.mark.parametrize(
    ("truth", "cases"),
    [
        (
            {"inputs": ["2 3\n"], "outputs": ["5\n"]},
            {"cases": [{"stdin": "2 3\n", "expected_stdout": "5\n"}]},
        ),
        (
            '{"inputs": [["2", "3"]], "outputs": [["5"]]}',
            {"cases": [{"stdin": "2\n3", "expected_stdout": "5"}]},
        ),
        (
            {"fn_name": "add", "inputs": ["2\n3", [4, 5]], "outputs": ["5", 9]},
            {
                "entry": "add",
                "cases": [{"args": [2, 3], "expected": 5}, {"args": [4, 5], "expected": 9}],
            },
        ),
        (
            {"fn_name": "f", "inputs": ["plain words"], "outputs": ["words"]},
            {"entry": "f", "cases": [{"args": ["plain words"], "expected": "words"}]},
        ),
    ],
)
def test_code_cases(truth, cases):
    assert code_cases(truth) == cases


@pytest.mark.parametrize(
    "truth",
    [
        "18", 18, None, "{1, 2}", "{", [1], {"inputs": ["1"], "outputs": []},
        {"inputs": "x", "outputs": "y"}, {"cases": []}, '{"a": 1}',
        {"inputs": [""], "outputs": [""], "assert_case": ["assert True"]},
        "{" * 100_000,
    ],
)  # fmt: skip
def test_other_truths_stay_as_they_are(truth):
    assert code_cases(truth) == truth


def test_numpy_in_verls_rows_becomes_json():
    numpy = pytest.importorskip("numpy")
    row = {"inputs": numpy.array(["1", "2"], dtype=object), "n": numpy.float64(2.5), "t": (1,)}
    assert verl._plain(row) == {"inputs": ["1", "2"], "n": 2.5, "t": [1]}
    assert math.isclose(verl._plain(numpy.float32(0.5)), 0.5)
