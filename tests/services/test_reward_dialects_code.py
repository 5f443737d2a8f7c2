"""The code dialects, wired in process to the real sandbox."""

import base64
import json
import pickle
import zlib

import anyio
import httpx
import pytest

from cohort.clients import AsyncSandboxClient
from cohort.config import ServiceSettings
from cohort.contracts.reward import RewardSpec
from cohort.web import create_service
from services.reward.dialects import add_dialects
from services.reward.dialects.open_instruct import _fenced
from services.reward.grader import Grader
from services.reward.verifiers.code import CodeVerifier, last_block
from services.sandbox.app import create_app as create_sandbox_app
from services.sandbox.config import Settings as SandboxSettings
from services.sandbox.runner import Sandbox


class Settings(ServiceSettings):
    dialect_rewards: dict[str, tuple[RewardSpec, ...]] = {}


def post(path, body):
    """Through both HTTP layers, without a port."""
    inner = SandboxSettings(allow_insecure=True, slots=2)
    sandbox_app = create_sandbox_app(Sandbox(inner), inner)

    async def ready():
        return []

    async def go():
        sandbox = AsyncSandboxClient(
            "http://sandbox", transport=httpx.ASGITransport(app=sandbox_app), retry_for_s=0.0
        )
        grader = Grader({"code": CodeVerifier(sandbox)})
        app = create_service("reward", "a test", Settings(), ready)
        add_dialects(app, grader, Settings())
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://reward") as client:
            response = await client.post(path, json=body)
        await grader.aclose()
        return response

    return anyio.run(go)


# open-instruct e6c3044: the two curl lines at the top of open_instruct/code_utils/api.py.


def test_open_instruct_assertions():
    body = {
        "program": "def add(a, b): return a + b",
        "tests": ["assert add(1, 2) == 3", "assert add(-1, 1) == 0", "assert add(0, 0) == 1"],
        "max_execution_time": 1.0,
    }
    answer = post("/test_program", body).json()
    assert answer["results"] == [1, 1, 0]
    assert [seconds >= 0 for seconds in answer["runtimes"]] == [True, True, False]
    assert answer["runtimes"][2] == -1.0


def test_open_instruct_stdio():
    body = {
        "program": "import sys\nfor line in sys.stdin.read().split():\n    print(int(line) + 1)",
        "tests": [{"input": "1\n", "output": "2\n"}, {"input": "100\n", "output": "101\n"}],
        "max_execution_time": 1.0,
    }
    assert post("/test_program_stdio", body).json()["results"] == [1, 1]
    text = body | {"tests": json.dumps([{"input": "1\n", "output": "3\n"}])}
    assert post("/test_program_stdio", text).json()["results"] == [0]


@pytest.mark.parametrize(
    "program",
    [
        "import os\nos._exit(0)",
        "import sys\nsys.exit(0)",
        "def add(a, b): return 4\n",
        "raise SystemExit",
        "print('passed')\nimport os; os._exit(0)",
        "def add(a, b) return a",
        "while True: pass",
    ],
)
def test_a_program_that_leaves_before_its_test_has_not_passed(program):
    body = {"program": program, "tests": ["assert add(1, 2) == 3"], "max_execution_time": 0.2}
    assert post("/test_program", body).json() == {"results": [0], "runtimes": [-1.0]}


@pytest.mark.parametrize("tests", [[], "", None, "[]"])
def test_no_tests(tests):
    answer = post("/test_program", {"program": "x", "tests": tests})
    assert answer.json() == {"results": [], "runtimes": []}


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("/test_program", base64.b64encode(zlib.compress(pickle.dumps(["assert True"]))).decode()),
        ("/test_program", [{"input": "", "output": ""}]),
        ("/test_program", ["assert True"] * 1_001),
        ("/test_program", {"a": 1}),
        ("/test_program_stdio", ["assert True"]),
        ("/test_program_stdio", [{"input": ""}]),
    ],
)
def test_tests_that_are_none(path, tests):
    answer = post(path, {"program": "x", "tests": tests})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("tests: ")


def test_the_fence_is_longer_than_any_in_the_program():
    program = 'text = """\n```\n`````python\n"""\nprint(text)'
    assert last_block(_fenced(program)) == program
    assert last_block(_fenced("`" * 100_000)) == "`" * 100_000


# verl's ground truths of code reach the code verifier through the text dialects.


def test_labels_in_verls_form():
    label = {"inputs": ["2 3\n"], "outputs": ["5\n"]}
    response = "```python\nprint(sum(map(int, input().split())))\n```<|im_end|>"
    for form in (label, json.dumps(label)):
        body = {"prompt": "", "response": response, "label": form}
        assert post("/compat/slime?verifier=code", body).json() == 1.0
    functional = {"fn_name": "add", "inputs": ["2\n3", "4\n5"], "outputs": ["5", "10"]}
    query = "p```python\ndef add(a, b):\n    return a + b\n```"
    body = {"query": [query], "prompts": ["p"], "labels": [functional]}
    assert post("/get_reward?verifier=code", body).json()["rewards"] == [0.5]
