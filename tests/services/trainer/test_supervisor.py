"""Runs and their learners: ends, deaths, requests, restarts of the trainer. Real processes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cohort.rollouts.queue import RolloutQueue
from cohort.run_folder import read_rows
from services.trainer.keeper import Keeper
from services.trainer.learner_process import describe_death
from services.trainer.supervisor import WrongState

pytestmark = pytest.mark.anyio
NO_REDIS = "redis://127.0.0.1:1/0"


def states(rig: Any, run_id: str) -> list[str]:
    rows = read_rows(rig.settings.runs_dir / run_id / "events.jsonl")
    return [row["data"]["state"] for row in rows if row["type"] == "state"]


async def test_a_run_succeeds_and_shows_what_it_did(make_rig: Any) -> None:
    async with make_rig() as rig:
        run_id = await rig.submit("ok")
        view = await rig.until(run_id, "succeeded", "failed")
        assert view.state == "succeeded"
        assert view.step == 3
        assert view.metrics["reward"] == 0.75
        assert view.metrics["loss"] is None  # NaN is not JSON
        assert view.eval == {"3": 0.75}
        assert view.summary == {"eval": {"before": 0.0, "after": 0.75}}
        assert view.ended_at >= view.started_at >= view.created_at
        assert states(rig, run_id)[:2] == ["queued", "starting"]
        assert states(rig, run_id)[-1] == "succeeded"
        record = json.loads((rig.settings.runs_dir / run_id / "run.json").read_text())
        assert record["state"] == "succeeded"


async def test_the_learner_is_told_where_everything_is(make_rig: Any) -> None:
    async with make_rig() as rig:
        run_id = await rig.submit("ok")
        await rig.until(run_id, "succeeded")
        env = json.loads((rig.settings.runs_dir / run_id / "environment.json").read_text())
        assert env["COHORT_RUNS_DIR"] == str(rig.settings.runs_dir)
        assert env["COHORT_STATE_DIR"] == str(rig.settings.state_dir)
        assert env["COHORT_REDIS_URL"] == rig.settings.redis_url
        assert int(env["COHORT_PARENT_PID"]) > 1


async def test_a_learner_that_fails_gives_the_reason(make_rig: Any) -> None:
    async with make_rig() as rig:
        run_id = await rig.submit("fail")
        view = await rig.until(run_id, "failed", "succeeded")
        assert (view.state, view.reason) == ("failed", "the model forgot how to add")


async def test_a_learner_that_died_is_started_again(make_rig: Any) -> None:
    async with make_rig() as rig:
        run_id = await rig.submit("flaky")
        view = await rig.until(run_id, "succeeded", "failed")
        assert (view.state, view.restarts) == ("succeeded", 2)
        log = [r["data"] for r in read_rows(rig.settings.runs_dir / run_id / "events.jsonl")]
        assert any("SIGKILL" in data.get("message", "") for data in log)


async def test_deaths_without_progress_fail_the_run_with_the_end_of_the_log(make_rig: Any) -> None:
    async with make_rig(max_learner_deaths=3) as rig:
        run_id = await rig.submit("crash")
        view = await rig.until(run_id, "failed")
        assert len(rig.lives(run_id)) == 3
        first, rest = view.reason.split("\n", 1)
        assert first.startswith("the learner died 3 times in a row without a new commit")
        assert "exit code 1" in first
        assert "RuntimeError: the sky fell" in rest


async def test_a_commit_between_deaths_starts_the_count_again(make_rig: Any) -> None:
    async with make_rig(max_learner_deaths=2) as rig:
        view = await rig.until(await rig.submit("plodding"), "succeeded", "failed")
        assert (view.state, view.restarts) == ("succeeded", 5)


async def test_a_learner_that_cannot_be_started_fails_the_run(make_rig: Any) -> None:
    async with make_rig(max_learner_deaths=1, learner_command=("/no/such/program",)) as rig:
        view = await rig.until(await rig.submit("ok"), "failed")
        assert "/no/such/program" in view.reason


async def test_runs_train_one_at_a_time_in_order(make_rig: Any) -> None:
    async with make_rig() as rig:
        first, second, third = [await rig.submit(name) for name in ("obey", "ok", "ok")]
        await rig.until(first, "running")
        assert [rig.view(run).state for run in (second, third)] == ["queued", "queued"]
        rig.worker.supervisor.steer(first, "cancel")
        await rig.until(third, "succeeded")
        assert rig.view(second).ended_at <= rig.view(third).started_at


async def test_more_places_train_more_runs(make_rig: Any) -> None:
    async with make_rig(max_concurrent_runs=2) as rig:
        runs = [await rig.submit("obey") for _ in range(2)]
        for run in runs:
            await rig.until(run, "running")
        for run in runs:
            rig.worker.supervisor.steer(run, "cancel")
            await rig.until(run, "cancelled")


async def test_cancel_is_heard_by_the_learner_and_clears_redis(make_rig: Any, valkey: str) -> None:
    queue = RolloutQueue.from_url(valkey)
    async with make_rig() as rig:
        run_id = await rig.submit("obey")
        await rig.until(run_id, "running")
        assert rig.view(run_id).waiting_for == "nothing in particular"
        rig.worker.supervisor.steer(run_id, "cancel")
        view = await rig.until(run_id, "cancelled")
        assert view.waiting_for is None
        await rig.wait(lambda: rig.worker.registry.get(run_id).off_queue)
        assert queue.active_runs() == []
        assert not [key for key in queue.redis.keys("*") if key.endswith(run_id.encode())]
        assert json.loads(queue.redis.hget("runs", run_id) or b"{}")["run_id"] == run_id
    queue.close()


async def test_a_deaf_learner_is_killed_with_all_it_started(make_rig: Any, alive: Any) -> None:
    async with make_rig(cancel_grace_s=0.1, kill_grace_s=0.1) as rig:
        run_id = await rig.submit("deaf")
        await rig.until(run_id, "running")
        [life] = rig.lives(run_id)
        rig.worker.supervisor.steer(run_id, "cancel")
        assert (await rig.until(run_id, "cancelled")).reason is None
        await rig.wait(lambda: not alive(life["pid"]) and not alive(life["child"]))


async def test_waiting_runs_are_cancelled_and_paused_at_once(make_rig: Any) -> None:
    async with make_rig() as rig:
        blocker, second, third = [await rig.submit("obey") for _ in range(3)]
        steer = rig.worker.supervisor.steer
        assert steer(second, "cancel").state == "cancelled"
        assert steer(third, "pause").state == "paused"
        await rig.until(blocker, "running")
        steer(blocker, "cancel")
        await rig.until(blocker, "cancelled")
        assert rig.view(third).state == "paused"
        assert not rig.lives(second)
        assert not rig.lives(third)


async def test_pause_frees_the_place_and_resume_goes_on(make_rig: Any, valkey: str) -> None:
    queue = RolloutQueue.from_url(valkey)
    async with make_rig() as rig:
        run_id, other = await rig.submit("obey"), await rig.submit("ok")
        await rig.until(run_id, "running")
        rig.worker.supervisor.steer(run_id, "pause")
        view = await rig.until(run_id, "paused")
        assert view.ended_at is None
        await rig.until(other, "succeeded")
        await rig.wait(lambda: rig.worker.registry.get(run_id).off_queue)
        assert run_id not in queue.active_runs()  # generators turn to other runs
        rig.worker.supervisor.steer(run_id, "resume")
        view = await rig.until(run_id, "succeeded", "failed", "paused")
        assert view.state == "succeeded"
        assert len(rig.lives(run_id)) == 2
        assert view.restarts == 0
    queue.close()


async def test_a_run_is_cancelled_even_while_its_keeper_lets_go(make_rig: Any) -> None:
    async with make_rig() as rig:
        registry, supervisor = rig.worker.registry, rig.worker.supervisor
        run_id = registry.create(rig.run_config("obey")).run_id
        registry.update(run_id, state="paused")
        supervisor._keepers[run_id] = Keeper(registry, rig.worker.queue, rig.settings, run_id)
        assert supervisor.steer(run_id, "cancel").state == "cancelled"
        del supervisor._keepers[run_id]


async def test_a_run_that_lost_its_place_is_not_what_generators_follow(
    make_rig: Any, valkey: str
) -> None:
    queue = RolloutQueue.from_url(valkey)
    async with make_rig() as rig:
        resumed, other = await rig.submit("obey"), await rig.submit("obey")
        await rig.until(resumed, "running")
        rig.worker.supervisor.steer(resumed, "pause")
        await rig.until(resumed, "paused")
        rig.worker.supervisor.steer(resumed, "resume")  # at once: it is in line behind the other
        await rig.until(other, "running")
        await rig.wait(lambda: queue.active_runs() == [other])
        assert rig.view(resumed).state == "queued"
        rig.worker.supervisor.steer(other, "cancel")
        await rig.until(resumed, "succeeded")
    queue.close()


async def test_a_run_that_only_redis_remembers_is_not_served(make_rig: Any, valkey: str) -> None:
    queue = RolloutQueue.from_url(valkey)
    queue.open_run("of-another-folder")
    async with make_rig() as rig:
        await rig.wait(lambda: queue.active_runs() == [])
    queue.close()


async def test_requests_that_make_no_sense_are_refused(make_rig: Any) -> None:
    async with make_rig() as rig:
        done, running = await rig.submit("ok"), await rig.submit("obey")
        await rig.until(done, "succeeded")
        await rig.until(running, "running")
        steer = rig.worker.supervisor.steer
        for run_id, verb, word in [
            (done, "cancel", "already succeeded"),
            (done, "pause", "already succeeded"),
            (done, "resume", "has succeeded"),
            (running, "resume", "is running"),
        ]:
            with pytest.raises(WrongState, match=word):
                steer(run_id, verb)
        steer(running, "cancel")
        assert steer(running, "cancel").wanted == "cancel"  # asking twice is asking once
        with pytest.raises(WrongState, match="being cancelled"):
            steer(running, "pause")
        await rig.until(running, "cancelled")


async def test_a_new_trainer_carries_on_what_an_old_one_left(make_rig: Any) -> None:
    async with make_rig() as rig:
        interrupted, waiting = await rig.submit("obey"), await rig.submit("ok")
        paused = await rig.submit("ok")
        await rig.until(interrupted, "running")
        rig.worker.supervisor.steer(paused, "pause")
    assert rig.worker.registry.get(interrupted).state == "running"  # so says the disk
    async with make_rig() as rig:
        view = await rig.until(interrupted, "succeeded", "failed")
        assert view.state == "succeeded"
        assert len(rig.lives(interrupted)) == 2
        view = await rig.until(waiting, "succeeded")
        assert view.started_at >= rig.view(interrupted).ended_at
        assert rig.view(paused).state == "paused"


async def test_a_learner_that_still_lives_is_waited_for(make_rig: Any, valkey: str) -> None:
    queue = RolloutQueue.from_url(valkey)
    async with make_rig() as rig:
        run_id = await rig.submit("obey")
        await rig.until(run_id, "running")
    queue.hold_learner(run_id, 1, 60.0)  # as if the old learner had not died with its trainer
    async with make_rig() as rig:
        await rig.wait(lambda: "earlier trainer" in (rig.view(run_id).waiting_for or ""))
        assert len(rig.lives(run_id)) == 1
        queue.release_learner(run_id)
        await rig.until(run_id, "succeeded")
        assert len(rig.lives(run_id)) == 2
    queue.close()


async def test_an_outcome_that_nobody_saw_is_not_lost(make_rig: Any) -> None:
    async with make_rig() as rig:
        run_id = await rig.submit("obey")
        await rig.until(run_id, "running")
    outcome = rig.settings.runs_dir / run_id / "outcome.json"
    outcome.write_text('{"state": "succeeded", "reason": null}')
    async with make_rig() as rig:
        await rig.until(run_id, "succeeded")
        assert len(rig.lives(run_id)) == 1


async def test_stopping_the_trainer_stops_its_learners(make_rig: Any, alive: Any) -> None:
    async with make_rig() as rig:
        run_id = await rig.submit("deaf")
        await rig.until(run_id, "running")
        [life] = rig.lives(run_id)
        assert alive(life["pid"])
    assert not alive(life["pid"])
    assert rig.worker.registry.get(run_id).state == "running"


async def test_without_redis_runs_are_accepted_and_say_what_they_wait_for(make_rig: Any) -> None:
    async with make_rig(redis_url=NO_REDIS) as rig:
        run_id = await rig.submit("obey")
        await rig.wait(lambda: "Redis at 127.0.0.1:1" in (rig.view(run_id).waiting_for or ""))
        assert rig.view(run_id).state == "queued"
        rig.worker.supervisor.steer(run_id, "cancel")
        await rig.until(run_id, "cancelled")


async def test_waiting_for_redis_ends_at_the_stated_limit(make_rig: Any) -> None:
    async with make_rig(redis_url=NO_REDIS) as rig:
        run_id = await rig.submit("ok", rollout={"unreachable_limit_s": 0.1})
        view = await rig.until(run_id, "failed")
        assert view.reason.startswith("gave up after waiting 0.1 s: Redis at 127.0.0.1:1")


async def test_redis_that_comes_back_is_used_again(
    make_rig: Any, mortal_valkey: Any, tmp_path: Path
) -> None:
    url = str(mortal_valkey.connection_url)
    async with make_rig(redis_url=url) as rig:
        run_id = await rig.submit("obey")
        await rig.until(run_id, "running")
        mortal_valkey.terminate()
        rig.worker.supervisor.steer(run_id, "pause")
        mortal_valkey.start()
        await rig.until(run_id, "paused", "succeeded")
        await rig.wait(lambda: not rig.worker.missing())


async def test_a_death_on_a_full_disk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "learner.log"
    assert describe_death(-9, log) == "killed by SIGKILL, perhaps for lack of memory"
    log.write_text("OSError: [Errno 28] No space left on device\n")
    full = f"exit code 1, the disk of {tmp_path} is full"
    assert describe_death(1, log) == full
    log.unlink()
    usage = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert describe_death(1, log) == full
