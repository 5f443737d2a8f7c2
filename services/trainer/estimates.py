"""How much memory and disk a run will need, roughly, and how the number came about."""

import os
import shutil
from pathlib import Path

from cohort.config import RunConfig
from cohort.contracts.trainer import PreflightCheck
from services.trainer.models import ModelFacts

_GB = 1e9
_ADAMW_BYTES = 4 + 4 + 8
"""Per parameter: float32 weight, gradient, two moments."""
_COMMIT_BYTES = 4 + 8
"""Per parameter in a checkpoint: weight and moments."""


def memory_check(config: RunConfig, facts: ModelFacts) -> PreflightCheck:
    """The learner's peak against what the machine has now."""
    if facts.parameters is None:
        return PreflightCheck(
            name="memory", ok=None, message="Not estimated: the size of the model is not known yet."
        )
    need = facts.parameters * _ADAMW_BYTES
    how = f"{facts.parameters / 1e6:.0f} M parameters ({facts.source}) x {_ADAMW_BYTES} bytes"
    if config.algorithm.kl.beta > 0:
        need += facts.parameters * 4
        how += " + 4 for the reference model"
    activations = _activation_bytes(config, facts)
    if activations is not None:
        need += activations
        how += f" + {activations / _GB:.1f} GB of activations, a rough guess"
    free = available_memory()
    message = f"The learner needs about {need / _GB:.1f} GB ({how}); {free / _GB:.1f} GB are free."
    return PreflightCheck(name="memory", ok=need <= free, message=message)


def _activation_bytes(config: RunConfig, facts: ModelFacts) -> int | None:
    """34 values of 2 bytes per token, layer and hidden unit, without the attention matrix.

    Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models",
    equation 1; plus logits and their gradient in float32.
    """
    if facts.layers is None or facts.hidden is None or facts.vocabulary is None:
        return None
    tokens = config.learner.tokens_per_micro_batch
    bytes_per_value = 1 if config.learner.compute_dtype == "bfloat16" else 2
    hidden = 34 * bytes_per_value * tokens * facts.hidden * facts.layers
    return hidden + tokens * facts.vocabulary * 8


def available_memory() -> int:
    """Bytes that a new process can have: the machine's free memory, or less in a container."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text() for name in ("memory.max", "memory.current"))
        return min(free, max(0, int(limit) - int(used)))
    except (OSError, ValueError):  # no cgroup, or its limit is "max"
        return free


def disk_check(config: RunConfig, facts: ModelFacts, runs_dir: Path) -> PreflightCheck:
    """What the run leaves on disk at its peak against what is free."""
    if facts.parameters is None:
        return PreflightCheck(
            name="disk", ok=None, message="Not estimated: the size of the model is not known yet."
        )
    versions = config.rollout.max_lag + 4  # old ones that are kept, the new one, model/
    commits = config.checkpoint.keep + 1  # one is written before the oldest goes
    need = facts.parameters * (4 * versions + _COMMIT_BYTES * commits)
    free = shutil.disk_usage(_existing(runs_dir)).free
    message = (
        f"The run needs about {need / _GB:.1f} GB ({versions} copies of the weights,"
        f" {commits} checkpoints); {free / _GB:.1f} GB are free under {runs_dir}."
    )
    return PreflightCheck(name="disk", ok=need <= free, message=message)


def _existing(folder: Path) -> Path:
    folder = folder.resolve()
    return next(place for place in (folder, *folder.parents) if os.access(place, os.R_OK))
