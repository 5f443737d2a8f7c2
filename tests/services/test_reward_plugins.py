"""Plug-ins: a package that is really on the path, with verifiers that work and that do not."""

import logging
from pathlib import Path

import anyio
import pytest

from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreRequest
from services.reward.grader import Grader, RequestError
from services.reward.verifiers.base import Answer
from services.reward.verifiers.math import MathVerifier
from services.reward.verifiers.plugins import load_plugins

EXAMPLE = Path(__file__).with_name("plugin_example")


@pytest.fixture
def loaded(monkeypatch):
    """All verifiers of the example, by name; `math` is taken."""
    monkeypatch.syspath_prepend(EXAMPLE)
    return {verifier.name: verifier for verifier in load_plugins({"math"}, limit_s=1.0)}


def judge(verifier, answers, timeout_s=60.0, **kwargs):
    outcomes = [None] * len(answers)

    async def go():
        with anyio.move_on_after(timeout_s):
            await verifier.score(answers, verifier.params(**kwargs), outcomes)
        await verifier.aclose()

    anyio.run(go)
    return outcomes


def test_without_packages_there_are_none():
    assert load_plugins({"math"}, found=[]) == []


def test_a_function_becomes_a_verifier_with_its_parameters(loaded):
    palindrome = loaded["palindrome"]
    assert (palindrome.version, palindrome.deterministic) == ("1.0", True)
    assert palindrome.description == "1 for a text that reads the same backwards."
    schema = palindrome.params.model_json_schema()
    assert schema["properties"].keys() == {"fold", "bonus"}
    assert schema["properties"]["fold"] == {"default": True, "title": "Fold", "type": "boolean"}
    answers = [Answer("Anna", "x"), Answer("Bert", "x"), Answer("Anna", None)]
    outcomes = judge(palindrome, answers)
    assert [(o.value, o.status) for o in outcomes] == [
        (1.0, "scored"),
        (0.0, "scored"),
        (None, "unscorable"),
    ]
    assert judge(palindrome, answers, fold=False, bonus=0.5)[0].value == 0.5
    assert palindrome.cache_key(answers[0], palindrome.params()) == ["Anna", "x"]
    with pytest.raises(ValueError, match="fald"):
        palindrome.params(fald=True)


def test_a_class_is_used_as_it_is(loaded):
    shout = loaded["shout"]
    assert shout.version == "3"
    assert [o.value for o in judge(shout, [Answer("a!"), Answer("a!!")], marks=2)] == [0.0, 1.0]


def test_what_a_text_does_to_a_function_is_its_own_failure(loaded):
    texts = ["0.5", "hang", "recurse", "die", "0.25"]
    outcomes = judge(loaded["moody"], [Answer(text) for text in texts])
    assert [(o.value, o.verdict) for o in outcomes] == [
        (0.5, "judged"),
        (0.0, "limit"),
        (0.0, "limit"),
        (0.0, "limit"),
        (0.25, "judged"),
    ]


def test_a_functions_own_trouble_is_infra_error_never_zero(loaded):
    texts = ["raise", "exit", "nan", "inf", "words", "7"]
    outcomes = judge(loaded["moody"], [Answer(text) for text in texts])
    assert [o.status for o in outcomes] == ["infra_error"] * 5 + ["scored"]
    assert "KeyError" in outcomes[0].reason
    assert "not finite" in outcomes[2].reason


def test_a_function_sees_its_kwargs_but_neither_questions_nor_secrets(loaded, monkeypatch):
    monkeypatch.setenv("COHORT_API_KEY", "secret")
    texts = ["kwargs", "read", "secret"]
    outcomes = judge(loaded["moody"], [Answer(text) for text in texts], a=[1, 2])
    assert [o.value for o in outcomes] == [2.0, 0.0, 0.0]


def test_what_the_deadline_interrupts_does_not_hold_up_the_next(loaded):
    moody = loaded["moody"]
    moody._child.limit_s = 300.0
    first = judge(moody, [Answer("1")])
    assert first[0].value == 1.0
    done, late = judge(moody, [Answer("2"), Answer("hang")], timeout_s=10.0)
    assert (done.value, late) == (2.0, None)
    assert judge(moody, [Answer("3")])[0].value == 3.0


BROKEN = {
    "async": "async function",
    "constant": "neither a subclass of Verifier nor a function",
    "demanding": "without arguments raised TypeError",
    "gone": "AttributeError",
    "nameless": "name must be text",
    "no_module": "ModuleNotFoundError",
    "no_params": "subclass of Params",
    "odd": "no JSON form",
    "quits": "SystemExit",
    "renamed": "name is shout",
    "short": "completion and ground_truth",
    "starred": "parameter more cannot be given by name",
    "math (cohort_plugin_example:palindrome)": "the name is taken",
}


def test_what_cannot_be_used_is_said_on_ready_and_stops_nobody(loaded, caplog):
    assert loaded.keys() == BROKEN.keys() | {"palindrome", "shout", "moody"}
    grader = Grader({"math": MathVerifier(), **loaded})
    assert anyio.run(grader.missing) == []
    missing = anyio.run(grader.degraded)["degraded"]
    assert len(missing) == len(BROKEN)
    for name, words in BROKEN.items():
        (sentence,) = [s for s in missing if s.startswith(f"plug-in {name.split()[0]} (")]
        assert words in sentence
    (outcome,) = judge(loaded["gone"], [Answer("x")], any_kwarg=1)
    assert (outcome.value, outcome.status) == (None, "infra_error")
    assert "AttributeError" in outcome.reason
    with caplog.at_level(logging.ERROR):
        load_plugins({"math"})
    assert {record.args[0] for record in caplog.records} == {name.split()[0] for name in BROKEN}


def test_a_request_names_plug_ins_like_all_others(loaded):
    grader = Grader({"math": MathVerifier(), **loaded})

    async def go(**kwargs):
        items = (ScoreItem(completion="#### 22", ground_truth="22"),)
        rewards = (RewardSpec(verifier="math"), RewardSpec(verifier="shout", kwargs=kwargs))
        results = await grader.score(ScoreRequest(items=items, rewards=rewards))
        return results[0].score, results[0].verifier_version

    assert anyio.run(go) == (1.0, f"math@{MathVerifier.version} shout@3")
    with pytest.raises(RequestError, match="loudness"):
        anyio.run(lambda: go(loudness=1))
    assert any(info.name == "shout" for info in grader.describe())
