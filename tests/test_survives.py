"""Nothing is lost when anything dies: a real stack, a real Valkey, kill -9 of each process in turn.

The model is tiny and random, and now and then right by chance; what counts is the ledger. Every
slot of every step must have been trained on exactly once, whoever was killed in the middle.
"""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
import yaml

from cohort.clients import ServiceError, TrainerClient
from cohort.contracts.trainer import ENDED, RunView
from cohort.launcher import Stack, StackPlan, running_stack
from cohort.run_folder import RunFolder, read_rows

STEPS, PROMPTS = 16, 4
CONFIG = {
    "name": "survivor",
    "model": {"path": "bundled:tiny-random"},
    "task": {
        "name": "arithmetic",
        "args": {"operation": "add", "low": 0, "high": 6, "num_eval": 8},
    },
    "algorithm": {"name": "grpo", "group_size": 16, "kl": {"beta": 0.0}},
    "rewards": [{"verifier": "math"}],
    "rollout": {"prompts_per_step": PROMPTS, "max_new_tokens": 8},
    "learner": {"compute_dtype": "float32"},
    "optimizer": {"lr": 1.0e-3},
    "steps": STEPS,
    "eval": {"every": 4, "size": 4, "final_size": 8},
    "checkpoint": {"every": 2, "keep": 2},
}


class Killer:
    """A run under way, and the means to kill what serves it."""

    def __init__(self, stack: Stack, client: TrainerClient, run_id: str) -> None:
        self.stack, self.client, self.run_id = stack, client, run_id

    def view(self) -> RunView | None:
        """None while the trainer itself is away."""
        try:
            return self.client.run(self.run_id)
        except ServiceError:
            return None

    def wait_for_step(self, step: int, within_s: float = 120.0) -> None:
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            self.stack.check()
            view = self.view()
            if view is not None and view.step >= step:
                return
            if view is not None and view.state in ENDED:
                pytest.fail(f"the run ended before step {step}: {view.state}, {view.reason}")
            time.sleep(0.1)
        pytest.fail(f"step {step} was not reached within {within_s} s: {self.view()}")

    def wait_for_end(self, within_s: float = 120.0) -> RunView:
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            self.stack.check()
            view = self.view()
            if view is not None and view.state in ENDED:
                return view
            time.sleep(0.2)
        pytest.fail(f"the run did not end within {within_s} s: {self.view()}")

    def kill(self, who: str) -> None:
        """SIGKILL, at once, whatever it is doing."""
        for pid in self.pids(who):
            os.kill(pid, signal.SIGKILL)

    def pids(self, who: str) -> list[int]:
        if who == "learner":
            return [
                process.pid
                for process in psutil.Process(os.getpid()).children(recursive=True)
                if "services.trainer.learner" in process.cmdline()
            ]
        view = running_stack(self.stack.folder)
        assert view is not None
        return [view.pids[who]]


def check_ledger(folder: RunFolder) -> None:
    """Each slot of each step trained exactly once; nothing that was not trained lacks a reason."""
    rows = list(read_rows(folder.ledger))
    trained = Counter(row["group_id"].rsplit("-", 1)[0] for row in rows if row["fate"] == "trained")
    expected = {
        f"{step:06d}-00-{index:04d}" for step in range(1, STEPS + 1) for index in range(PROMPTS)
    }
    assert set(trained) == expected
    assert set(trained.values()) == {1}
    assert len({row["group_id"] for row in rows}) == len(rows)
    assert all(row["reason"] for row in rows if row["fate"] in ("failed", "dropped"))
    assert [row["step"] for row in read_rows(folder.metrics)] == list(range(1, STEPS + 1))


def test_killing_any_process_loses_no_group_and_trains_on_none_twice(tmp_path: Path) -> None:
    plan = StackPlan(
        runs_dir=tmp_path / "runs",
        state_dir=tmp_path / "state",
        port_base=None,
        workers=2,
        env={"COHORT_LEASE_S": "3", "OMP_NUM_THREADS": "1", "COHORT_COMPUTE_DTYPE": "float32"},
    )
    with (
        Stack(plan, say=lambda _: None) as stack,
        TrainerClient(stack.urls["trainer"], retry_for_s=0.0) as client,
    ):
        run_id = client.start(yaml.safe_dump(CONFIG)).run_id
        run = Killer(stack, client, run_id)
        for step, who in enumerate(
            ["rollout-1", "generator", "reward", "valkey", "learner", "trainer"], start=1
        ):
            run.wait_for_step(2 * step)
            run.kill(who)
        view = run.wait_for_end()
        assert view.state == "succeeded", view.reason
        check_ledger(RunFolder(plan.runs_dir, run_id))
        assert set(view.eval) == {"0", "4", "8", "12", "16"}
