"""Rank 0 leads, the other ranks follow: every collective of the policy in one place.

Commands and groups travel as msgpack bytes over the process group; nothing is pickled.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgpack
import torch
from torch import Tensor, distributed

from cohort.contracts.queue import GroupMessage
from cohort.rollouts.wire import decode, encode
from services.trainer.learner.policy import Policy, TrainingDiverged

_PATIENCE = timedelta(days=7)  # followers wait through rollouts; the launcher kills orphans


class Team:
    """The policy on all ranks. Rank 0 calls the verbs, the others `follow` until `stop`."""

    def __init__(self, policy: Policy, rank: int, world_size: int) -> None:
        self.policy, self.rank, self.world_size = policy, rank, world_size

    def update(self, groups: Sequence[GroupMessage]) -> dict[str, float]:
        """One step on these groups; see `Policy.update`."""
        self._tell("update", [encode(group) for group in groups])
        return self.policy.update(list(groups))

    def save(self, folder: Path) -> None:
        """Write the policy's part of a commit."""
        self._tell("save", str(folder))
        self.policy.save(folder)

    def load(self, folder: Path) -> None:
        """Restore the policy's part of a commit."""
        self._tell("load", str(folder))
        self.policy.load(folder)

    def full_state(self) -> dict[str, Tensor]:
        """The whole model's tensors, on rank 0."""
        self._tell("full_state", None)
        return self.policy.full_state()

    def stop(self) -> None:
        """Let the followers go."""
        self._tell("stop", None)

    def follow(self) -> None:
        """Do what rank 0 does, until it stops."""
        while True:
            verb, argument = self._hear()
            if verb == "stop":
                return
            if verb == "update":
                with suppress(TrainingDiverged):  # rank 0 raises the same and says so
                    self.policy.update([decode(GroupMessage, data) for data in argument])
            elif verb == "save":
                with suppress(OSError):  # likewise: a full disk is not the end
                    self.policy.save(Path(argument))
            elif verb == "load":
                self.policy.load(Path(argument))
            else:
                self.policy.full_state()

    def _tell(self, verb: str, argument: Any) -> None:
        if self.world_size > 1:
            _broadcast(msgpack.packb([verb, argument]))

    def _hear(self) -> tuple[str, Any]:
        verb, argument = msgpack.unpackb(_broadcast(None))
        return verb, argument


def _broadcast(data: bytes | None) -> bytes:
    size = torch.tensor([len(data) if data is not None else 0])
    distributed.broadcast(size, src=0)
    if data is None:
        body = torch.empty(int(size), dtype=torch.uint8)
    else:
        body = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    distributed.broadcast(body, src=0)
    return bytes(body.numpy())


def join() -> tuple[int, int]:
    """(rank, world size), after joining the process group if torchrun started us."""
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if world_size > 1:
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        distributed.init_process_group(backend, timeout=_PATIENCE)
    return int(os.environ.get("RANK", "0")), world_size
