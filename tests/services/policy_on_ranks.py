"""Run by test_policy_ranks under torch.distributed.run: train, commit, resume, write what came out.

usage: policy_on_ranks.py FOLDER...   each with config.json, steps.json (lists of groups) and model/
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file

from cohort.config import RunConfig
from cohort.contracts.queue import GroupMessage
from services.trainer.learner.policy import Policy


def train(folder: Path, rank: int, world_size: int) -> None:
    config = RunConfig.from_dict(json.loads((folder / "config.json").read_text()))
    steps = [
        [GroupMessage.model_validate(group) for group in step]
        for step in json.loads((folder / "steps.json").read_text())
    ]

    def new_policy() -> Policy:
        return Policy(config, folder / "model", rank, world_size, len(steps))

    policy = new_policy()
    metrics = [policy.update(step) for step in steps]
    (folder / "commit").mkdir(exist_ok=True)
    policy.save(folder / "commit")
    resumed = new_policy()
    resumed.load(folder / "commit")
    again = [policy.update(steps[0]), resumed.update(steps[0])]
    state, resumed_state = policy.full_state(), resumed.full_state()
    if rank == 0:
        same = all(torch.equal(tensor, resumed_state[name]) for name, tensor in state.items())
        save_file(state, folder / "state.safetensors")
        result = {"metrics": metrics, "again": again, "same": same}
        (folder / "result.json").write_text(json.dumps(result))
    else:
        assert state == {}


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for name in sys.argv[1:]:
        train(Path(name), int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    dist.destroy_process_group()
