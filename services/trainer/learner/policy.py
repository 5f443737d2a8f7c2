"""The model under training: groups in, one update of the weights, metrics out.

    groups -> advantages -> rollouts with signal -> shares of the ranks -> micro-batches
           -> forward, loss, backward each -> clip, check, optimizer step

Every rank calls the same methods with the same groups (they are collective) and works out the
same plan from them, so nothing but gradients and metric sums is exchanged. A step is averaged over
all its completions, those without signal included, though these are never computed.

Which old policy the ratio compares with:
- one epoch of one mini-batch, max_lag 0: the current one; the ratio is 1 and costs no forward.
- several optimizer steps, max_lag 0: log-probs recomputed before the first of them.
- max_lag above 0: the generator's log-probs ("bypass"): recomputed ones would be blind to the lag.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from cohort.algorithms import Totals, get_algorithm
from cohort.config import OptimizerSection, RunConfig
from cohort.contracts.queue import GroupMessage
from cohort.models import load_model
from cohort.rollouts import packing
from cohort.rollouts.packing import Batch, Rollouts
from services.trainer.learner import checkpoints
from services.trainer.learner.attention import use_products
from services.trainer.learner.forward import LogProbs, shard

_DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}
_SUMS = (
    "loss",
    "tokens",
    "entropy",
    "kl",
    "clip_fraction",
    "mismatch_mean",
    "mismatch_k3",
)


class TrainingDiverged(RuntimeError):
    """Loss or gradient is not finite; raised before the optimizer step that would spread it."""


@dataclass(frozen=True)
class Work:
    """One optimizer step: this rank's micro-batches (as many on every rank) and the averages."""

    batches: list[Batch]
    totals: Totals


class Policy:
    """Float32 master weights, AdamW and the schedule, sharded by FSDP over `world_size` ranks."""

    def __init__(
        self, config: RunConfig, model_dir: Path, rank: int, world_size: int, total_steps: int
    ) -> None:
        self.config = config
        self.rank, self.world_size, self.total_steps = rank, world_size, total_steps
        self.num_updates = 0
        self.algorithm = get_algorithm(config.algorithm)
        self.device = _device(rank)
        self.model = self._load(model_dir)
        self.reference: LogProbs | None = None
        if config.algorithm.kl.beta > 0.0:
            self.reference = self._load(model_dir).requires_grad_(False)
        section = config.optimizer
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=section.lr,
            betas=section.betas,
            eps=section.eps,
            weight_decay=section.weight_decay,
            fused=True,
        )

    def _load(self, model_dir: Path) -> LogProbs:
        """In eval mode: dropout would make log-probs differ from the generator's."""
        dtype = _DTYPES[self.config.learner.compute_dtype]
        network = load_model(model_dir, torch.float32)
        if self.device.type == "cpu":
            use_products(network)
        model = LogProbs(network, self.config.rollout.temperature, dtype).to(self.device)
        if self.world_size > 1:
            shard(model, self.device, self.world_size)
        return model

    def update(self, groups: list[GroupMessage]) -> dict[str, float]:
        """Train on the groups of one step; collective. Raises `TrainingDiverged`.

        Means over trained tokens, loss and grad_norm over optimizer steps. `skipped` is 1 when no
        group had signal: then the weights stay, and the entropy is estimated from the
        generator's log-probs. `kl` is to the reference model, 0 without one.
        """
        lr = self.config.optimizer.lr * lr_factor(
            self.config.optimizer, self.num_updates, self.total_steps
        )
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = lr
        plan = [work for work in map(self._work, self._mini_batches(groups)) if work.batches]
        steps = [self._step(work) for _ in range(self.config.algorithm.epochs) for work in plan]
        self.num_updates += 1
        metrics = _mean(steps) if steps else _skipped(groups)
        return metrics | {"lr": lr, "tokens": float(count(groups).num_tokens)}

    def _mini_batches(self, groups: list[GroupMessage]) -> list[list[GroupMessage]]:
        """Deal the groups in turn; the same every epoch."""
        number = self.config.algorithm.mini_batches
        return [groups[index::number] for index in range(number)]

    def _work(self, groups: list[GroupMessage]) -> Work:
        """Plan one optimizer step; every rank knows how many micro-batches the others have."""
        rollouts = [item for group in groups for item in self._rollouts(group)]
        packs = [
            packing.micro_batches(
                share,
                self.config.learner.tokens_per_micro_batch,
                shared_prefix=self.model.shared_prefix,
            )
            for share in packing.shares(rollouts, self.world_size)
        ]
        batches = [packing.collate(pack) for pack in packs[self.rank]]
        missing = max(map(len, packs)) - len(batches)
        batches += [packing.empty_batch() for _ in range(missing)]
        return Work([self._with_old(batch) for batch in batches], count(groups))

    def _rollouts(self, group: GroupMessage) -> list[Rollouts]:
        rewards = [c.result.score if c.result else None for c in group.completions]
        if not self.algorithm.has_signal(rewards):
            return []
        return packing.rollouts_of(group, self.algorithm.advantages(rewards))

    def _with_old(self, batch: Batch) -> Batch:
        """Add the log-probs that the weights at the start of the update are needed for."""
        batch = batch.to(self.device)
        with torch.no_grad():
            if self.config.rollout.max_lag > 0:
                batch = replace(batch, old_logprobs_RC=batch.sampled_logprobs_RC)
            elif self._several_steps:
                batch = replace(batch, old_logprobs_RC=self.model(batch)[0])
            if self.reference is not None:
                batch = replace(batch, ref_logprobs_RC=self.reference(batch)[0])
        return batch

    @property
    def _several_steps(self) -> bool:
        return self.config.algorithm.epochs * self.config.algorithm.mini_batches > 1

    def _step(self, work: Work) -> dict[str, float]:
        """One optimizer step."""
        sums = torch.zeros(len(_SUMS), dtype=torch.float64, device=self.device)
        largest = torch.zeros((), dtype=torch.float64, device=self.device)
        for batch in work.batches:
            logprobs_RC, entropies_RC = self.model(batch)
            loss, parts = self.algorithm.loss(batch, logprobs_RC, work.totals)
            # FSDP averages gradients over ranks; shares of the loss add up.
            torch.autograd.backward(loss * self.world_size)
            parts |= self._mismatch(batch, logprobs_RC.detach())
            largest = torch.maximum(largest, parts["mismatch_max"].double())
            parts |= {
                "loss": loss.detach(),
                "tokens": batch.loss_mask_RC.sum(),
                "entropy": entropies_RC.sum(),
            }
            sums += torch.stack([parts[name].double() for name in _SUMS])
        if self.world_size > 1:
            dist.all_reduce(sums)
            dist.all_reduce(largest, dist.ReduceOp.MAX)
        metrics = dict(zip(_SUMS, sums.tolist(), strict=True))
        metrics["grad_norm"] = self._apply_gradients(metrics["loss"])
        metrics["mismatch_max"] = largest.item()
        return metrics

    def _mismatch(self, batch: Batch, logprobs_RC: Tensor) -> dict[str, Tensor]:
        """How far generator and learner disagree on the tokens that one sampled."""
        ours_RC = logprobs_RC
        if self.config.rollout.max_lag == 0 and batch.old_logprobs_RC is not None:
            ours_RC = batch.old_logprobs_RC
        delta_T = (ours_RC - batch.sampled_logprobs_RC)[batch.loss_mask_RC]
        return {
            "mismatch_mean": delta_T.abs().sum(),
            "mismatch_k3": (delta_T.exp() - delta_T - 1.0).sum(),
            "mismatch_max": delta_T.abs().max() if len(delta_T) else delta_T.sum(),
        }

    def _apply_gradients(self, loss: float) -> float:
        """Clip, check, step; returns the norm before clipping."""
        parameters = list(self.model.parameters())
        total = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        norm = float(total.full_tensor() if isinstance(total, DTensor) else total)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self.optimizer.zero_grad()
            raise TrainingDiverged(
                f"update {self.num_updates + 1}: loss is {loss} and the gradient norm {norm}; the"
                " weights were left as they were. Lower optimizer.lr, or look at the rewards"
            )
        nn.utils.clip_grads_with_norm_(
            parameters, self.config.optimizer.max_grad_norm, torch.as_tensor(norm)
        )
        self.optimizer.step()
        self.optimizer.zero_grad()
        return norm

    def full_state(self) -> dict[str, Tensor]:
        """Weights by the names that save_pretrained writes, tied ones once; collective.

        Rank 0 gets float32 copies on the CPU, other ranks an empty dict.
        """
        state = {}
        for name, tensor in checkpoints.model_state(self.model.model).items():
            full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
            if self.rank == 0:
                state[name] = full.to("cpu", copy=True)
        return state

    def save(self, folder: Path) -> None:
        """Write model, optimizer, schedule and random states into `folder`; collective."""
        checkpoints.save_tensors(folder, self._state())

    def load(self, folder: Path) -> None:
        """Continue from what `save` wrote, bit for bit at the same world size; collective.

        Raises `CheckpointError`.
        """
        state = self._state()
        checkpoints.load_tensors(folder, state)
        self.num_updates = int(state["num_updates"])
        checkpoints.set_rng_state(state, self.rank)

    def _state(self) -> dict[str, Tensor]:
        model = self.model.model
        return {
            **{f"model.{k}": v for k, v in checkpoints.model_state(model).items()},
            **checkpoints.optimizer_state(model, self.optimizer),
            **checkpoints.rng_state(self.rank),
            "num_updates": torch.tensor(self.num_updates),
        }


