"""The same config and seed give the same run, on a real stack, in float32."""

from pathlib import Path

import yaml

from cohort.clients import TrainerClient
from cohort.launcher import Stack, StackPlan
from cohort.run_folder import Row, RunFolder, read_rows

CONFIG = {
    "name": "repeat",
    "model": {"path": "bundled:tiny-random"},
    "task": {
        "name": "arithmetic",
        "args": {"operation": "add", "low": 0, "high": 6, "num_eval": 8},
    },
    "algorithm": {"name": "grpo", "group_size": 16, "kl": {"beta": 0.0}},
    "rewards": [{"verifier": "math"}],
    "rollout": {"prompts_per_step": 4, "max_new_tokens": 8, "max_lag": 0},
    "learner": {"compute_dtype": "float32"},
    "optimizer": {"lr": 1.0e-3},
    "steps": 6,
    "eval": {"every": 3, "size": 4, "final_size": 8},
    "checkpoint": {"every": 3},
}


def train(client: TrainerClient, runs_dir: Path, seed: int) -> tuple[list[Row], list[Row]]:
    """The metrics and completions of a whole run."""
    run_id = client.start(yaml.safe_dump({**CONFIG, "seed": seed})).run_id
    assert list(client.events(run_id))[-1].type == "state"
    assert client.run(run_id).state == "succeeded"
    folder = RunFolder(runs_dir, run_id)
    return list(read_rows(folder.metrics)), list(read_rows(folder.completions))


def test_the_same_seed_repeats_the_run_and_another_does_not(tmp_path: Path) -> None:
    plan = StackPlan(
        runs_dir=tmp_path / "runs",
        state_dir=tmp_path / "state",
        port_base=None,
        workers=2,
        env={"OMP_NUM_THREADS": "1", "COHORT_COMPUTE_DTYPE": "float32"},
    )
    with (
        Stack(plan, say=lambda _: None) as stack,
        TrainerClient(stack.urls["trainer"]) as client,
    ):
        runs = [train(client, plan.runs_dir, seed) for seed in (0, 0, 1)]
    rewards = [[row["reward"] for row in metrics] for metrics, _ in runs]
    assert sum(rewards[0]) > 0, "the tiny model was never right: the test shows nothing"
    assert rewards[0] == rewards[1]
    assert rewards[0] != rewards[2]
    texts = [[(row["prompt"], row["completion"]) for row in rows] for _, rows in runs]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]
