"""The code verifier, wired in process to the real sandbox service, and to one in trouble."""

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohort.clients import AsyncSandboxClient
from cohort.contracts.reward import ScoreRequest
from cohort.contracts.sandbox import CaseResult, RunResponse
from cohort.tasks import make_task
from services.reward.app import create_app
from services.reward.config import Settings
from services.reward.grader import Grader
from services.reward.verifiers import build_verifiers
from services.reward.verifiers.code import last_block, same
from services.sandbox.app import create_app as create_sandbox_app
from services.sandbox.config import Settings as SandboxSettings
from services.sandbox.runner import Sandbox

ADD = {"entry": "add", "cases": [{"args": [i, 10], "expected": i + 10} for i in range(4)]}
ECHO = {"cases": [{"stdin": "2 3\n", "expected_stdout": "5"}]}


def block(code, language="python"):
    return f"Here:\n```{language}\n{code}\n```\n"


def over_http(items, sandbox_transport, timeout_s=60.0, retry_for_s=0.0, **kwargs):
    """Score through both HTTP layers, without a port."""

    async def go():
        sandbox = AsyncSandboxClient(
            "http://sandbox", transport=sandbox_transport(), retry_for_s=retry_for_s
        )
        grader = Grader(build_verifiers(sandbox))
        transport = httpx.ASGITransport(app=create_app(grader, Settings()))
        body = {
            "items": items,
            "rewards": [{"verifier": "code", "kwargs": kwargs}],
            "timeout_s": timeout_s,
        }
        async with httpx.AsyncClient(transport=transport, base_url="http://reward") as client:
            response = await client.post("/v1/score", json=body)
        await grader.aclose()
        assert response.status_code == 200, response.text
        return response.json()["results"]

    return anyio.run(go)


def real_sandbox():
    settings = SandboxSettings(allow_insecure=True, slots=2)
    return httpx.ASGITransport(app=create_sandbox_app(Sandbox(settings), settings))


