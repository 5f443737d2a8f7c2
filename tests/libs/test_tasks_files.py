"""Tasks from files: read inside one folder, mistakes named by line, held-out prompts kept out."""

import json
import re
from pathlib import Path

import pytest

from cohort.tasks import TaskError, make_task

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"


def write(path: Path, rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_jsonl_takes_any_columns_and_keeps_repeated_prompts_together(tmp_path):
    rows = [{"q": f"question {i % 50}", "a": {"value": i}} for i in range(100)]
    write(tmp_path / "d.jsonl", rows)
    args = {"path": "d.jsonl", "prompt_column": "q", "answer_column": "a", "system": "S"}
    task = make_task("jsonl", args, 0, data_root=tmp_path)
    asked = [row.prompt.messages[1].content for row in task.eval]
    trained = [row.prompt.messages[1].content for row in task.train]
    assert len(asked) == len(set(asked)) == 5
    assert len(trained) == 90
    assert not set(asked) & set(trained)
    assert task.train[0].prompt.messages[0].content == "S"
    assert task.train[0].ground_truth == {"value": 0} or task.eval[0].ground_truth == {"value": 0}
    write(tmp_path / "d.jsonl", reversed(rows))
    again = make_task("jsonl", args, 7, data_root=tmp_path)
    assert {row.prompt for row in again.eval} == {row.prompt for row in task.eval}


def test_jsonl_with_its_own_held_out_file(tmp_path):
    write(tmp_path / "train.jsonl", [{"prompt": p, "answer": "1"} for p in "abc"])
    write(tmp_path / "test.jsonl", [{"prompt": [{"role": "user", "content": "b"}], "answer": "2"}])
    args = {"path": "train.jsonl", "eval_path": "test.jsonl"}
    task = make_task("jsonl", args, 0, data_root=tmp_path)
    assert [row.prompt.messages[0].content for row in task.train] == ["a", "c"]
    assert [row.ground_truth for row in task.eval] == ["2"]
    assert "1 training rows ask a held-out question" in task.notes[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"prompt": "a", "answer": 1}\nno json\n', "d.jsonl line 2: not JSON"),
        ('{"prompt": "a", "answer": NaN}\n', "d.jsonl line 1: not JSON"),
        ("[1]\n", "line 1: each line must be a JSON object"),
        ('{"prompt": "a"}\n', "row 1: no column 'answer'; it has prompt"),
        ('{"prompt": 3, "answer": 1}\n', "row 1: a prompt must be text"),
        ("\n\n", "the file has no rows"),
        ("\ufeff", "the file has no rows"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, text, words):
    (tmp_path / "d.jsonl").write_text(text)
    with pytest.raises(TaskError, match=re.escape(words)):
        make_task("jsonl", {"path": "d.jsonl"}, 0, data_root=tmp_path)


def test_not_utf8(tmp_path):
    (tmp_path / "d.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(TaskError, match="not UTF-8"):
        make_task("jsonl", {"path": "d.jsonl"}, 0, data_root=tmp_path)


@pytest.mark.parametrize("path", ["../secret.jsonl", "/etc/passwd", "link.jsonl", "a/../../x"])
def test_paths_stay_inside_the_data_folder(tmp_path, path):
    root = tmp_path / "root"
    root.mkdir()
    write(tmp_path / "secret.jsonl", [{"prompt": "a", "answer": "b"}])
    (root / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    for name, args in [("jsonl", {}), ("preferences", {}), ("gsm8k", {})]:
        with pytest.raises(TaskError, match="outside the data folder"):
            make_task(name, {"path": path, **args}, 0, data_root=root)


def test_the_data_folder_comes_from_the_environment(tmp_path, monkeypatch):
    write(tmp_path / "d.jsonl", [{"prompt": p, "answer": "1"} for p in "ab"])
    with pytest.raises(TaskError, match="no such file"):
        make_task("jsonl", {"path": "d.jsonl"}, 0)
    monkeypatch.setenv("COHORT_DATA_DIR", str(tmp_path))
    assert len(make_task("jsonl", {"path": "d.jsonl", "eval_fraction": 0}, 0).train) == 2


def test_preferences_carry_both_answers(tmp_path):
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "good"}]
    rows = [
        {"prompt": "Hi", "chosen": chat, "rejected": "bad"},
        {"prompt": "Ho", "chosen": "x", "rejected": "y"},
    ]
    write(tmp_path / "p.jsonl", rows)
    args = {"path": "p.jsonl", "eval_fraction": 0.0}
    task = make_task("preferences", args, 0, data_root=tmp_path)
    assert task.train[0].ground_truth == {"chosen": "good", "rejected": "bad"}
    write(tmp_path / "p.jsonl", [{"prompt": "Hi", "chosen": [], "rejected": "y"}])
    with pytest.raises(TaskError, match="row 1: an answer must be text"):
        make_task("preferences", args, 0, data_root=tmp_path)


def test_gsm8k_from_a_folder_and_from_one_file(tmp_path):
    (tmp_path / "g").mkdir()
    solution = "2*600=<<1200>>1200\n#### 1,200"
    rows = [{"question": f"q{i}", "answer": solution} for i in range(20)]
    write(tmp_path / "g" / "train.jsonl", rows)
    write(tmp_path / "g" / "test.jsonl", [{"question": "t", "answer": "#### -3"}])
    task = make_task("gsm8k", {"path": "g"}, 0, data_root=tmp_path)
    assert (len(task.train), len(task.eval)) == (20, 1)
    assert task.train[0].ground_truth == "1200"
    assert task.eval[0].ground_truth == "-3"
    assert "#### answer" in task.train[0].prompt.messages[0].content
    one = make_task("gsm8k", {"path": "g/train.jsonl", "system": None}, 0, data_root=tmp_path)
    assert (len(one.train), len(one.eval)) == (18, 2)
    assert len(one.train[0].prompt.messages) == 1


def test_gsm8k_by_name_says_what_it_needs(tmp_path):
    try:
        import datasets  # noqa: F401
    except ImportError:
        with pytest.raises(TaskError, match="pip install datasets, or set path to a JSONL file"):
            make_task("gsm8k", {}, 0, data_root=tmp_path)
    else:
        pytest.skip("the datasets library is installed, so the sentence about it does not come up")


def test_gsm8k_whole():
    if not (SHARED / "gsm8k" / "train.jsonl").is_file():
        pytest.skip("../shared/data/gsm8k is not here")
    task = make_task("gsm8k", {"path": "gsm8k"}, 0, data_root=SHARED)
    assert (len(task.train), len(task.eval)) == (7473, 1319)
    assert task.eval[0].ground_truth == "18"
    assert all(re.fullmatch(r"-?[\d.]+", row.ground_truth) for row in [*task.train, *task.eval])
