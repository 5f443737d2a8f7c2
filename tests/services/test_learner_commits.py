"""A commit is whole or absent, the one before it survives, and rows are cut back to it."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cohort.run_folder import RunFolder, append_rows, read_rows
from services.trainer.learner.commits import Commits, State


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path, "run")
    made.create()
    return made


def save(word: str) -> Callable[[Path], None]:
    def write(place: Path) -> None:
        (place / "weights").write_text(word)

    return write


def commit(commits: Commits, step: int) -> None:
    commits.write(State(step=step, fence=3), save(f"step {step}"))


def test_the_newest_commit_wins_and_old_ones_go(folder: RunFolder) -> None:
    commits = Commits(folder, keep=2)
    assert commits.newest() is None
    for step in (5, 10, 15):
        commit(commits, step)
    newest = commits.newest()
    assert newest is not None
    assert newest[1].step == 15
    assert (newest[0] / "weights").read_text() == "step 15"
    assert sorted(place.name for place in folder.checkpoints.iterdir()) == [
        "step-000010",
        "step-000015",
    ]


def test_a_full_disk_leaves_the_commit_before(folder: RunFolder) -> None:
    commits = Commits(folder, keep=2)
    commit(commits, 5)

    def full(place: Path) -> None:
        (place / "weights").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        commits.write(State(step=10), full)
    newest = commits.newest()
    assert newest is not None
    assert newest[1].step == 5
    assert [place.name for place in folder.checkpoints.iterdir()] == ["step-000005"]


def test_committing_a_step_again_never_leaves_it_without_its_policy(folder: RunFolder) -> None:
    commits = Commits(folder, keep=2)
    commit(commits, 5)
    inode = (folder.checkpoints / "step-000005" / "policy").stat().st_ino
    again = State(step=5, evals={"5": {"accuracy": 1.0}})
    commits.write(again, lambda place: pytest.fail("the policy of a step does not change"))
    assert (folder.checkpoints / "step-000005" / "policy").stat().st_ino == inode
    resumed = Commits(folder, keep=2)
    newest = resumed.newest()
    assert newest is not None
    assert newest[1].evals == {"5": {"accuracy": 1.0}}
    resumed.write(newest[1], lambda place: pytest.fail("nor after a restart"))


def test_what_was_half_written_is_deleted_at_the_next_start(folder: RunFolder) -> None:
    for aside in (folder.checkpoints / ".step-000003.tmp", folder.weights / ".3.77.new"):
        (aside / "inside").mkdir(parents=True)
    (folder.weights / "2").mkdir()
    Commits(folder, keep=2).rewind(State())
    assert list(folder.checkpoints.iterdir()) == []
    assert [place.name for place in folder.weights.iterdir()] == ["2"]


def test_what_a_killed_learner_left_half_written_is_not_a_commit(folder: RunFolder) -> None:
    commits = Commits(folder, keep=2)
    commit(commits, 5)
    shutil.copytree(folder.checkpoints / "step-000005", folder.checkpoints / ".step-000010.tmp")
    newest = commits.newest()
    assert newest is not None
    assert newest[1].step == 5
    commit(commits, 10)
    assert commits.newest()[1].step == 10  # type: ignore[index]


def test_rows_after_the_commit_are_cut_back(folder: RunFolder) -> None:
    commits = Commits(folder, keep=2)
    append_rows(folder.ledger, {"group_id": "a"})
    append_rows(folder.metrics, {"step": 1})
    commit(commits, 1)
    append_rows(folder.ledger, {"group_id": "b"})
    append_rows(folder.completions, {"text": "never committed"})
    newest = commits.newest()
    assert newest is not None
    commits.rewind(newest[1])
    assert [row["group_id"] for row in read_rows(folder.ledger)] == ["a"]
    assert [row["step"] for row in read_rows(folder.metrics)] == [1]
    assert list(read_rows(folder.completions)) == []
    commits.rewind(State())
    assert list(read_rows(folder.ledger)) == []


def test_a_row_that_is_still_being_written_is_not_read(folder: RunFolder) -> None:
    append_rows(folder.events, {"n": 1}, {"n": 2})
    with folder.events.open("a") as file:
        file.write('{"n": 3')
    assert [row["n"] for row in read_rows(folder.events)] == [1, 2]
