"""Tasks: held-out questions stay unseen in any order of operands; an epoch draws each row once."""

import re
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohort.tasks import Task, TaskError, draw, make_task, task_names, task_parameters
from cohort.tasks.order import permute

OPERATIONS = ["add", "subtract", "multiply", "divide"]


def question(row):
    return row.prompt.messages[-1].content


def operands(row):
    return tuple(int(part) for part in row.id.rsplit("/", 1)[1].split("_"))


@given(
    st.sampled_from(OPERATIONS),
    st.integers(1, 30),
    st.integers(1, 12),
    st.integers(2, 3),
    st.integers(0, 40),
)
@settings(max_examples=60, deadline=None)
def test_no_held_out_operands_are_trained_on_in_any_order(op, low, width, terms, num_eval):
    terms = 2 if op == "divide" else terms
    args = {"operation": op, "low": low, "high": low + width, "num_terms": terms}
    task = make_task("arithmetic", {**args, "num_eval": num_eval}, 0)
    held_out = {tuple(sorted(operands(row))) for row in task.eval}
    trained = [operands(row) for row in task.train]
    assert len(held_out) == len(task.eval)
    assert not held_out & {tuple(sorted(ops)) for ops in trained}
    # Nothing is lost: every ordered question is either trained on, or an order of a held-out one.
    assert len(set(trained)) == len(trained)
    orders = {o for ops in held_out for o in _orders(ops)}
    assert len(trained) + len(orders) == (width + 1) ** terms
    assert bool(task.notes) == (len(task.eval) < num_eval)


def _orders(ops):
    from itertools import permutations

    return set(permutations(ops))


@pytest.mark.parametrize("op", OPERATIONS)
def test_the_ground_truth_is_the_value_of_the_question(op):
    task = make_task("arithmetic", {"operation": op, "low": 2, "high": 30}, 0)
    for row in [*task.eval, *task.train[:50]]:
        a, sign, b = re.search(r"What is (-?\d+) (.) (-?\d+)\?", question(row)).groups()
        a, b, truth = int(a), int(b), int(row.ground_truth)
        value = {"+": a + b, "-": a - b, "*": a * b, "/": a // b}[sign]
        assert truth == value
        assert sign != "/" or a % b == 0


def test_the_default_is_the_demo():
    task = make_task("arithmetic", {"operation": "add", "low": 10, "high": 49}, 0)
    assert len(task.eval) == 256
    assert task.notes == []
    assert re.fullmatch(
        r"What is \d\d \+ \d\d\? Answer with just the number\.", question(task.eval[0])
    )


def test_held_out_questions_do_not_depend_on_the_seed():
    first, second = (make_task("arithmetic", {}, seed) for seed in (0, 1))
    assert first.eval == second.eval
    assert [draw(first, 0, i) for i in range(20)] != [draw(first, 1, i) for i in range(20)]


def test_a_small_range_says_what_it_could_not_hold_out():
    task = make_task("arithmetic", {"operation": "multiply", "low": 2, "high": 9}, 0)
    assert len(task.eval) == 18
    assert "36 different" in task.notes[0]
    assert "18 of them" in task.notes[0]
    with pytest.raises(TaskError, match="none can be held out"):
        make_task("arithmetic", {"low": 3, "high": 3}, 0)
    assert len(make_task("arithmetic", {"low": 3, "high": 3, "num_eval": 0}, 0).train) == 1


def test_a_billion_questions_are_not_listed():
    task = make_task("arithmetic", {"low": 1, "high": 1000, "num_terms": 3}, 0)
    held_out = {tuple(sorted(operands(row))) for row in task.eval}
    assert len(task.eval) == 256
    assert 10**9 - 6 * 256 <= len(task.train) < 10**9
    drawn = [operands(draw(task, 0, cursor)) for cursor in range(500)]
    assert len(set(drawn)) == 500
    assert not held_out & {tuple(sorted(ops)) for ops in drawn}
    assert operands(task.train[-1]) == (1000, 1000, 1000)


def test_wording():
    row = make_task("arithmetic", {"show_steps": True, "system": "Be exact."}, 0).train[0]
    assert "step by step" in question(row)
    assert "####" in question(row)
    assert row.prompt.messages[0].role == "system"
    row = make_task("arithmetic", {"prompt": "{question} = ? {0}", "low": -9, "high": -1}, 0)
    assert question(row.train[0]) == "-9 + (-9) = ? {0}"


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("sums", {}, "unknown task 'sums'; known tasks: arithmetic, code, gsm8k, jsonl"),
        ("arithmetic", {"operation": "power"}, "args.operation:"),
        ("arithmetic", {"lo": 1}, "args.lo: unknown field"),
        ("arithmetic", {"low": 9, "high": 2}, "above high"),
        ("arithmetic", {"operation": "divide", "low": 0}, "must not contain 0"),
        ("arithmetic", {"prompt": "Hello"}, "args.prompt: the wording must contain {question}"),
        ("arithmetic", {"low": 1, "high": 10**12, "num_terms": 5}, "narrow the range"),
        ("jsonl", {}, "args.path: required"),
    ],
)
def test_bad_arguments_are_named(name, args, words):
    with pytest.raises(TaskError, match=re.escape(words)):
        make_task(name, args, 0)


