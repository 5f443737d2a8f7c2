"""`cohort score` and `cohort eval`: accuracy over what was scored, trouble counted apart."""

import json
from pathlib import Path

import pytest

from cohort.cli import main
from cohort.cli.console import Failure, UsageError
from cohort.cli.score import read_items
from cohort.cli.scoring import report_of
from cohort.contracts.reward import ScoreResult

ROWS = [
    {"id": "a", "completion": "6 * 7 = 42, so the answer is 42.", "ground_truth": "42"},
    {"completion": "It is \\boxed{43}.", "answer": "#### 42"},
    {"completion": "I do not know.", "answer": 42, "prompt": "What is 6 * 7?"},
]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_score_grades_a_file_with_a_reward_service_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COHORT_REWARD_URL", "http://127.0.0.1:9")  # nothing answers there
    file = write(tmp_path / "answers.jsonl", ROWS)
    assert main(["score", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["accuracy"] == pytest.approx(1 / 3)
    assert report["verdicts"] == {"correct": 1, "wrong": 1, "no_answer": 1}
    results = [json.loads(line) for line in Path(report["scores"]).read_text().splitlines()]
    assert [(row["id"], row["score"]) for row in results] == [("a", 1.0), ("2", 0.0), ("3", 0.0)]
    assert [path.name for path in (tmp_path / ".cohort").iterdir()] == []


@pytest.mark.slow
def test_eval_answers_held_out_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["eval", "bundled:tiny-random", "--task", "arithmetic", "--size", "8"]
    assert (
        main([*command, "--args", '{"low": 1, "high": 9}', "--max-new-tokens", "4", "--json"]) == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert report["num_questions"] == 8
    assert 0.0 <= report["accuracy"] <= 1.0
    assert sum(report["verdicts"].values()) == 8


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"completion": "4"}', "line 1 has neither `ground_truth` nor `answer`"),
        ('{"completion": 4, "answer": "4"}', "line 1 has no text in `completion`"),
        ('\n{"completion"', "line 2 is not JSON"),
        ("[]", "line 1 has no text in `completion`"),
        ("\n", "has no rows"),
        ("[" * 100_000, "line 1 is not JSON"),
        ('{"completion": "\\ud800", "answer": "4"}', "line 1 has half of a surrogate pair"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        read_items(path)


def test_only_a_newline_ends_a_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '\ufeff{"completion": "4\u2028", "answer": "4"}\r\n\n{"completion": "", "answer": 1}'
    )
    assert [item.id for item in read_items(path)] == ["1", "3"]


def test_where_the_scores_go_is_checked_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "answers.jsonl", ROWS)
    assert main(["score", str(file), "--out", str(tmp_path / "nosuch" / "x")]) == 2
    err = capsys.readouterr().err
    assert err == f"cohort: cannot write {tmp_path}/nosuch/x: No such file or directory\n"


def test_what_was_not_scored_is_no_zero() -> None:
    right = ScoreResult(score=1.0, status="scored", verdict="correct")
    lost = ScoreResult(score=None, status="infra_error", reason="the sandbox does not answer")
    report = report_of([right, lost])
    assert (report["accuracy"], report["num_unscored"]) == (1.0, 1)
    assert report["verdicts"] == {"correct": 1, "infra_error": 1}
    with pytest.raises(Failure, match="nothing could be scored: the sandbox does not answer"):
        report_of([lost])
