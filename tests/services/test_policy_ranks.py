"""Two ranks that share the model (FSDP2 over gloo) make the same updates as one."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

from cohort.config import RunConfig
from cohort.contracts.queue import GroupCompletion, GroupMessage
from cohort.contracts.reward import ScoreResult
from services.trainer.policy import Policy

SCRIPT = Path(__file__).with_name("policy_on_ranks.py")


def group(number: int, rewards: list[float]) -> GroupMessage:
    draw = random.Random(number)
    prompt = tuple(draw.randrange(40) for _ in range(draw.randint(1, 6)))
    completions = []
    for reward in rewards:
        ids = tuple(draw.randrange(40) for _ in range(draw.randint(1, 5)))
        completions.append(
            GroupCompletion(
                prompt_ids=prompt, ids=ids, logprobs=(-3.0,) * len(ids),
                loss_mask=(1,) * len(ids), offsets=(0,) * len(ids), version_spans=(),
                finish_reason="stop", text="", result=ScoreResult(score=reward, status="scored"),
            )
        )  # fmt: skip
    return GroupMessage(
        run_id="r", group_id=str(number), step=1, purpose="train", status="ok",
        completions=tuple(completions),
    )  # fmt: skip


# Balanced, one rank without work, no signal at all, one rank with more micro-batches.
STEPS = [
    [group(1, [0, 1, 1]), group(2, [1, 1]), group(3, [0.5, 0, 1]), group(4, [1, 0])],
    [group(5, [0, 1])],
    [group(6, [1, 1])],
    [group(7, [0, 1, 0, 1, 0, 1]), group(8, [0, 1])],
]
CASES: dict[str, dict[str, object]] = {
    "on_policy": {"group_size": 2, "kl": {"beta": 0.0}},
    "epochs_and_kl": {"group_size": 2, "kl": {"beta": 0.1}, "epochs": 2, "mini_batches": 2},
    "bfloat16": {"group_size": 2, "kl": {"beta": 0.0}},
}


def prepare(folder: Path, case: str) -> None:
    dtype = "bfloat16" if case == "bfloat16" else "float32"
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
            initializer_range=0.3,
        )
    )  # fmt: skip
    model.save_pretrained(folder / "model")
    config = {
        "model": {"path": "tiny"},
        "task": {"name": "arithmetic"},
        "rewards": [{"verifier": "math"}],
        "steps": 4,
        "algorithm": CASES[case],
        "learner": {"compute_dtype": dtype, "tokens_per_micro_batch": 24},
        "optimizer": {"lr": 1e-3, "max_grad_norm": 0.5},
    }
    (folder / "config.json").write_text(json.dumps(config))
    steps = [[item.model_dump(mode="json") for item in step] for step in STEPS]
    (folder / "steps.json").write_text(json.dumps(steps))


def on_two_ranks(folders: list[Path]) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", str(SCRIPT), *map(str, folders)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders by case; one launch for all, since starting two ranks takes most of the time."""
    folders = {case: tmp_path_factory.mktemp(case) for case in CASES}
    for case, folder in folders.items():
        prepare(folder, case)
    on_two_ranks(list(folders.values()))
    return folders


@pytest.mark.parametrize("case", CASES)
def test_two_ranks_train_as_one(results: dict[str, Path], case: str) -> None:
    folder = results[case]
    config = RunConfig.from_dict(json.loads((folder / "config.json").read_text()))

    def alone() -> Policy:
        return Policy(config, folder / "model", rank=0, world_size=1, total_steps=len(STEPS))

    result = json.loads((folder / "result.json").read_text())
    # FSDP rounds the norms' weights as well, and reduces gradients that it never rounds again.
    near = {"rel": 0.1, "abs": 0.05} if case == "bfloat16" else {"rel": 2e-4, "abs": 1e-5}
    single = alone()
    for step, found in zip(STEPS, result["metrics"], strict=True):
        assert found == pytest.approx(single.update(step), **near)

    # A commit of two ranks continues bit for bit at two ranks, and closely at one.
    assert result["same"]
    assert result["again"][0] == result["again"][1]
    resumed = alone()
    resumed.load(folder / "commit")
    assert resumed.update(STEPS[0]) == pytest.approx(result["again"][0], **near)
    ours, theirs = resumed.full_state(), load_file(folder / "state.safetensors")
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(
            ours[name], tensor, rtol=0.0, atol=1e-2 if case == "bfloat16" else 1e-4
        )
