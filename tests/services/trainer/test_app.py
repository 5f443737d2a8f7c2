"""Every route of the trainer and every status that it can answer."""

import json
from typing import Any

import httpx
import pytest
import yaml

pytestmark = pytest.mark.anyio
YAML = {"Content-Type": "application/yaml"}


async def start(rig: Any, body: dict[str, Any], **headers: str) -> httpx.Response:
    return await rig.http.post("/train", json=body, headers=headers)


def problem(response: httpx.Response) -> str:
    error = response.json()["error"]
    assert set(error) == {"code", "message", "details"}
    return f"{response.status_code} {error['code']}: {error['message']}"


@pytest.mark.parametrize(
    "kind", ["application/yaml", "text/yaml", "application/x-yaml; charset=utf-8"]
)
async def test_train_accepts_yaml(make_rig: Any, config: Any, kind: str) -> None:
    async with make_rig() as rig:
        body = yaml.safe_dump(config())
        response = await rig.http.post("/train", content=body, headers={"Content-Type": kind})
        assert response.status_code == 202
        answer = response.json()
        assert answer["state"] == "queued"
        assert answer["url"] == f"http://trainer/runs/{answer['run_id']}"
        assert (rig.settings.runs_dir / answer["run_id"] / "config.yaml").exists()


async def test_train_accepts_json_and_run_ids_are_safe_paths(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        run_id = (await start(rig, config("ok.a_b-c"))).json()["run_id"]
        name, day, tag = run_id.rsplit("-", 2)
        assert (name, len(day), len(tag)) == ("ok.a_b-c", 8, 6)
        assert (day + tag).isalnum()


async def test_the_content_type_must_say_what_it_is(make_rig: Any) -> None:
    async with make_rig() as rig:
        for headers in ({"Content-Type": "application/x-www-form-urlencoded"}, {}):
            response = await rig.http.post("/train", content=b"a: 1", headers=headers)
            assert problem(response).startswith("415 unsupported_media_type")
            assert "--data-binary" in problem(response)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"model: [", "does not parse at line 1"),
        (b"- 1", "must be a mapping"),
        (b"", "must be a mapping"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a: &x [1]\nb: *x", "aliases"),
        (b"[" * 200_000, "nested too deeply"),
        (b"a:\n" + b"- " * 80, "nested too deeply"),
    ],
)
async def test_yaml_that_is_no_config_is_told_why(make_rig: Any, body: bytes, words: str) -> None:
    async with make_rig() as rig:
        response = await rig.http.post("/train", content=body, headers=YAML)
        assert problem(response).startswith("422 invalid_config")
        assert words in problem(response)


async def test_json_that_is_no_config_is_told_why(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        headers = {"Content-Type": "application/json"}
        response = await rig.http.post("/train", content=b'{"a": }', headers=headers)
        assert "line 1, column 7" in problem(response)
        infinite = json.dumps(config(optimizer={"lr": float("inf")}))
        response = await rig.http.post("/train", content=infinite, headers=headers)
        assert "infinite" in problem(response)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lerning_rate": 1}, "lerning_rate: unknown field"),
        ({"steps": 0}, "steps:"),
        ({"algorithm": {"name": "grpo", "group_size": 1}}, "group_size is 1"),
        ({"task": {"name": "aritmetic"}}, "unknown task 'aritmetic'"),
        ({"task": {"name": "arithmetic", "args": {"operatoin": "add"}}}, "operatoin"),
        ({"rewards": [{"verifier": "maths"}]}, "no verifier 'maths'; it has math"),
        ({"rewards": [{"verifier": "math", "kwargs": {"x": 1}}]}, "no argument 'x'"),
        ({"model": {"path": "/no/such/model"}}, "model path /no/such/model does not exist"),
        ({"model": {"path": "bundled:gpt-7"}}, "no bundled model gpt-7"),
        ({"learner": {"world_size": 1000}}, "this machine has"),
        ({"name": "../../etc"}, "name:"),
    ],
)
async def test_mistakes_in_a_config_are_named(
    make_rig: Any, config: Any, changes: dict[str, Any], words: str
) -> None:
    async with make_rig() as rig:
        response = await start(rig, config() | changes)
        assert problem(response).startswith("422 invalid_config")
        assert words in problem(response)
        assert words in " ".join(response.json()["error"]["details"]["problems"])
        assert rig.worker.registry.records() == []