def count(groups: Sequence[GroupMessage]) -> Totals:
    """What a step is averaged over."""
    lengths = [sum(c.loss_mask) for group in groups for c in group.completions]
    return Totals(sum(map(bool, lengths)), sum(lengths))


def lr_factor(section: OptimizerSection, update: int, total: int) -> float:
    """Share of `lr` at an update (counted from 0) of `total`."""
    if update < section.warmup_steps:
        return (update + 1) / section.warmup_steps
    done = (update - section.warmup_steps) / max(1, total - section.warmup_steps)
    left = 1.0 - min(1.0, done)
    return {"constant": 1.0, "linear": left, "cosine": (1.0 - math.cos(math.pi * left)) / 2.0}[
        section.schedule
    ]


def _mean(steps: list[dict[str, float]]) -> dict[str, float]:
    tokens = sum(step["tokens"] for step in steps)
    metrics = {name: sum(step[name] for step in steps) / max(1.0, tokens) for name in _SUMS}
    for name in ("loss", "grad_norm"):
        metrics[name] = sum(step[name] for step in steps) / len(steps)
    metrics["mismatch_max"] = max(step["mismatch_max"] for step in steps)
    return metrics | {"skipped": 0.0}


def _skipped(groups: Sequence[GroupMessage]) -> dict[str, float]:
    sampled = [
        logprob
        for group in groups
        for completion in group.completions
        for logprob, trained in zip(completion.logprobs, completion.loss_mask, strict=True)
        if trained
    ]
    entropy = -sum(sampled) / max(1, len(sampled))
    return dict.fromkeys((*_SUMS, "grad_norm", "mismatch_max"), 0.0) | {
        "entropy": entropy,
        "skipped": 1.0,
    }


def _device(rank: int) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device
