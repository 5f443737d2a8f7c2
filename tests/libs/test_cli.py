"""The `cohort` command against a real trainer whose learner is a fake without torch."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cohort.cli import main
from cohort.launcher import Stack, StackPlan

ROOT = Path(__file__).parents[2]
FAKE_LEARNER = Path(__file__).with_name("fake_learner.py")
CONFIG = """
name: {name}
model: {{path: "bundled:tiny-random"}}
task: {{name: arithmetic, args: {{low: 1, high: 9}}}}
rewards: [{{verifier: math}}]
steps: {steps}
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("cli")
    command = json.dumps([sys.executable, str(FAKE_LEARNER)])
    plan = StackPlan(
        runs_dir=folder / "runs",
        state_dir=folder / ".cohort",
        only=frozenset({"trainer"}),
        port_base=None,
        env={"COHORT_LEARNER_COMMAND": command, "COHORT_POLL_S": "0.05"},
    )
    with Stack(plan, lambda _: None) as running:
        yield running


@pytest.fixture
def cohort(stack: Stack, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command on the stack: its exit code, standard output and standard error."""

    def run(command: str, *args: str) -> tuple[int, str, str]:
        code = main([command, "--state", str(stack.folder), *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def config_file(folder: Path, name: str = "quick", steps: int = 3) -> str:
    path = folder / f"{name}.yaml"
    path.write_text(CONFIG.format(name=name, steps=steps))
    return str(path)


def test_train_and_watch_a_run_to_its_end(cohort: Any, tmp_path: Path) -> None:
    code, out, _ = cohort("train", config_file(tmp_path), "--watch")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("run quick-")
    assert lines[0].endswith("is queued")
    assert "held-out accuracy of version 0: 25.0 % of 4 questions" in lines
    step = next(line for line in lines if line.startswith("step 3/3"))
    assert step == (
        "step 3/3  reward 0.500  accuracy 50.0 %  zero-signal 12.5 %  123 tokens/s  1.5 s"
    )
    assert "held-out accuracy 25.0 % -> 75.0 %" in lines


def test_json_output_is_for_scripts(cohort: Any, tmp_path: Path) -> None:
    code, out, _ = cohort("train", config_file(tmp_path), "--json")
    started = json.loads(out)
    assert (code, set(started)) == (0, {"run_id", "state", "url"})
    code, out, _ = cohort("watch", started["run_id"], "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [e["data"]["step"] for e in events if e["type"] == "step"] == [1, 2, 3]
    code, out, _ = cohort("runs", "--json")
    assert json.loads(out)[0]["run_id"] == started["run_id"]
    assert json.loads(out)[0]["state"] == "succeeded"


def test_a_failed_run_says_why_and_fails_the_command(cohort: Any, tmp_path: Path) -> None:
    code, _, err = cohort("train", config_file(tmp_path, "bad"), "--watch")
    assert code == 1
    assert err.startswith("cohort: run bad-")
    assert err.endswith("failed: the loss is not a number at step 3\n")


def test_pause_resume_and_cancel(cohort: Any, stack: Stack, tmp_path: Path) -> None:
    _, out, _ = cohort("train", config_file(tmp_path, "slow", 500), "--json")
    run_id = json.loads(out)["run_id"]
    wait_for(stack, run_id, "running")
    assert cohort("pause", "last")[0] == 0
    assert cohort("watch", run_id)[0] == 0  # ends, since the run is paused
    assert cohort("resume", run_id[:-3])[0] == 0  # the beginning of an id is enough
    wait_for(stack, run_id, "running")
    code, out, _ = cohort("cancel", run_id, "--json")
    assert (code, json.loads(out)["run_id"]) == (0, run_id)
    assert cohort("watch", run_id)[0] == 1
    code, out, _ = cohort("runs")
    assert (code, "cancelled" in out) == (0, True)


def wait_for(stack: Stack, run_id: str, state: str) -> None:
    end = time.monotonic() + 30
    while httpx.get(f"{stack.urls['trainer']}/runs/{run_id}").json()["state"] != state:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_dry_run_starts_nothing(cohort: Any, tmp_path: Path) -> None:
    before = json.loads(cohort("runs", "--json")[1])
    code, out, _ = cohort("train", config_file(tmp_path), "--dry-run", "--json")
    report = json.loads(out)
    assert code == 1  # this stack has no generator
    assert not report["ok"]
    assert {c["name"]: c["ok"] for c in report["checks"]}["generator"] is False
    assert json.loads(cohort("runs", "--json")[1]) == before


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        (["train", "nosuch.yaml"], 2, "cannot read config nosuch.yaml: No such file or directory"),
        (["watch", "nosuch"], 2, "there is no run 'nosuch': `cohort runs` lists them"),
        (["runs", "--url", "http://127.0.0.1:9"], 1, "no trainer answers at http://127.0.0.1:9"),
        (["chat", "--url", "http://127.0.0.1:9"], 1, "cannot reach http://127.0.0.1:9"),
        (["score", "nosuch.jsonl"], 2, "cannot read nosuch.jsonl: No such file or directory"),
        (["eval", "x", "--task", "nosuch"], 2, "unknown task 'nosuch'; known tasks: arithmetic"),
        (["eval", "/x", "--task", "arithmetic"], 2, "model path /x does not exist"),
        (["eval", "x", "--task", "arithmetic", "--args", "{"], 2, "--args is not JSON"),
        (["eval", "x", "--task", "arithmetic", "--args", "[]"], 2, "--args must be a JSON object"),
        (["demo", "--config", "nosuch.yaml"], 2, "cannot read config nosuch.yaml"),
    ],
)
def test_mistakes_are_one_sentence(cohort: Any, args: list[str], code: int, sentence: str) -> None:
    answered, out, err = cohort(*args)
    assert (answered, out) == (code, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_a_key_that_is_missing_wrong_or_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = StackPlan(
        state_dir=tmp_path, only=frozenset({"reward"}), port_base=None, env={"COHORT_API_KEY": "k"}
    )
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"completion": "4", "answer": "4"}')
    command = ["score", str(rows), "--state", str(tmp_path)]
    monkeypatch.setenv("COHORT_API_KEY", "k")  # the launcher asks /ready with it
    with Stack(plan, lambda _: None):
        assert main(command) == 0
        monkeypatch.setenv("COHORT_API_KEY", "wrong")
        assert main(command) == 1
        monkeypatch.setenv("COHORT_API_KEY", "sch\u20acn")
        assert main(command) == 2
    err = capsys.readouterr().err.splitlines()
    assert err == [
        "cohort: the reward wants its API key: set COHORT_API_KEY to it",
        "cohort: COHORT_API_KEY must be plain ASCII: it travels in a header",
    ]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["up", "--port-base", "70000"], "'70000' is not a port between 1 and 65532"),
        (["up", "--only", "reward,learner"], "no service 'learner': choose from valkey, sandbox"),
        (["up", "--redis", "here"], "'here' is not a URL like redis://127.0.0.1:6379/0"),
        (["up", "--workers", "0"], "'0' is not a whole number above 0"),
        (["nosuch"], "invalid choice: 'nosuch'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_bad_usage_is_one_sentence(
    args: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1


def test_a_config_with_mistakes_names_them_all(cohort: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("model: {path: x}\nrewards: [{verifier: math}]\nsteps: 0\nbogus: 1\n")
    code, _, err = cohort("train", str(path))
    assert code == 2
    for words in ("task: required, but missing", "bogus: unknown field", "steps: "):
        assert words in err


def test_every_command_has_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    overview = capsys.readouterr().out
    names = (
        *("up", "down", "demo", "train", "runs", "watch", "pause", "resume"),
        *("cancel", "eval", "score", "chat", "doctor"),
    )
    for name in names:
        assert f"    {name} " in overview
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0
        assert f"  cohort {name}" in capsys.readouterr().out.partition("examples:")[2]


def test_doctor_says_what_each_thing_enables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"cores", "memory", "torch", "vllm", "runsc", "bwrap", "docker"} <= set(found)
    assert found["torch"]["found"]
    assert found["cores"]["detail"] == str(len(os.sched_getaffinity(0)))
    assert all(row["enables"] for row in found.values())


def test_the_command_starts_without_torch() -> None:
    code = (
        "import sys\nfrom cohort.cli import build_parser\nbuild_parser()\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_reader_that_goes_away_is_no_traceback(stack: Stack) -> None:
    code = "import sys; from cohort.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "doctor", "--state", str(stack.folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) in (1, -signal.SIGPIPE)
    assert err == ""
