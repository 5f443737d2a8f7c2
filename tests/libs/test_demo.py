"""`cohort demo` on a tiny random model: every process of the product, once from start to end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
COHORT = (sys.executable, "-c", "import sys; from cohort.cli import main; sys.exit(main())")


def demo(folder: Path, config: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COHORT, "demo", "--config", str(config)],
        cwd=folder,
        env={**os.environ, "COHORT_TEST_STACK": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def left(folder: Path) -> list[list[str]]:
    """Processes of a demo that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("COHORT_TEST_STACK") == str(folder):
                found.append(process.cmdline())
        except (psutil.Error, OSError):
            continue
    return found


def test_the_demo_trains_and_leaves_a_model_and_no_process(tmp_path: Path) -> None:
    process = demo(tmp_path, ROOT / "configs/tiny.yaml")
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, out
    assert left(tmp_path) == []
    (run,) = (tmp_path / "runs").iterdir()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["steps"] == 4
    assert set(summary["eval"]) >= {"before", "after"}
    assert (run / "model" / "model.safetensors").is_file()
    rows = (run / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [1, 2, 3, 4]
    for words in ("step 4/4  reward", "held-out greedy accuracy after", "held-out question"):
        assert words in out


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_demo_cancels_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    config = tmp_path / "long.yaml"
    config.write_text((ROOT / "configs/tiny.yaml").read_text().replace("steps: 4", "steps: 4000"))
    process = demo(tmp_path, config)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step 2/"):
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in out
    assert left(tmp_path) == []
    (record,) = (tmp_path / "runs").glob("*/run.json")
    assert json.loads(record.read_text())["state"] == "cancelled"