def test_the_real_sandbox_judges_functions_and_programs():
    programs = [
        (block("def add(a, b):\n    return a + b"), ADD),
        (block("def add(a, b):\n    return a + b if a < 2 else 0"), ADD),
        (block("def add(a, b):\n    return str(a + b)"), ADD),
        (block("def subtract(a, b):\n    return a - b"), ADD),
        (block("def add(a, b) return"), ADD),
        ("def add(a, b): return a + b", ADD),
        (block("print('noise')\ndef add(a, b):\n    print('more')\n    return a + b"), ADD),
        (block("a, b = map(int, input().split())\nprint(a + b, ' ')"), ECHO),
        (block("print(6)"), ECHO),
    ]
    items = [{"completion": text, "ground_truth": truth} for text, truth in programs]
    results = over_http(items, real_sandbox)
    assert [r["score"] for r in results] == [1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    words = ["correct", "wrong", "wrong", "wrong", "wrong", "no_answer", "correct", "correct"]
    assert [r["verdict"] for r in results] == [*words, "wrong"]
    assert all(r["status"] == "scored" for r in results)
    assert results[1]["metrics"]["code.passed"] == 0.5


CHEATS = {
    "exit at once": "import os\nos._exit(0)",
    "exit in the function": "import sys\ndef add(a, b): sys.exit(0)",
    "an object equal to everything": "class E:\n    def __eq__(self, other): return True\n"
    "def add(a, b): return E()",
    "an int equal to everything": "class I(int):\n    def __eq__(self, other): return True\n"
    "def add(a, b): return I(0)",
    "a verdict printed": "print('passed: true')\nimport os; os._exit(0)",
    "what the caller expects": "import sys\ndef add(a, b):\n"
    "    return sys._getframe(1).f_globals.get('expected', 0)",
    "a number for a truth": "def add(a, b): return True",
}


@pytest.mark.parametrize("code", CHEATS.values(), ids=CHEATS)
def test_a_pass_cannot_be_forged(code):
    truth = {"entry": "add", "cases": [{"args": [1, 2], "expected": 3}]}
    (result,) = over_http([{"completion": block(code), "ground_truth": truth}], real_sandbox)
    assert (result["score"], result["status"]) == (0.0, "scored")


def test_a_program_without_end_is_its_own_failure():
    item = {"completion": block("while True: pass"), "ground_truth": ECHO}
    (result,) = over_http([item], real_sandbox, cpu_ms=50)
    assert (result["score"], result["status"]) == (0.0, "scored")
    assert result["verdict"] == "limit"


def test_all_or_nothing():
    half = {"completion": block("def add(a, b): return 10"), "ground_truth": ADD}
    (result,) = over_http([half], real_sandbox, count="all")
    assert (result["score"], result["metrics"]["code.passed"]) == (0.0, 0.25)


def test_the_code_task_reaches_the_sandbox_and_its_solution_scores_one():
    task = make_task("code", {"num_cases": 2}, 0)
    row = next(row for row in task.train if row.id.startswith("code/0/"))
    constant = row.id.rsplit("/", 1)[1]
    solution = block(f"def solve(a, b):\n    return a + b + {constant}")
    wrong = block("def solve(a, b):\n    return ...")
    items = [{"completion": text, "ground_truth": row.ground_truth} for text in (solution, wrong)]
    assert [r["score"] for r in over_http(items, real_sandbox)] == [1.0, 0.0]


GOOD = {"completion": block("def add(a, b): return a + b"), "ground_truth": ADD}


def failing(status=None, cases=(), exception=None):
    def answer(request):
        if exception is not None:
            raise exception
        if status is not None:
            return httpx.Response(status, json={"error": {"code": "c", "message": "is ill"}})
        response = RunResponse(
            status="ok", cases=cases, backend="fake", level="none", reason="a slot was lost"
        )
        return httpx.Response(200, content=response.model_dump_json())

    return lambda: httpx.MockTransport(answer)


@pytest.mark.parametrize(
    ("transport", "words"),
    [
        (failing(exception=httpx.ConnectError("refused")), "cannot reach http://sandbox (refused)"),
        (failing(status=503), "is ill"),
        (failing(status=500), "is ill"),
        (failing(cases=()), "a slot was lost"),
        (failing(cases=[CaseResult(status="ok", passed=None)] * 3), "a slot was lost"),
        (failing(cases=[CaseResult(status="infra_error", passed=None)] * 4), "a slot was lost"),
        (lambda: httpx.MockTransport(lambda _: httpx.Response(200, text="?")), "unexpected"),
    ],
)
def test_trouble_of_the_sandbox_is_infra_error_never_zero(transport, words):
    no_code = {"completion": "no code", "ground_truth": ADD}
    trouble, other = over_http([GOOD, no_code], transport)
    assert (trouble["score"], trouble["status"]) == (None, "infra_error")
    assert words in trouble["reason"]
    assert (other["score"], other["status"]) == (0.0, "scored")


def test_a_sandbox_that_does_not_answer_is_a_timeout_of_the_caller():
    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            await anyio.sleep(60)

    (result,) = over_http([GOOD], Silent, timeout_s=0.1)
    assert (result["score"], result["status"]) == (None, "timeout")


@pytest.mark.parametrize(
    "truth",
    [
        None,
        "42",
        {},
        {"cases": []},
        {"cases": [{"stdin": ""}]},
        {"entry": "import os", "cases": [{"args": [], "expected": 1}]},
        {"entry": "f", "cases": [{"args": []}]},
    ],
)
def test_a_ground_truth_without_cases_is_unscorable(truth):
    (result,) = over_http([{**GOOD, "ground_truth": truth}], failing(status=500))
    assert (result["score"], result["status"]) == (None, "unscorable")
    assert result["verdict"] == "unparsable_gold"
    assert "ground_truth" in result["reason"]


def test_expected_values_never_reach_the_sandbox():
    seen = []

    def answer(request):
        seen.append(request.content.decode())
        return httpx.Response(500)

    truth = {"cases": [{"stdin": "in", "expected_stdout": "the-secret"}]}
    call = {"entry": "f", "cases": [{"args": ["in"], "expected": "the-secret"}]}
    items = [{**GOOD, "ground_truth": gold} for gold in (truth, call)]
    over_http(items, lambda: httpx.MockTransport(answer))
    assert len(seen) == 2
    assert not any("the-secret" in body for body in seen)
    request = ScoreRequest.model_validate({"items": [{**GOOD, "prompt": "p"}]})
    assert request.items[0].prompt == "p"


@pytest.mark.parametrize(
    ("completion", "code"),
    [
        ("", None),
        ("plain", None),
        ("```python\nx\n```", "x"),
        ("```\nx\n```", "x"),
        ("```python\nx", None),
        ("```text\nx\n```", None),
        ("```python\nx\n```\n```text\ny\n```", "x"),
        ("```py\nx\n```\nthen\n```Python3\ny\n\nz\n```", "y\n\nz"),
        ("````python\na = '''\n```\n'''\n````", "a = '''\n```\n'''"),
        ("<think>```python\nx\n```", None),
        ("<think>```python\nx\n```</think>\n```python\ny\n```", "y"),
    ],
)
def test_the_last_closed_block_after_the_thinking_counts(completion, code):
    assert last_block(completion) == code


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner)
)


@given(json_values, json_values)
@settings(max_examples=50)
def test_values_are_the_same_when_they_are_written_the_same(a, b):
    import json

    assert same(a, a)
    assert same(a, b) == (json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True))


def test_types_are_exact_and_floats_are_close():
    assert not same(True, 1)
    assert not same(1.0, 1)
    assert same(0.1 + 0.2, 0.3)
    assert not same([0.3], [0.31])