async def test_all_mistakes_are_told_at_once(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        body = config(model={"path": "/none"}, rewards=[{"verifier": "x"}], task={"name": "y"})
        assert len((await start(rig, body)).json()["error"]["details"]["problems"]) == 3


async def test_a_reward_service_that_is_away_refuses_nothing(make_rig: Any, config: Any) -> None:
    def nobody(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    async with make_rig(nobody) as rig:
        body = config(rewards=[{"verifier": "anything"}])
        assert (await start(rig, body)).status_code == 202


async def test_a_config_that_is_too_large(make_rig: Any) -> None:
    async with make_rig() as rig:
        response = await rig.http.post("/train", content=b"#" * (2**18 + 1), headers=YAML)
        assert problem(response).startswith("413 body_too_large")


async def test_the_same_idempotency_key_is_the_same_run(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        key = {"Idempotency-Key": "k1"}
        first = await start(rig, config(), **key)
        again = await start(rig, config(), **key)
        assert first.status_code == again.status_code == 202
        assert first.json()["run_id"] == again.json()["run_id"]
        other = await start(rig, config(seed=1), **key)
        assert problem(other).startswith("409 idempotency_conflict")
        assert first.json()["run_id"] in problem(other)
    async with make_rig() as rig:  # the key outlives the process
        later = await start(rig, config(), **key)
        assert later.json()["run_id"] == first.json()["run_id"]
        assert len(rig.worker.registry.records()) == 1


async def test_a_full_disk_is_said(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        rig.settings.runs_dir.rmdir()
        rig.settings.runs_dir.write_text("in the way")
        assert problem(await start(rig, config())).startswith("507 disk")


async def test_dry_run_starts_nothing(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        response = await rig.http.post("/train?dry_run=true", json=config())
        assert response.status_code == 200
        report = response.json()
        assert report["config"]["optimizer"]["lr"] == 1e-6  # defaults written out
        assert {"config", "redis", "generator", "reward", "model"} <= {
            check["name"] for check in report["checks"]
        }
        assert rig.worker.registry.records() == []


async def test_runs_are_listed_newest_first(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        assert (await rig.http.get("/runs")).json() == {"runs": []}
        ids = [(await start(rig, config())).json()["run_id"] for _ in range(3)]
        listed = [run["run_id"] for run in (await rig.http.get("/runs")).json()["runs"]]
        assert listed == ids[::-1]
        one = (await rig.http.get(f"/runs/{ids[0]}")).json()
        assert (one["name"], one["algorithm"], one["steps"]) == ("ok", "grpo", 3)


async def test_unknown_runs_are_404(make_rig: Any) -> None:
    async with make_rig() as rig:
        for rest in ("", "/metrics", "/completions", "/config", "/events"):
            response = await rig.http.get(f"/runs/nobody{rest}")
            assert problem(response).startswith("404 unknown_run: There is no run nobody")
        for verb in ("cancel", "pause", "resume"):
            response = await rig.http.post(f"/runs/nobody/{verb}")
            assert problem(response).startswith("404 unknown_run")
        (rig.settings.runs_dir / ".hidden").mkdir()
        for run_id in (".hidden", "%2e%2e", "a%2fb", "%00"):
            assert (await rig.http.get(f"/runs/{run_id}/config")).status_code == 404


async def test_what_a_run_wrote_can_be_read(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        run_id = (await start(rig, config())).json()["run_id"]
        await rig.until(run_id, "succeeded")

        async def rows(path: str) -> list[dict[str, Any]]:
            response = await rig.http.get(f"/runs/{run_id}/{path}")
            assert response.status_code == 200
            return list(response.json()["rows"])

        assert [row["step"] for row in await rows("metrics")] == [1, 2, 3]
        assert [row["step"] for row in await rows("metrics?since=1")] == [2, 3]
        assert [row["step"] for row in await rows("metrics?since=1&limit=1")] == [2]
        assert (await rows("metrics"))[0]["loss"] is None
        assert [row["completion"] for row in await rows("completions?step=2")] == ["4"]
        assert len(await rows("completions")) == 2  # the newest step, both purposes
        assert [row["prompt"] for row in await rows("completions?purpose=eval")] == ["1 + 1"]
        assert await rows("completions?step=9") == []
        for bad in ("completions?step=x", "completions?purpose=test", "metrics?limit=0"):
            assert (await rig.http.get(f"/runs/{run_id}/{bad}")).status_code == 422


async def test_the_config_comes_back_in_either_form(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        run_id = (await start(rig, config(seed=7))).json()["run_id"]
        as_yaml = await rig.http.get(f"/runs/{run_id}/config")
        assert as_yaml.headers["content-type"].startswith("application/yaml")
        as_json = await rig.http.get(
            f"/runs/{run_id}/config", headers={"Accept": "application/json"}
        )
        assert yaml.safe_load(as_yaml.text) == as_json.json()
        assert as_json.json()["seed"] == 7
        assert (await start(rig, as_json.json())).status_code == 202
        await rig.until(run_id, "succeeded")
        (rig.settings.runs_dir / run_id / "config.yaml").unlink()
        gone = await rig.http.get(f"/runs/{run_id}/config")
        assert problem(gone).startswith("404 files_gone")


async def test_steering_answers_202_or_409(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        run_id = (await start(rig, config("obey"))).json()["run_id"]
        await rig.until(run_id, "running")
        response = await rig.http.post(f"/runs/{run_id}/resume")
        assert problem(response).startswith("409 wrong_state")
        response = await rig.http.post(f"/runs/{run_id}/pause")
        assert (response.status_code, response.json()["run_id"]) == (202, run_id)
        await rig.until(run_id, "paused")
        response = await rig.http.post(f"/runs/{run_id}/pause")
        assert problem(response).startswith("409 wrong_state")
        response = await rig.http.post(f"/runs/{run_id}/cancel")
        assert response.json()["state"] == "cancelled"
        assert (await rig.http.post(f"/runs/{run_id}/destroy")).status_code == 422


async def test_pages_of_other_sites_may_not_steer(make_rig: Any, config: Any) -> None:
    async with make_rig() as rig:
        run_id = (await start(rig, config("obey"))).json()["run_id"]
        for path in ("/train", f"/runs/{run_id}/cancel"):
            response = await rig.http.post(path, headers={"Origin": "http://evil.example"})
            assert problem(response).startswith("403 cross_origin")
        own = await rig.http.post(f"/runs/{run_id}/cancel", headers={"Origin": "http://trainer"})
        assert own.status_code == 202
        await rig.until(run_id, "cancelled")


async def test_ready_says_that_redis_is_away(make_rig: Any) -> None:
    async with make_rig() as rig:
        assert (await rig.http.get("/ready")).json()["status"] == "ready"
        assert (await rig.http.get("/health")).status_code == 200
    async with make_rig(redis_url="redis://127.0.0.1:1/0") as rig:
        response = await rig.http.get("/ready")
        assert response.status_code == 503
        assert "Redis at 127.0.0.1:1" in response.json()["missing"][0]
        assert (await rig.http.get("/health")).status_code == 200


async def test_metrics_count_runs_by_state(make_rig: Any) -> None:
    async with make_rig() as rig:
        await rig.until(await rig.submit("ok"), "succeeded")
        text = (await rig.http.get("/metrics")).text
        assert 'cohort_trainer_runs{state="succeeded"} 1.0' in text
        assert 'cohort_trainer_runs{state="failed"} 0.0' in text


async def test_a_key_is_asked_for(make_rig: Any, config: Any) -> None:
    async with make_rig(api_key="s3cret") as rig:
        assert problem(await rig.http.get("/runs")).startswith("401 unauthorized")
        assert (await start(rig, config())).status_code == 401
        bearer = {"Authorization": "Bearer s3cret"}
        assert (await rig.http.get("/runs", headers=bearer)).status_code == 200