def test_task_names_and_parameters():
    assert {"arithmetic", "gsm8k", "jsonl", "preferences", "reasoning_gym"} <= set(task_names())
    assert "low" in task_parameters("arithmetic")["properties"]
    assert all(task_parameters(name)["properties"] for name in task_names())


@given(st.integers(1, 3000), st.text(max_size=5))
@settings(max_examples=50, deadline=None)
def test_permute_reaches_every_index_once(size, key):
    assert sorted(permute(i, size, key) for i in range(size)) == list(range(size))


@given(st.integers(0, 2**63 - 1), st.integers(1, 2**63))
def test_permute_stays_inside_any_size(index, size):
    assert 0 <= permute(index % size, size, "k") < size


def test_each_epoch_draws_every_row_once_and_in_another_order():
    rows = make_task("arithmetic", {"low": 1, "high": 6, "num_eval": 5}, 0).train
    task, size = Task(train=rows, eval=[]), len(rows)
    epochs = [[draw(task, 3, e * size + i).id for i in range(size)] for e in range(3)]
    assert all(sorted(epoch) == sorted(row.id for row in rows) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert draw(task, 3, 7).id == epochs[0][7]


def test_nothing_to_draw():
    with pytest.raises(TaskError, match="no training rows"):
        draw(Task(train=[], eval=[]), 0, 0)


def test_code_cases_hold_for_the_function_they_describe():
    task = make_task("code", {}, 0)
    ids = {row.id for row in task.train}
    assert len(task.eval) > 50
    assert not ids & {row.id for row in task.eval}
    row = next(row for row in task.train if row.id.startswith("code/0/"))
    constant = int(row.id.rsplit("/", 1)[1])
    assert f"plus {constant}" in question(row)
    for case in row.ground_truth["cases"]:
        assert case["expected"] == sum(case["args"]) + constant


@pytest.mark.parametrize("dataset", ["chain_sum", "graph_color", "rearc"])
def test_reasoning_gym_rows_are_json_and_never_held_out(dataset):
    import json

    args = {"dataset": dataset, "num_eval": 8, "size": 1000}
    task, again = make_task("reasoning_gym", args, 0), make_task("reasoning_gym", args, 0)
    other = make_task("reasoning_gym", args, 1)
    assert [row.id for row in task.eval] == [row.id for row in other.eval]
    rows = list(islice(task.train, 8))
    assert rows == list(again.train[:8])
    assert {row.id for row in rows} != {row.id for row in other.train[:8]}
    assert not {row.id for row in task.eval} & {row.id for row in rows}
    json.dumps([row.ground_truth for row in rows], allow_nan=False)


def test_reasoning_gym_entries_survive_json():
    import json

    from cohort.tasks.reasoning_gym import from_json, to_json

    entry = {"a": (1, (2.5, None)), "b": {1: "x", (2, 3): [True]}, "c": {"d": []}}
    assert from_json(json.loads(json.dumps(to_json(entry)))) == entry


def test_reasoning_gym_mistakes_are_named():
    with pytest.raises(TaskError, match=r"unknown dataset 'sudoku9'; known: .*sudoku"):
        make_task("reasoning_gym", {"dataset": "sudoku9"}, 0)
    with pytest.raises(TaskError, match="dataset_args do not suit chain_sum"):
        make_task("reasoning_gym", {"dataset": "chain_sum", "dataset_args": {"terms": 3}}, 0)
    few = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}
    args = {"dataset": "chain_sum", "dataset_args": few, "num_eval": 4096}
    with pytest.raises(TaskError, match="lower num_eval"):
        make_task("reasoning_gym", args, 0)
