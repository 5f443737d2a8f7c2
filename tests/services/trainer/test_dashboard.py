"""The dashboard: the login, what the page may load, and the page itself in a real browser."""

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from cohort.config import RunConfig
from cohort.run_folder import append_rows
from services.trainer import dashboard
from services.trainer.app import create_app
from services.trainer.config import Settings
from services.trainer.worker import Trainer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FOLDER = Path(dashboard.__file__).parent
EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.mark.anyio
async def test_the_page_may_load_nothing_from_elsewhere(make_rig: Any) -> None:
    async with make_rig() as rig:
        page = await rig.http.get("/")
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        for name in re.findall(r'(?:src|href)="(/[^"]+)"', page.text):
            asset = await rig.http.get(name)
            assert asset.status_code == 200
            assert asset.headers["x-content-type-options"] == "nosniff"
        assert (await rig.http.get("/dashboard/__init__.py")).status_code == 404
        assert (await rig.http.get("/dashboard/%2e%2e%2fapp.py")).status_code == 404


def test_no_file_names_another_host_or_runs_inline_code() -> None:
    for path in FOLDER.iterdir():
        if path.suffix not in {".html", ".js", ".css", ".svg"}:
            continue
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not re.search(r"\son\w+=|<style|style=|<script(?![^>]*src=)", text), path.name
        assert path.name in {*dashboard._FILES, "index.html", "login.html"}


@pytest.mark.anyio
async def test_the_key_becomes_a_cookie_that_scripts_cannot_read(make_rig: Any) -> None:
    async with make_rig(api_key='k"ey; 1') as rig:
        assert 'name="key"' in (await rig.http.get("/")).text
        wrong = await rig.http.post("/login", data={"key": "nope"})
        assert wrong.status_code == 401
        assert '<p class="notice bad">That is not the key' in wrong.text
        assert "set-cookie" not in wrong.headers
        right = await rig.http.post("/login", data={"key": 'k"ey; 1'})
        assert (right.status_code, right.headers["location"]) == (303, "/")
        cookie = right.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert 'id="runs"' in (await rig.http.get("/")).text
        assert (await rig.http.get("/runs")).status_code == 200
        await rig.http.post("/logout")
        assert (await rig.http.get("/runs")).status_code == 401


@pytest.fixture
def page(tmp_path: Path, valkey: str, unused_port: int) -> Iterator[tuple[Trainer, str]]:
    """A served trainer without learners, and its address."""
    settings = Settings(
        redis_url=valkey, runs_dir=tmp_path / "runs", state_dir=tmp_path / "state", port=unused_port
    )
    worker = Trainer.build(settings)
    options = uvicorn.Config(create_app(worker, settings), port=unused_port, log_config=None)
    server = uvicorn.Server(options)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield worker, f"http://127.0.0.1:{unused_port}/"
    server.should_exit = True
    thread.join()


def browse(url: str, profile: Path) -> str:
    """The page as the browser has it after a moment."""
    assert CHROMIUM
    switches = ["headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"]
    switches += ["disable-background-networking", "disable-component-update", "disable-sync"]
    switches += [f"user-data-dir={profile}", "virtual-time-budget=3000", "dump-dom"]
    command = [CHROMIUM, *(f"--{switch}" for switch in switches), url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (apt-get install chromium)")
def test_a_browser_shows_curves_and_completions_as_text(
    page: tuple[Trainer, str], config: Any, tmp_path: Path
) -> None:
    worker, url = page
    registry = worker.registry
    run_id = registry.create(RunConfig.from_dict(config("shown"))).run_id
    registry.update(run_id, state="failed", reason=EVIL, off_queue=True)
    folder = registry.folder(run_id)
    for step in (1, 2, 3):
        append_rows(folder.metrics, {"step": step, "reward": 0.1 * step, "loss": float("nan")})
    row = {"step": 3, "purpose": "train", "group_id": "g", "prompt": EVIL, "completion": EVIL}
    append_rows(folder.completions, row | {"score": None, "verdict": EVIL, "ground_truth": EVIL})
    folder.event("eval", version=0, accuracy=0.25)

    listed = browse(url, tmp_path / "profile-1")
    assert run_id in listed
    assert "held out 25.0 %" in listed

    shown = browse(f"{url}#{run_id}", tmp_path / "profile-2")
    assert "<title>failed 3/3" in shown
    assert shown.count("<polyline") >= 2
    assert shown.count("&lt;img src=x") >= 5  # reason, prompt, truth, verdict, completion
    assert '<img src="x"' not in shown
    assert "<title>owned" not in shown
