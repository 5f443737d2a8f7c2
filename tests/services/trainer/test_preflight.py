"""The dry run: each check with neighbours that are there, away or busy. Models stay unloaded."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from cohort.bundled import MAKERS
from cohort.contracts.queue import WorkerRecord
from cohort.rollouts.queue import RolloutQueue
from services.trainer.config import Settings
from services.trainer.models import PUBLISHED_PARAMETERS, ModelProblem, look_up

pytestmark = pytest.mark.anyio
MODEL = "bundled:tiny-random"
Handler = Callable[[httpx.Request], httpx.Response]


def stack(
    verifiers: Handler, policy: dict[str, Any] | None = None, scores: tuple[float | None, ...] = ()
) -> Handler:
    """A generator and a reward service; the scores are handed out in turn."""
    loaded = {"run_id": None, "model": MODEL, "version": 0, "engine": "local", "fingerprint": "f"}
    left = list(scores)

    def completion(number: int) -> dict[str, Any]:
        parts: dict[str, Any] = {"ids": [1], "logprobs": [-0.1], "offsets": [1]}
        return parts | {"version_spans": [], "text": str(number), "finish_reason": "stop"}

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        body = json.loads(request.content) if request.content else {}
        if path == "/ready":
            return httpx.Response(200, json={"status": "ready", "missing": []})
        if path == "/v1/policy":
            return httpx.Response(200, json=loaded | (policy or {}))
        if path == "/v1/generate":
            usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
            some = [completion(n) for n in range(body["num_completions"])]
            reply = {"run_id": None, "policy_version": 0, "fingerprint": "f", "prompt_ids": [1]}
            return httpx.Response(200, json=reply | {"completions": some, "usage": usage})
        if path == "/v1/score":
            results = []
            for item in body["items"]:
                score = left.pop(0)
                status = "infra_error" if score is None else "scored"
                results.append({"id": item["id"], "score": score, "status": status})
            return httpx.Response(200, json={"results": results})
        return verifiers(request)

    return answer


async def report(rig: Any, config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    response = await rig.http.post("/train?dry_run=true", json=config)
    assert response.status_code == 200
    body = response.json()
    assert body["ok"] == all(check["ok"] is not False for check in body["checks"])
    return {check["name"]: check for check in body["checks"]}


async def test_all_is_well(
    make_rig: Any, config: Any, fake_neighbours: Handler, valkey: str
) -> None:
    queue = RolloutQueue.from_url(valkey)
    queue.heartbeat_worker(WorkerRecord(worker_id="w", busy=0), 30.0)
    queue.close()
    transport = stack(fake_neighbours, scores=(0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0))
    async with make_rig(transport) as rig:
        write_model(rig.settings.state_dir / "models" / "tiny-random", a=[1000])
        checks = await report(rig, config())
        assert (
            "(0 M parameters (counted in the safetensors headers) x 16 bytes"
            in (checks["memory"]["message"])
        )
        assert {check["ok"] for check in checks.values()} == {True}
        assert "training and" in checks["config"]["message"]
        assert checks["redis"]["message"] == "Reachable; rollout workers: 1."
        assert "sandbox" not in checks
        variance = checks["reward variance"]["message"]
        assert variance.startswith("2 of 4 sampled groups")
        assert "mean reward 0.50" in variance


@pytest.mark.parametrize(
    ("policy", "scores", "ok", "words"),
    [
        ({"run_id": "r"}, (), None, "the generator serves run r"),
        ({"version": -1}, (), None, "no model loaded"),
        ({"model": "other"}, (), None, "another model loaded (other)"),
        ({}, (1.0,) * 8, False, "0 of 4 sampled groups"),
        ({}, (None,) * 8, None, "could not score a single completion"),
    ],
)
async def test_the_look_at_the_reward_says_what_it_saw(
    make_rig: Any,
    config: Any,
    fake_neighbours: Handler,
    policy: dict[str, Any],
    scores: tuple[float | None, ...],
    ok: bool | None,
    words: str,
) -> None:
    async with make_rig(stack(fake_neighbours, policy, scores)) as rig:
        check = (await report(rig, config()))["reward variance"]
        assert check["ok"] is ok
        assert words in check["message"]


async def test_a_generator_that_a_run_needs_is_left_alone(
    make_rig: Any, config: Any, fake_neighbours: Handler
) -> None:
    async with make_rig(stack(fake_neighbours)) as rig:
        run_id = await rig.submit("deaf")
        await rig.until(run_id, "running")
        check = (await report(rig, config()))["reward variance"]
        assert check["ok"] is None
        assert "a run is training" in check["message"]


async def test_who_is_away_is_named(make_rig: Any, config: Any) -> None:
    async with make_rig(redis_url="redis://127.0.0.1:1/0") as rig:
        code = [{"verifier": "code"}]
        checks = await report(rig, config(rewards=code, model={"path": "/none"}))
        for name in ("redis", "generator", "sandbox"):
            assert checks[name]["ok"] is False
            assert "refused" in checks[name]["message"].lower()
        assert checks["config"]["ok"] is False
        assert "memory" not in checks


def write_model(folder: Path, **shapes: list[int]) -> None:
    folder.mkdir(parents=True)
    sizes = {"num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 100}
    (folder / "config.json").write_text(json.dumps(sizes))
    header = {name: {"dtype": "F32", "shape": shape} for name, shape in shapes.items()}
    text = json.dumps(header | {"__metadata__": {"format": "pt"}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)


def settings_of(tmp_path: Path, **changes: Any) -> Settings:
    return Settings(runs_dir=tmp_path / "runs", state_dir=tmp_path / "state", **changes)


def test_parameters_are_counted_in_the_headers(tmp_path: Path) -> None:
    write_model(tmp_path / "m", a=[3, 4], b=[5], scalar=[])
    facts = look_up(str(tmp_path / "m"), settings_of(tmp_path))
    assert (facts.parameters, facts.layers, facts.hidden) == (18, 2, 8)


def test_a_shared_trainer_reads_models_only_from_its_folders(tmp_path: Path) -> None:
    for place in ("elsewhere/m", "runs/r/model", "models/m"):
        write_model(tmp_path / place, a=[1])
    (tmp_path / "models" / "way-out").symlink_to(tmp_path / "elsewhere" / "m")
    shared = settings_of(tmp_path, host="0.0.0.0", model_roots=(tmp_path / "models",))
    assert look_up(str(tmp_path / "runs/r/model"), shared).parameters == 1
    assert look_up(str(tmp_path / "models/m"), shared).parameters == 1
    for place in ("elsewhere/m", "models/../elsewhere/m", "models/way-out"):
        with pytest.raises(ModelProblem, match="outside the folders"):
            look_up(str(tmp_path / place), shared)
    alone = settings_of(tmp_path)
    assert look_up(str(tmp_path / "elsewhere/m"), alone).parameters == 1


def test_models_that_cannot_be_used_are_told_why(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    (tmp_path / "empty").mkdir()
    write_model(tmp_path / "bare", a=[1])
    (tmp_path / "bare" / "model.safetensors").unlink()
    write_model(tmp_path / "torn", a=[1])
    (tmp_path / "torn" / "model.safetensors").write_bytes(b"\xff" * 64)
    for name, words in {
        "none": "does not exist",
        "empty": "no config.json",
        "bare": "no safetensors",
        "torn": "not a safetensors file",
        "torn/config.json": "is a file, not a model folder",
        "x" * 5000: "cannot be looked at: File name too long",
    }.items():
        with pytest.raises(ModelProblem, match=words):
            look_up(str(tmp_path / name), settings)
    assert look_up("org/some-model", settings).parameters is None


def test_bundled_models_are_known_before_they_are_made(tmp_path: Path) -> None:
    assert set(PUBLISHED_PARAMETERS) <= set(MAKERS)
    for name in MAKERS:
        facts = look_up(f"bundled:{name}", settings_of(tmp_path))
        assert facts.parameters == PUBLISHED_PARAMETERS.get(name)
