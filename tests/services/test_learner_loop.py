"""How a learner ends: paused, fenced off, failed or crashed. Only the folder is real."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cohort.config import RunConfig
from cohort.contracts.queue import GeneratorRecord, PolicyRecord
from cohort.models import ModelError
from cohort.rollouts.queue import Fenced, QueueLost
from cohort.run_folder import RunFolder, read_rows
from services.trainer.learner import __main__ as start
from services.trainer.learner.__main__ import train
from services.trainer.learner.commits import Commits, State
from services.trainer.learner.link import RunFailed, Stopped
from services.trainer.learner.loop import Loop
from services.trainer.learner.publisher import Publisher
from services.trainer.learner.waves import Filled


class World:
    """Link, waves, evaluation, publisher and team at once; a test says what goes wrong where."""

    fence = 1

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.published: list[int] = []
        self.acknowledged: list[int | None] = []
        self.stopped = 0
        self.wanted: str | None = None
        self.on_fill: Callable[[int], None] = lambda step: None
        self.on_check_fence: Callable[[], None] = lambda: None
        self.on_update: Callable[[], None] = lambda: None
        self.on_save: Callable[[], None] = lambda: None

    def check(self) -> None:
        """A request stands until the run has ended."""
        self.check_fence()
        if self.wanted:
            raise Stopped(self.wanted)

    def check_fence(self) -> None:
        self.on_check_fence()

    def acknowledge(self, entry_ids: list[str], committed_step: int | None = None) -> None:
        self.acknowledged.append(committed_step)

    def fill(self, step: int) -> Filled:
        self.on_fill(step)
        self.check()
        return Filled(waves=1)

    def first_wave(self, step: int) -> None:
        pass

    def publish(self, version: int) -> None:
        self.check()
        self.published.append(version)
        (self.folder.weights / str(version)).mkdir(exist_ok=True)

    def settle(self, version: int) -> None:
        pass

    def known(self) -> dict[str, str]:
        return {}

    def update(self, groups: list[Any]) -> dict[str, float]:
        self.on_update()
        return {"loss": 0.0}

    def save(self, place: Path) -> None:
        self.on_save()
        (place / "weights").write_text("w")

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def world(tmp_path: Path) -> World:
    folder = RunFolder(tmp_path, "run")
    folder.create()
    return World(folder)


def loop_of(world: World, steps: int = 4) -> Loop:
    config = RunConfig.from_dict(
        {
            "model": {"path": "bundled:tiny-random"},
            "task": {"name": "arithmetic", "args": {"operation": "add", "low": 1, "high": 9}},
            "rewards": [{"verifier": "math"}],
            "steps": steps,
            "eval": {"every": 0, "size": 0, "final_size": 0},
            "checkpoint": {"every": 3, "keep": 2},
        }
    )
    commits = Commits(world.folder, 2)
    newest = commits.newest()
    part: Any = world
    return Loop(
        config,
        world.folder,
        newest[1] if newest else State(),
        plan=part,
        link=part,
        waves=part,
        evaluation=part,
        publisher=part,
        commits=commits,
        team=part,
    )


def stop_at(world: World, state: str, step: int) -> None:
    """Ask for it while the groups of a step are waited for."""

    def fill(now: int) -> None:
        if now == step:
            world.wanted = state

    world.on_fill = fill


def replace(world: World) -> None:
    """A newer learner starts."""
    world.on_check_fence = lambda: raise_(Fenced("a newer one"))


def raise_(error: BaseException) -> None:
    raise error


def steps_on_disk(world: World) -> list[str]:
    return sorted(place.name for place in world.folder.checkpoints.iterdir())


def messages(world: World) -> list[str]:
    return [
        row["data"]["message"] for row in read_rows(world.folder.events) if row["type"] == "log"
    ]


def test_a_run_goes_from_the_first_version_to_the_model(world: World) -> None:
    train(loop_of(world))
    assert world.published == [0, 1, 2, 3, 4]
    assert world.acknowledged == [3, 4]
    assert steps_on_disk(world) == ["step-000003", "step-000004"]
    assert world.folder.model.is_dir()
    assert world.stopped == 1


@pytest.mark.parametrize("step", [1, 3, 4])
def test_pausing_commits_what_is_done(world: World, step: int) -> None:
    """Before the first commit, between two, and right after one."""
    stop_at(world, "paused", step)
    with pytest.raises(Stopped):
        train(loop_of(world))
    assert steps_on_disk(world) == [f"step-{step - 1:06d}"]
    assert world.acknowledged[-1] == step - 1
    assert world.stopped == 1
    world.wanted, world.on_fill = None, lambda now: None
    resumed = loop_of(world)
    assert resumed.state.step == step - 1
    train(resumed)
    assert [row["step"] for row in read_rows(world.folder.metrics)] == [1, 2, 3, 4]


def test_pausing_on_a_full_disk_keeps_the_commit_before_and_says_so(world: World) -> None:
    stop_at(world, "paused", 3)
    world.on_save = lambda: raise_(OSError(28, "No space left on device"))
    with pytest.raises(Stopped):
        train(loop_of(world))
    assert steps_on_disk(world) == []
    assert world.acknowledged == []
    assert "No space left" in messages(world)[-1]


def test_cancelling_commits_nothing(world: World) -> None:
    stop_at(world, "cancelled", 2)
    with pytest.raises(Stopped):
        train(loop_of(world))
    assert steps_on_disk(world) == []
    assert world.stopped == 1


def test_a_learner_that_was_replaced_while_it_trained_writes_nothing(world: World) -> None:
    world.on_update = lambda: replace(world)
    with pytest.raises(Fenced):
        train(loop_of(world))
    assert not world.folder.metrics.exists()
    assert not world.folder.ledger.exists()
    assert steps_on_disk(world) == []


def test_a_learner_that_was_replaced_while_it_saved_does_not_commit(world: World) -> None:
    world.on_save = lambda: replace(world)
    with pytest.raises(Fenced):
        train(loop_of(world))
    assert Commits(world.folder, 2).newest() is None
    assert world.acknowledged == []


@pytest.mark.parametrize(
    ("error", "let_go"), [(RunFailed("no"), 1), (QueueLost("gone"), 0), (MemoryError(), 0)]
)
def test_other_ranks_are_spoken_to_only_where_they_listen(
    world: World, error: BaseException, let_go: int
) -> None:
    """A message to ranks that wait in a collective would hang both sides."""
    world.on_fill = lambda now: raise_(error)
    with pytest.raises(type(error)):
        train(loop_of(world))
    assert world.stopped == let_go


def test_a_model_that_is_not_there_yet_is_made_before_the_ranks_meet(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Afterwards transformers would write nothing on this rank, and call it done."""
    done: list[str] = []
    world.folder.config.write_text(loop_of(world).config.to_yaml())
    monkeypatch.setenv("COHORT_RUNS_DIR", str(world.folder.root.parent))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.delenv("COHORT_PARENT_PID", raising=False)
    monkeypatch.setattr(sys, "argv", ["learner", "--run-id", "run"])
    monkeypatch.setattr("cohort.logs.configure", lambda *_: None)

    def resolve(*_: Any) -> Path:
        done.append("model")
        return world.folder.root

    def join() -> tuple[int, int]:
        done.append("join")
        return 1, 2

    monkeypatch.setattr(start, "resolve", resolve)
    monkeypatch.setattr(start, "join", join)
    monkeypatch.setattr(start, "Policy", lambda *_: raise_(ModelError("that will do")))
    assert start.main() == 0
    assert done == ["model", "join", "model"]


