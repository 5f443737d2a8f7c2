"""The reasoning_gym verifier: own scorers, in a child that can be killed and evaluates nothing."""

import inspect
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohort.tasks import make_task
from cohort.tasks.reasoning_gym import to_json
from services.reward import puzzles
from services.reward.verifiers.base import Answer, Outcome
from services.reward.verifiers.reasoning_gym import (
    ReasoningGymVerifier,
    find_answer,
)


@pytest.fixture(scope="module")
def verifier() -> Iterator[ReasoningGymVerifier]:
    made = ReasoningGymVerifier(limit_s=60.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COHORT_API_KEY", "secret")
        yield made
        process = made._child._process
        anyio.run(made.aclose)
        assert process is None or process.poll() is not None


def judge(verifier, answers, timeout_s=60.0, **kwargs) -> list[Outcome | None]:
    outcomes: list[Outcome | None] = [None] * len(answers)

    async def go():
        # A turn lock of its own for each event loop.
        verifier._turn = anyio.Lock()
        with anyio.move_on_after(timeout_s):
            await verifier.score(answers, verifier.params(**kwargs), outcomes)

    anyio.run(go)
    return outcomes


def rows(dataset, **args):
    return make_task("reasoning_gym", {"dataset": dataset, "num_eval": 2, "size": 3, **args}, 0)


def truth(dataset, answer="1", **metadata):
    entry = {"question": "?", "answer": answer, "metadata": metadata}
    return {"dataset": dataset, "entry": entry}


def tagged(text):
    return f"Let me see.\n<answer>{text}</answer>"


@pytest.mark.parametrize("dataset", ["chain_sum", "rearc", "simple_integration", "countdown"])
def test_the_gold_answer_scores_one_and_another_does_not(verifier, dataset):
    task = rows(dataset)
    answers = []
    for row in [*task.train, *task.eval]:
        sent = json.loads(json.dumps(row.ground_truth))
        answers += [Answer(tagged(sent["entry"]["answer"]), sent), Answer(tagged("-7"), sent)]
    outcomes = judge(verifier, answers)
    assert [o.verdict for o in outcomes] == ["correct", "wrong"] * 5
    assert all(o.value == 1.0 for o in outcomes[::2])
    assert all(o.value < 0.1 for o in outcomes[1::2])


def test_settings_of_the_data_set_reach_its_scorer(verifier):
    text = tagged("6*4*(9-8)")
    small = {**truth("puzzle24"), "args": {"min_value": 1, "max_value": 8}}
    default, narrowed = judge(verifier, [Answer(text, truth("puzzle24")), Answer(text, small)])
    assert default.value == 1.0
    assert narrowed.value < 0.1


def test_a_missing_answer_is_no_answer(verifier):
    gold = truth("chain_sum", "5")
    texts = ["5", "<answer>5", "<think><answer>5</answer>", tagged("5"), "<answer>4</answer>" * 2]
    outcomes = judge(verifier, [Answer(text, gold) for text in texts])
    assert [o.verdict for o in outcomes] == ["no_answer"] * 3 + ["correct", "wrong"]
    assert judge(verifier, [Answer(" 5 ", gold)], tag=None)[0].value == 1.0


@pytest.mark.parametrize(
    "gold",
    [
        None,
        "5",
        {"dataset": "chain_sum"},
        {"dataset": "no_such", "entry": {}},
        {"dataset": "composite", "entry": {}, "args": {"datasets": [{"name": "countdown"}]}},
        {"dataset": "chain_sum", "entry": 5},
        {"dataset": ["chain_sum"], "entry": {"answer": "1"}},
        {"dataset": "chain_sum", "entry": {"answer": "1"}, "args": {"no_such": 1}},
        truth("number_sorting", "__import__('os').getpid()", direction="ascending"),
        truth("bitwise_arithmetic", "1", problem="__import__('os').getpid()"),
        truth("simple_integration", "1", variable="x", integrand="exec('1')"),
    ],
)
def test_a_bad_ground_truth_is_unscorable(verifier, gold):
    (outcome,) = judge(verifier, [Answer(tagged("[1]"), gold)])
    assert (outcome.value, outcome.status) == (None, "unscorable")
    assert outcome.reason


ATTACKS = [
    "__import__('os').system('touch {path}')",
    "open('{path}', 'w')",
    "[open('{path}', 'w') for _ in '1']",
    "exec('open(chr(47), 1)')",
    "(lambda: open('{path}', 'w'))()",
    "x.__class__.__base__",
    "Symbol('x').free_symbols",
    "1 .__class__",
    'f\'{{open("{path}", "w")}}\'',
]


@pytest.mark.parametrize("dataset", sorted(puzzles.ANSWER_CHECKS))
def test_answers_are_never_executed(dataset, verifier, tmp_path):
    path = tmp_path / "executed"
    (row,) = rows(dataset, num_eval=0).train[:1]
    answers = [Answer(tagged(a.format(path=path)), row.ground_truth) for a in ATTACKS]
    outcomes = judge(verifier, answers)
    assert not path.exists()
    assert {o.verdict for o in outcomes} == {"unparsable_answer"}
    assert {o.value for o in outcomes} == {0.0}


def test_every_data_set_whose_scorer_evaluates_text_is_checked():
    from reasoning_gym.factory import DATASETS

    danger = ("eval(", "exec(", "parse_expr(", "sympify(", "literal_eval(", "__import__(")
    # Where the words occur, but not in scoring: generators, and a parser of the library's own.
    harmless = {"basic_arithmetic", "codeio", "gsm_symbolic", "propositional_logic"}
    found = {
        name
        for name, (kind, _) in DATASETS.items()
        if any(word in inspect.getsource(sys.modules[kind.__module__]) for word in danger)
    }
    assert found - harmless <= set(puzzles.ANSWER_CHECKS) | set(puzzles.ENTRY_CHECKS)


def test_checks_let_the_library_s_own_answers_through():
    import reasoning_gym

    for name, check in puzzles.ANSWER_CHECKS.items():
        data = reasoning_gym.create_dataset(name, size=8, seed=5)
        answers = [entry["answer"] for entry in data if "Integral" not in entry["answer"]]
        assert answers
        assert all(map(check, answers)), name
    for name, (path, check) in puzzles.ENTRY_CHECKS.items():
        data = reasoning_gym.create_dataset(name, size=8, seed=5)
        assert all(check(puzzles._field(entry, path)) for entry in data), name


@given(st.text(alphabet="abx019.+-*/()[]_'\" ,", max_size=20))
def test_what_passes_the_checks_calls_nothing_but_functions_of_mathematics(text):
    import ast

    for check in (puzzles.literal, puzzles.expression):
        if not check(text):
            continue
        try:
            tree = ast.walk(ast.parse(text.strip(), mode="eval"))
        except (SyntaxError, ValueError):
            continue
        for node in tree:
            assert not isinstance(node, ast.Attribute | ast.Subscript | ast.Lambda)
            assert not (isinstance(node, ast.Call) and check is puzzles.literal)


BOMB = Answer(tagged("9**9**9**9"), truth("countdown", numbers=[9], target=9))
FIVE = Answer(tagged("5"), truth("chain_sum", "5"))


def test_a_scorer_that_hangs_is_killed_and_the_next_answer_is_judged(verifier, monkeypatch):
    judge(verifier, [FIVE])
    with monkeypatch.context() as patch:
        patch.setattr(verifier._child, "limit_s", 0.3)
        (bomb,) = judge(verifier, [BOMB])
    (after,) = judge(verifier, [FIVE])
    assert (bomb.value, bomb.verdict) == (0.0, "limit")
    assert after.value == 1.0


def test_the_deadline_interrupts_a_scorer_but_not_one_that_is_loading(verifier):
    judge(verifier, [FIVE])
    started, interrupted = time.monotonic(), verifier._child._process
    done, bomb, never = judge(verifier, [FIVE, BOMB, FIVE], timeout_s=0.3)
    assert time.monotonic() - started < 10  # of what would last for ever
    assert done.value == 1.0
    assert bomb is None
    assert never is None
    # The next one starts a new child; a deadline meanwhile must not send it back to the start.
    assert judge(verifier, [FIVE], timeout_s=0.05) == [None]
    while (loading := verifier._child._process) in (None, interrupted):
        time.sleep(0.01)
    assert judge(verifier, [FIVE])[0].value == 1.0
    assert verifier._child._process is loading


def test_the_child_knows_no_secrets(verifier):
    judge(verifier, [FIVE])
    environment = Path(f"/proc/{verifier._child._process.pid}/environ").read_bytes()
    assert b"OPENBLAS" in environment
    assert b"secret" not in environment


def test_an_unsolved_integral_is_no_answer(verifier):
    gold = truth("simple_integration", "x**2 + C", variable="x", integrand="2*x")
    hack, right = judge(verifier, [Answer(tagged(t), gold) for t in ("Integral(2*x, x)", "x**2")])
    assert (hack.value, hack.verdict) == (0.0, "unparsable_answer")
    assert right.value == 1.0


def test_numbers_keyed_entries_reach_the_scorer(verifier):
    import reasoning_gym

    entry = reasoning_gym.create_dataset("graph_color", size=1, seed=1)[0]
    colours = entry["metadata"]["possible_answer"]
    gold = {"dataset": "graph_color", "entry": to_json(entry)}
    text = json.dumps({str(vertex): colour for vertex, colour in colours.items()})
    assert judge(verifier, [Answer(tagged(text), gold)])[0].value == 1.0


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("<answer>a</answer>", "a"),
        ("<answer>a</answer><answer> b </answer> c", "b"),
        ("<answer>a<answer>b</answer>", "b"),
        ("</answer><answer>", None),
        ("<think><answer>a</answer></think>", None),
        ("", None),
    ],
)
def test_where_the_answer_stands(completion, answer):
    assert find_answer(completion, "answer") == answer
