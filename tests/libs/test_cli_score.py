"""`cohort score` with several verifiers; `cohort rescore` says what changed and changes nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cohort.cli import main
from cohort.cli.rescore import Comparison, find_folder
from cohort.cli.scoring import BATCH, batches
from cohort.contracts.reward import ScoreResult
from cohort.launcher import Stack, StackPlan

GOOD = "<think>6 * 7</think><answer>The answer is 42.</answer>"
ROWS = [
    {"id": "a", "completion": GOOD, "ground_truth": "42", "num_tokens": 5},
    {"id": "b", "completion": "The answer is 42.", "ground_truth": "42", "num_tokens": 20},
    {"id": "c", "completion": "I do not know.", "ground_truth": "42", "num_tokens": 9},
]
CONFIG = """
model: {path: "bundled:tiny-random"}
task: {name: arithmetic, args: {low: 1, high: 9}}
rewards: [{verifier: math}]
steps: 2
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("reward")
    plan = StackPlan(
        runs_dir=folder / "runs",
        state_dir=folder / ".cohort",
        only=frozenset({"reward"}),
        port_base=None,
    )
    with Stack(plan, lambda _: None) as stack:
        yield stack.urls["reward"]


@pytest.fixture
def cohort(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command against the service: exit code, standard output, standard error."""

    def run(*args: str) -> tuple[int, str, str]:
        code = main([*args, "--url", url, "--state", str(tmp_path)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def a_run(runs: Path, name: str = "arith-1", config: str | None = CONFIG) -> Path:
    """A run's folder as the trainer leaves it; its scores are of a verifier that was fooled."""
    folder = runs / name
    folder.mkdir(parents=True)
    rows = [
        {"completion": "The answer is 4", "score": 1.0, "verdict": "correct"},
        {"completion": "The answer is 5\x1b[31m", "score": 1.0, "verdict": "correct"},
        {"completion": "Who knows?", "score": 0.0, "verdict": "wrong"},
        {"completion": "#### 4", "score": None, "verdict": None},
    ]
    common = {"step": 1, "purpose": "train", "group_id": "g", "policy_version": 0, "prompt": "2+2?"}
    common |= {"ground_truth": "4", "finish_reason": "stop", "num_tokens": 7}
    write(folder / "completions.jsonl", [{**common, **row} for row in rows])
    if config:
        (folder / "config.yaml").write_text(config)
    return folder


# score


def test_several_verifiers_with_weights_and_kwargs(cohort: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", ROWS)
    code, out, _ = cohort(
        *("score", file, "--json", "--reward", "math=1", "--reward", "format=0.5"),
        *("--reward", "length", "--kwargs", 'length={"max_tokens": 10}'),
    )
    assert code == 0
    report = json.loads(out)
    assert report["score"] == pytest.approx((1.5 + 0.0 + 0.0) / 3)
    assert report["components"] == pytest.approx({"math": 2 / 3, "format": 1 / 3, "length": -1 / 3})
    assert report["statuses"] == {"scored": 3}
    results = [json.loads(line) for line in Path(report["scores"]).read_text().splitlines()]
    assert [(row["id"], row["score"]) for row in results] == [("a", 1.5), ("b", 0.0), ("c", 0.0)]


def test_results_to_standard_output_and_the_summary_beside_it(cohort: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", ROWS)
    code, out, err = cohort("score", file, "--output", "-")
    assert code == 0
    assert [json.loads(line)["verdict"] for line in out.splitlines()] == [
        "correct",
        "correct",
        "no_answer",
    ]
    assert err.splitlines() == [
        "accuracy 66.7 %, mean score 0.667",
        "3 questions: correct 2, no_answer 1",
    ]
    assert [path.name for path in tmp_path.glob("rows*")] == ["rows.jsonl"]


def test_what_could_not_be_scored_is_said(cohort: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", [*ROWS, {"completion": "4", "ground_truth": ""}])
    _, out, _ = cohort("score", file)
    lines = out.splitlines()
    assert lines[0] == "accuracy 66.7 %, mean score 0.667"
    assert lines[1] == "4 questions: correct 2, no_answer 1, unparsable_gold 1"
    assert lines[2] == "left out of the means, since they could not be scored: unscorable 1"


def test_a_verifier_without_answers_has_no_accuracy_and_needs_no_truth(
    cohort: Any, tmp_path: Path
) -> None:
    file = write(tmp_path / "rows.jsonl", [{"completion": GOOD}, {"completion": "x"}])
    code, out, _ = cohort("score", file, "--verifier", "format", "--json")
    report = json.loads(out)
    assert (code, report["accuracy"], report["score"]) == (0, None, 0.5)
    assert report["verdicts"] == {"well_formed": 1, "malformed": 1}
    code, _, err = cohort("score", file)
    assert code == 2
    assert "line 1 has neither `ground_truth` nor `answer`" in err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--verifier", "math", "--reward", "format"], 2, "give either --verifier or --reward"),
        (["--reward", "math=much"], 2, "--reward 'math=much' is not NAME=WEIGHT"),
        (["--reward", "math", "--reward", "math=2"], 2, "--reward names a verifier twice"),
        (["--kwargs", "{"], 2, "--kwargs is not JSON"),
        (["--kwargs", "[1]"], 2, "--kwargs must be a JSON object"),
        (["--kwargs", "format={}"], 2, "--kwargs are for format, which no --verifier"),
        (["--reward", "math", "--reward", "format", "--kwargs", "{}"], 2, "must say whose they"),
        (["--out", "-", "--json"], 2, "--out - and --json both want standard output"),
        (["--verifier", "maths"], 1, "unknown verifier 'maths'; known verifiers: "),
        (["--verifier", "length"], 1, "max_tokens"),
    ],
)
def test_mistakes_are_one_sentence(
    cohort: Any, tmp_path: Path, options: list[str], code: int, words: str
) -> None:
    found, out, err = cohort("score", write(tmp_path / "rows.jsonl", ROWS), *options)
    assert (found, out) == (code, "")
    assert err.startswith("cohort: ")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("field", [{"num_tokens": "many"}, {"finish_reason": "bored"}])
def test_a_field_of_the_wrong_kind_is_named(
    cohort: Any, tmp_path: Path, field: dict[str, Any]
) -> None:
    file = write(tmp_path / "rows.jsonl", [{**ROWS[0], **field}])
    code, _, err = cohort("score", file)
    assert code == 2
    assert f"line 1: {next(iter(field))}" in err


def test_nobody_at_the_url_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "rows.jsonl", ROWS)
    assert main(["score", file, "--url", "http://127.0.0.1:9"]) == 1
    assert capsys.readouterr().err == "cohort: no reward service answers at http://127.0.0.1:9\n"


def test_batches_keep_groups_whole() -> None:
    rows = [(i, f"g{i // 50}") for i in range(200)] + [(i, None) for i in range(200, 400)]
    found = list(batches(rows, lambda row: row[1]))
    assert [row for batch in found for row in batch] == rows
    assert [len(batch) for batch in found] == [150, BATCH, 122]


# rescore


def test_rescore_compares_and_changes_nothing(cohort: Any, tmp_path: Path) -> None:
    folder = a_run(tmp_path / "runs")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, _ = cohort("rescore", str(folder), "--json")
    assert code == 0
    report = json.loads(out)
    assert (report["run"], report["num_completions"]) == ("arith-1", 4)
    assert report["rewards"] == [{"verifier": "math", "weight": 1.0, "kwargs": {}}]
    assert (report["old"], report["new"]) == (pytest.approx(2 / 3), 0.5)
    assert (report["old_unscored"], report["new_unscored"]) == (1, 0)
    assert report["num_changed"] == 2
    assert report["verdicts"] == {
        "correct": {"correct": 1, "unparsable_answer": 1},
        "unscored": {"correct": 1},
        "wrong": {"no_answer": 1},
    }
    first = report["examples"][0]
    assert first["old"] == {"score": 1.0, "verdict": "correct"}
    assert first["new"] == {"score": 0.0, "verdict": "unparsable_answer", "reason": None}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_rescore_for_people(cohort: Any, tmp_path: Path) -> None:
    a_run(tmp_path / "runs")
    runs = ["--runs", str(tmp_path / "runs")]
    code, out, _ = cohort("rescore", "last", *runs, "--show", "1", "--verifier", "format")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "run arith-1: 4 completions under 1 format"
    assert lines[1] == "mean score 0.667 -> 0.000"
    assert lines[2] == "3 scores changed (75.0 %)"
    assert lines[3] == "1 have no old score and are left out of its mean"
    assert "malformed" in out
    assert "step 1: 1.000 correct -> 0.000 malformed" in lines
    assert out.count("ground_truth") == 1


def test_rescore_shows_nothing_that_could_steer_a_terminal(cohort: Any, tmp_path: Path) -> None:
    a_run(tmp_path / "runs")
    _, out, _ = cohort("rescore", "arith", "--runs", str(tmp_path / "runs"), "--show", "9")
    assert "The answer is 5" in out
    assert "\x1b" not in out


def test_rescore_by_purpose(cohort: Any, tmp_path: Path) -> None:
    folder = str(a_run(tmp_path / "runs"))
    assert cohort("rescore", folder, "--purpose", "train")[0] == 0
    code, _, err = cohort("rescore", folder, "--purpose", "eval")
    assert (code, err) == (1, "cohort: run arith-1 has no completions to score\n")


def test_which_run_is_meant(cohort: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first, second = a_run(runs, "arith-1"), a_run(runs, "arith-10")
    assert find_folder("arith-1", runs).root == first
    assert find_folder("arith-10", runs).root == second
    assert find_folder(str(second), Path("elsewhere")).root == second
    for name, words in (("arith", "is the beginning of 2 runs"), ("x", "no run 'x'")):
        code, _, err = cohort("rescore", name, "--runs", str(runs))
        assert code == 2
        assert words in err


def test_a_run_without_a_config_asks_for_a_verifier(cohort: Any, tmp_path: Path) -> None:
    folder = str(a_run(tmp_path / "runs", config=None))
    code, _, err = cohort("rescore", folder)
    assert (code, err) == (2, "cohort: run arith-1 has no config.yaml: give a --verifier\n")
    assert cohort("rescore", folder, "--verifier", "math")[0] == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "has a row that is no JSON object"),
        ("3", "has a row that is no JSON object"),
        ('{"step": 1}', "has a row that is no completion"),
        ('{"completion": 3}', "has a row that is no completion"),
    ],
)
def test_a_damaged_file_is_one_sentence(cohort: Any, tmp_path: Path, line: str, words: str) -> None:
    folder = a_run(tmp_path / "runs")
    (folder / "completions.jsonl").write_text(line + "\n")
    code, _, err = cohort("rescore", str(folder), "--verifier", "math")
    assert code == 1
    assert words in err
    assert err.count("\n") == 1


def test_a_comparison_counts_trouble_as_no_zero() -> None:
    comparison = Comparison(keep=1)
    lost = ScoreResult(score=None, status="infra_error", reason="no sandbox")
    for score in (1.0, 0.0):
        row = {"completion": "x", "score": score, "verdict": "correct"}
        comparison.add(row, lost)
    report = comparison.report()
    assert (report["old"], report["new"], report["new_unscored"]) == (0.5, None, 2)
    assert report["verdicts"] == {"correct": {"infra_error": 2}}
    assert len(report["examples"]) == 1