class Generators:
    """A link whose generators take some looks to follow the record."""

    fence = 2

    def __init__(self, *records: GeneratorRecord) -> None:
        self.looks = list(records)
        self.troubles: list[str | None] = []

    def check(self) -> None:
        pass

    def publish(self, record: PolicyRecord) -> None:
        pass

    def generators(self) -> list[GeneratorRecord]:
        return [self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]]

    def wait_while(self, trouble: Callable[[], str | None]) -> None:
        while what := trouble():
            self.troubles.append(what)


def serving(version: int, fingerprint: str, run_id: str = "run") -> GeneratorRecord:
    return GeneratorRecord(
        generator_id="g",
        url="http://g",
        run_id=run_id,
        version=version,
        fingerprint=fingerprint,
        capacity=8,
    )


def test_generators_leave_undone_versions_before_anything_is_asked(tmp_path: Path) -> None:
    """Version 5 was published and lost; the run goes on from version 4."""
    link = Generators(
        serving(5, "five"),
        serving(4, "four of the crashed learner"),
        serving(3, "long gone"),
        serving(5, "five"),
        serving(4, "four"),
    )
    publisher = Publisher(RunFolder(tmp_path, "run"), link, tmp_path, dict, max_lag=0)  # type: ignore[arg-type]
    publisher.adopt(4, "four")
    publisher.settle(4)
    assert [what.split(": ")[1] for what in link.troubles if what] == [
        "it still serves version 5 of a learner that crashed",
        "it still serves version 4 of a learner that crashed",
    ]
    publisher.settle(4)
    assert len(link.troubles) == 3


def test_generators_of_other_runs_are_not_waited_for(tmp_path: Path) -> None:
    link = Generators(serving(7, "seven", run_id="other"))
    publisher = Publisher(RunFolder(tmp_path, "run"), link, tmp_path, dict, max_lag=0)  # type: ignore[arg-type]
    publisher.settle(4)
    assert link.troubles == []
