"""The tensors of a commit: every rank writes and reads its own shards (safetensors, no pickle).

Torch's distributed checkpoint plans who writes what; the files say in their headers which part of
which tensor they hold, so a checkpoint of N ranks loads at M ranks. Writing aside, renaming and
marking a commit as complete is the learner's part.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import (
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
)
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

State = dict[str, Tensor]
_RNG = "rng."


class CheckpointError(Exception):
    """A checkpoint that cannot be used; the message is one sentence that says why."""


def save_tensors(folder: Path, state: State) -> None:
    """Write tensors (sharded ones too) into `folder`; collective.

    Raises OSError on every rank when the disk refuses on one.
    """
    with _quiet():
        try:
            writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
            save(state, storage_writer=writer)
        except CheckpointException as error:
            raise _first_cause(error) from None


def load_tensors(folder: Path, state: State) -> None:
    """Fill the tensors of `state` in place; collective. Raises `CheckpointError`.

    Random generator states of ranks that the checkpoint does not know keep their values.
    """
    reader = HuggingFaceStorageReader(str(folder))
    try:
        saved = reader.read_metadata().state_dict_metadata
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"checkpoint {folder} cannot be read: {error}") from None
    wanted = {k: v for k, v in state.items() if k in saved or not k.startswith(_RNG)}
    for name, tensor in wanted.items():
        size = getattr(saved.get(name), "size", None)
        if size != tensor.shape:
            found = "lacks it" if size is None else f"has shape {tuple(size)}"
            raise CheckpointError(
                f"checkpoint {folder} is of another model: {name} has shape"
                f" {tuple(tensor.shape)} here, and the checkpoint {found}"
            )
    with _quiet():
        try:
            load(wanted, storage_reader=reader)
        except CheckpointException as error:
            cause = _first_cause(error)
            raise CheckpointError(f"checkpoint {folder} cannot be read: {cause}") from None


def model_state(model: nn.Module) -> State:
    """Parameters and persistent buffers by name, tied ones once, under the first name."""
    seen: set[int] = set()
    state = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            state[name] = tensor.detach()
        seen.add(id(tensor))
    return state


def optimizer_state(model: nn.Module, optimizer: torch.optim.Optimizer) -> State:
    """AdamW's state by parameter name, created (as zeros) where no step was made yet."""
    state: State = {}
    for name, parameter in model.named_parameters():
        entry = optimizer.state[parameter]
        if not entry:
            entry["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            entry["exp_avg"] = torch.zeros_like(parameter.detach())
            entry["exp_avg_sq"] = torch.zeros_like(parameter.detach())
        state |= {f"optimizer.{kind}.{name}": value for kind, value in entry.items()}
    return state


def rng_state(rank: int) -> State:
    """States of this rank's random generators."""
    state = {f"{_RNG}cpu.{rank}": torch.get_rng_state()}
    if torch.cuda.is_available():
        state[f"{_RNG}cuda.{rank}"] = torch.cuda.get_rng_state()
    return state


def set_rng_state(state: State, rank: int) -> None:
    """Undo of `rng_state`."""
    torch.set_rng_state(state[f"{_RNG}cpu.{rank}"])
    if torch.cuda.is_available():
        torch.cuda.set_rng_state(state[f"{_RNG}cuda.{rank}"])


def _first_cause(error: CheckpointException) -> Exception:
    """Torch's exception is not an `Exception`; it carries what happened, by rank."""
    causes = [cause for cause, _ in error.failures.values()]
    for cause in causes:
        if isinstance(cause, OSError):
            return OSError(cause.errno, cause.strerror)
    return CheckpointError(str(causes[0]))


@contextmanager
def _quiet() -> Iterator[None]:
    """Torch warns that it is not distributed; at one rank that is meant."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.distributed is.*")
        yield
