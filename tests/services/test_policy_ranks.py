"""Two ranks that share the model (FSDP2 over gloo) make the same updates as one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from cohort.config import RunConfig
from cohort.contracts.queue import GroupMessage
from services.trainer.learner.policy import Policy

SCRIPT = Path(__file__).with_name("policy_on_ranks.py")
CASES: dict[str, dict[str, Any]] = {
    "on_policy": {},
    "epochs_and_kl": {"algorithm": {"kl": {"beta": 0.1}, "epochs": 2, "mini_batches": 2}},
    "bfloat16": {"learner": {"compute_dtype": "bfloat16"}},
}
# Balanced, one rank without work, no signal at all, one rank with more micro-batches.
REWARDS: list[list[list[float]]] = [
    [[0, 1, 1], [1, 1], [0.5, 0, 1], [1, 0]],
    [[0, 1]],
    [[1, 1]],
    [[0, 1, 0, 1, 0, 1], [0, 1]],
]
Steps = list[list[GroupMessage]]


@pytest.fixture(scope="module")
def steps(make_group: Callable[..., GroupMessage]) -> Steps:
    return [
        [make_group(10 * step + number, rewards) for number, rewards in enumerate(groups)]
        for step, groups in enumerate(REWARDS)
    ]


def config_of(case: str, make_config: Callable[..., RunConfig]) -> RunConfig:
    parts: dict[str, Any] = {"optimizer": {"lr": 1e-3, "max_grad_norm": 0.5}} | CASES[case]
    parts["learner"] = {"tokens_per_micro_batch": 24} | parts.get("learner", {})
    return make_config(**parts)


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory,
    save_model: Callable[..., Path],
    make_config: Callable[..., RunConfig],
    steps: Steps,
) -> dict[str, Path]:
    """By case; one launch for all, since starting two ranks takes most of the time."""
    folders = {case: tmp_path_factory.mktemp(case) for case in CASES}
    for case, folder in folders.items():
        save_model(folder / "model")
        config = config_of(case, make_config).model_dump(mode="json")
        (folder / "config.json").write_text(json.dumps(config))
        rows = [[group.model_dump(mode="json") for group in step] for step in steps]
        (folder / "steps.json").write_text(json.dumps(rows))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", str(SCRIPT), *map(str, folders.values())],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folders


@pytest.mark.parametrize("case", CASES)
def test_two_ranks_train_as_one(
    folders: dict[str, Path], make_config: Callable[..., RunConfig], steps: Steps, case: str
) -> None:
    folder = folders[case]

    def alone() -> Policy:
        return Policy(config_of(case, make_config), folder / "model", 0, 1, len(steps))

    result = json.loads((folder / "result.json").read_text())
    # Autocast leaves the weights of norms in float32, FSDP gathers them in bfloat16.
    near = {"rel": 0.1, "abs": 0.05} if case == "bfloat16" else {"rel": 2e-4, "abs": 1e-5}
    single = alone()
    for step, found in zip(steps, result["metrics"], strict=True):
        assert found == pytest.approx(single.update(step), **near)

    # A commit of two ranks continues bit for bit at two ranks, and closely at one.
    assert result["same"]
    assert result["again"][0] == result["again"][1]
    resumed = alone()
    resumed.load(folder / "commit")
    assert resumed.update(steps[0]) == pytest.approx(result["again"][0], **near)
    ours, theirs = resumed.full_state(), load_file(folder / "state.safetensors")
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(
            ours[name], tensor, rtol=0.0, atol=1e-2 if case == "bfloat16" else 1e-4
        )
