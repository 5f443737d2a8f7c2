"""The registry and the readers: what is on disk is the truth, and damage stops nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

from cohort.config import RunConfig
from cohort.run_folder import append_rows
from services.trainer.run_files import EventReader, completion_rows, last_row, metric_rows
from services.trainer.runs import Registry, UnknownRun


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    made = Registry(tmp_path / "runs")
    made.load()
    return made


def test_a_run_is_on_disk_when_it_is_accepted(registry: Registry, config: Any) -> None:
    wanted = RunConfig.from_dict(config())
    record = registry.create(wanted, "key")
    fresh = Registry(registry.runs_dir)
    fresh.load()
    assert fresh.get(record.run_id) == record
    assert fresh.config(record.run_id) == wanted
    assert fresh.knows("key")
    assert not fresh.knows(None)


def test_other_folders_and_damaged_records_are_left_alone(registry: Registry, config: Any) -> None:
    good = registry.create(RunConfig.from_dict(config()))
    for name, text in {"torn": '{"run_id": "to', "list": "[]", "stranger": "{}"}.items():
        (registry.runs_dir / name).mkdir()
        (registry.runs_dir / name / "run.json").write_text(text)
    (registry.runs_dir / "empty").mkdir()
    moved = registry.runs_dir / "copy"
    moved.mkdir()
    (moved / "run.json").write_text(json.dumps(good.model_dump()))
    fresh = Registry(registry.runs_dir)
    fresh.load()
    assert [record.run_id for record in fresh.records()] == [good.run_id]
    with pytest.raises(UnknownRun):
        fresh.get("copy")


def test_a_change_that_the_disk_refused_is_written_later(registry: Registry, config: Any) -> None:
    record = registry.create(RunConfig.from_dict(config()))
    folder = registry.runs_dir / record.run_id
    aside = folder.with_name("aside")
    folder.rename(aside)
    registry.update(record.run_id, state="cancelled")
    assert registry.get(record.run_id).state == "cancelled"
    with pytest.raises(OSError, match="No such file"):
        registry.flush()
    aside.rename(folder)
    registry.flush()
    assert json.loads((folder / "run.json").read_text())["state"] == "cancelled"


def test_events_are_numbered_by_line_and_half_a_line_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    reader = EventReader(path)
    assert reader.read() == []
    append_rows(path, *({"type": "log", "time": 1.0, "data": {"n": n}} for n in range(3)))
    with path.open("a") as file:
        file.write("not json\n")
        file.write('{"type": "log", "time": 2.0, ')
    assert [event["id"] for event in reader.read()] == [1, 2, 3]
    assert reader.read() == []
    with path.open("a") as file:
        file.write('"data": {"n": NaN}}\n')
    assert reader.read() == [{"id": 5, "type": "log", "time": 2.0, "data": {"n": None}}]
    assert [event["id"] for event in EventReader(path, after=2).read()] == [3, 5]
    assert EventReader(path, after=99).read() == []


def test_many_events_are_read_in_portions(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    row = {"type": "log", "time": 0.0, "data": {"text": "x" * 1000}}
    append_rows(path, *([row] * 3000))
    reader, seen = EventReader(path, after=1500), []
    while events := reader.read():
        seen += [event["id"] for event in events]
    assert seen == list(range(1501, 3001))


def test_rows_are_found_by_step(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert last_row(path) is None
    assert metric_rows(path, -1, 10) == []
    rows = [{"step": step, "purpose": "train"} for step in (1, 2, 2)]
    append_rows(path, *rows, {"step": 2, "purpose": "eval"})
    assert last_row(path) == {"step": 2, "purpose": "eval"}
    assert len(metric_rows(path, 1, 10)) == 3
    assert len(completion_rows(path, None, None, 10)) == 3
    assert len(completion_rows(path, None, "train", 1)) == 1
    assert completion_rows(path, 1, "eval", 10) == []


def test_a_run_that_went_back_to_its_commit_shows_that_step(
    registry: Registry, config: Any
) -> None:
    run_id = registry.create(RunConfig.from_dict(config())).run_id
    metrics = registry.folder(run_id).metrics
    append_rows(metrics, {"step": 1}, {"step": 2})
    assert registry.view(run_id).step == 2
    metrics.write_text('{"step": 1}\n')
    assert registry.view(run_id).step == 1
