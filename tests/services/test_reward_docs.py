"""docs/reward-service.md tells the truth: its curl lines are run, its names are looked up."""

import json
import re
import shlex
from pathlib import Path

import anyio
import httpx
import pytest

from cohort.clients import AsyncSandboxClient
from services.reward.app import create_app
from services.reward.config import Settings
from services.reward.dialects import DIALECTS
from services.reward.grader import Grader
from services.reward.verifiers import build_verifiers
from services.reward.verifiers.models import model_verifiers

TEXT = (Path(__file__).parents[2] / "docs" / "reward-service.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, flags=re.M | re.S)
CURLS = [
    (code, BLOCKS[at + 1][1] if BLOCKS[at + 1][0] == "json" else None)
    for at, (kind, code) in enumerate(BLOCKS)
    if kind == "sh" and code.startswith("curl")
]


def ask(curl):
    """What the service answers to a curl command of the form that the page uses."""
    _, quiet, url, header, kind, data, body = shlex.split(curl)
    assert (quiet, header, data) == ("-s", "-H", "-d")
    path = url.removeprefix("localhost:8002")

    async def go():
        grader = Grader(build_verifiers(AsyncSandboxClient("http://sandbox")))
        transport = httpx.ASGITransport(app=create_app(grader, Settings()))
        async with httpx.AsyncClient(transport=transport, base_url="http://reward") as client:
            headers = dict([kind.split(": ")])
            answer = await client.post(path, content=body, headers=headers)
        await grader.aclose()
        return answer

    return anyio.run(go)


@pytest.mark.parametrize(("curl", "shown"), CURLS, ids=range(len(CURLS)))
def test_what_the_page_says_is_answered(curl, shown):
    answer = ask(curl)
    assert answer.status_code == 200, answer.text
    if shown is None:
        return
    said, got = json.loads(shown), answer.json()
    if isinstance(said, dict) and "id" in said:
        got = next(result for result in got["results"] if result["id"] == said["id"])
        got = {name: got[name] for name in said}
    assert got == said


def test_every_verifier_is_in_the_table_with_parameters_that_exist():
    verifiers = build_verifiers(AsyncSandboxClient("http://sandbox"))
    verifiers |= {verifier.name: verifier for verifier in model_verifiers(Settings())}
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|", TEXT, flags=re.M))
    for name, verifier in verifiers.items():
        schema = json.dumps(verifier.params.model_json_schema())
        named = [word for word in re.findall(r"`(\w+)`", rows[name]) if word not in verifiers]
        assert [word for word in named if f'"{word}"' not in schema] == [], name


def test_the_page_has_examples():
    assert len(CURLS) >= 5


def test_every_dialect_is_on_the_page():
    for dialect in DIALECTS:
        assert f"`{dialect.path}`" in TEXT or f"{dialect.path}`" in TEXT, dialect.path


def test_every_setting_is_on_the_page():
    own = set(Settings.model_fields) - set(Settings.__mro__[1].model_fields)
    named = set(re.findall(r"`(\w+)`", TEXT))
    assert own <= named
