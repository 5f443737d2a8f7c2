"""Log-probs of completions under a model, with each prompt computed once per group.

    prompts (N, P)  --> base model --> KV cache --repeat per completion--> base model <-- ids (R, C)
                            |                                                  |
                  hidden of the last prompt token                 hidden of tokens 0 .. C-2
                            +---------- together they predict tokens 0 .. C-1 -+--> lm_head, only
                                                                                where trained

Gradients flow through the cache into the prompt. `LogProbs(shared_prefix=False)` runs every prompt
with every completion instead: slower, the same numbers, and works for any causal model.

Shape letters: N prompts, P prompt tokens, R completions (rows), C completion tokens, T trained
tokens, H hidden, V vocabulary, S chunk of T.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from cohort.models import ModelError
from cohort.rollouts.packing import Batch

_CHUNK = 1024


class LogProbs(nn.Module):
    """A causal language model seen as a function from a `Batch` to log-probs of its completions.

    One module around the whole model, so that FSDP gathers the embedding and the head for it.
    Log-probs are float32 and of the distribution at `temperature`, as the generator's are.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        temperature: float,
        dtype: torch.dtype,
        *,
        shared_prefix: bool = True,
    ) -> None:
        super().__init__()
        _check_head(model)
        self.model = model
        self.temperature = temperature
        self.dtype = dtype
        self.shared_prefix = shared_prefix and can_share_prefix(model)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """(log-probs, entropies), each (R, C) float32, 0 where `loss_mask` is 0.

        Only the log-probs carry gradients.
        """
        low_precision = self.dtype != torch.float32
        with torch.autocast(batch.ids_RC.device.type, self.dtype, enabled=low_precision):
            hidden = self._shared(batch) if self.shared_prefix else self._plain(batch)
        head: Any = self.model.get_output_embeddings()  # type: ignore[no-untyped-call]
        trained_RC = batch.loss_mask_RC
        logprobs_T, entropies_T = _Head.apply(  # type: ignore[no-untyped-call]
            hidden[trained_RC].to(self.dtype),
            head.weight,
            batch.ids_RC[trained_RC],
            self.temperature,
        )
        logprobs_RC = torch.zeros_like(batch.sampled_logprobs_RC)
        entropies_RC = torch.zeros_like(logprobs_RC)
        logprobs_RC[trained_RC] = logprobs_T
        entropies_RC[trained_RC] = entropies_T
        return logprobs_RC, entropies_RC

    def _shared(self, batch: Batch) -> Tensor:
        """Hidden states (R, C, H) that predict the completions' tokens."""
        cache = DynamicCache(config=self.model.config)
        hidden_NPH = self._base(batch.prompt_ids_NP, cache)
        lengths_N = batch.prompt_mask_NP.sum(dim=1)
        last_NH = hidden_NPH[torch.arange(len(lengths_N), device=lengths_N.device), lengths_N - 1]
        cache.batch_select_indices(batch.prompt_of_R)
        # At least one token, so that every rank makes the same passes (and FSDP's collectives).
        ids_RC = batch.ids_RC[:, : max(1, batch.ids_RC.shape[1] - 1)]
        later_RCH = self._base(
            ids_RC,
            cache,
            mask=torch.cat(
                [batch.prompt_mask_NP[batch.prompt_of_R], batch.mask_RC[:, : ids_RC.shape[1]]], 1
            ),
            positions=lengths_N[batch.prompt_of_R, None] + _arange(ids_RC),
        )
        hidden_RCH = torch.cat([last_NH[batch.prompt_of_R, None], later_RCH], dim=1)
        return hidden_RCH[:, : batch.ids_RC.shape[1]]

    def _plain(self, batch: Batch) -> Tensor:
        """The same hidden states (R, C, H), with every prompt in front of every completion.

        Real tokens are moved together, padding comes last: sliding windows count places.
        """
        prompt_mask_RP = batch.prompt_mask_NP[batch.prompt_of_R]
        padded = torch.cat([batch.prompt_ids_NP[batch.prompt_of_R], batch.ids_RC], dim=1)
        is_padding = ~torch.cat([prompt_mask_RP, batch.mask_RC], dim=1)
        order = is_padding.int().argsort(dim=1, stable=True)
        hidden = self._base(padded.gather(1, order))
        rows_R = torch.arange(len(hidden), device=hidden.device)
        places_RC = prompt_mask_RP.sum(dim=1, keepdim=True) - 1 + _arange(batch.ids_RC)
        return hidden[rows_R[:, None], places_RC]

    def _base(
        self,
        ids: Tensor,
        cache: DynamicCache | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Hidden states (rows, tokens, H) of the decoder; prompts need no mask, padding is last."""
        base = self.model.base_model
        # In float32 also where FSDP gathers bfloat16 weights: the residual stream adds small terms.
        embeddings = self.model.get_input_embeddings()(ids).float()
        hidden: Tensor = base(
            inputs_embeds=embeddings,
            attention_mask=None if mask is None else mask.long(),
            position_ids=positions,
            use_cache=cache is not None,
            **({} if cache is None else {_cache_argument(base): cache}),
        ).last_hidden_state
        return hidden


class _Head(torch.autograd.Function):
    """lm_head, log-softmax and pick, in chunks: no (T, V) tensor outlives its chunk.

    Logits are recomputed in the backward: dlogits = g (onehot - p) / temperature. The entropy is a
    metric and has no gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden_TH: Tensor, weight_VH: Tensor, ids_T: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(hidden_TH, weight_VH, ids_T)
        ctx.temperature = temperature
        logprobs_T = hidden_TH.new_empty(len(ids_T), dtype=torch.float32)
        entropies_T = torch.empty_like(logprobs_T)
        low_VH = weight_VH.to(hidden_TH.dtype)
        for part in _chunks(len(ids_T)):
            logprobs_SV = _log_softmax(hidden_TH[part], low_VH, temperature)
            logprobs_T[part] = logprobs_SV.gather(1, ids_T[part, None]).squeeze(1)
            entropies_T[part] = -logprobs_SV.exp().mul_(logprobs_SV).sum(dim=1)
        ctx.mark_non_differentiable(entropies_T)
        return logprobs_T, entropies_T

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grad_T = grads[0] / ctx.temperature
        hidden_TH, weight_VH, ids_T = ctx.saved_tensors
        low_VH = weight_VH.to(hidden_TH.dtype)
        grad_hidden_TH = torch.zeros_like(hidden_TH)
        grad_weight_VH = torch.zeros_like(weight_VH)
        for part in _chunks(len(ids_T)):
            logits_SV = _log_softmax(hidden_TH[part], low_VH, ctx.temperature).exp_()
            logits_SV.mul_(-grad_T[part, None])
            logits_SV.scatter_add_(1, ids_T[part, None], grad_T[part, None])
            low_SV = logits_SV.to(hidden_TH.dtype)
            grad_hidden_TH[part] = low_SV @ low_VH
            grad_weight_VH += low_SV.T @ hidden_TH[part]
        return grad_hidden_TH, grad_weight_VH, None, None


def _log_softmax(hidden_SH: Tensor, weight_VH: Tensor, temperature: float) -> Tensor:
    logits_SV = functional.linear(hidden_SH, weight_VH).float()
    if temperature != 1.0:
        logits_SV = logits_SV / temperature
    return torch.log_softmax(logits_SV, dim=1)


def _chunks(length: int) -> list[slice]:
    return [slice(start, start + _CHUNK) for start in range(0, length, _CHUNK)]


def _arange(ids: Tensor) -> Tensor:
    return torch.arange(ids.shape[1], device=ids.device).unsqueeze(0)


def _cache_argument(base: nn.Module) -> str:
    """transformers 5.2x renamed the argument and warns about the old name."""
    return "cache" if "cache" in inspect.signature(base.forward).parameters else "past_key_values"


def _check_head(model: PreTrainedModel) -> None:
    """`_Head` is a matrix and nothing else. Raises `ModelError` for models that do more."""
    head: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    extras = [
        name
        for name in ("final_logit_softcapping", "logit_scale", "logits_scaling")
        if getattr(model.config, name, None) not in (None, 1.0)
    ]
    if head is not None and getattr(head, "bias", None) is not None:
        extras.append("lm_head.bias")
    if head is None or extras:
        what = ", ".join(extras) or "no lm_head"
        raise ModelError(
            f"a {model.config.model_type} model with {what} cannot be trained here: logits must be"
            " the hidden states times lm_head"
        )


def can_share_prefix(model: PreTrainedModel) -> bool:
    """Whether the model keeps plain keys and values: full attention in every layer."""
    layers = DynamicCache(config=model.config).layers
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


def shard(module: LogProbs, device: torch.device, world_size: int) -> None:
    """Shard the parameters over all ranks (FSDP2): each decoder layer by itself, then the rest.

    Layers compute in the module's dtype from float32 shards, and gradients are reduced in float32.
    """
    mesh = init_device_mesh(device.type, (world_size,))
    policy = MixedPrecisionPolicy(
        param_dtype=module.dtype, reduce_dtype=torch.float32, cast_forward_inputs=False
    )
    layers = set(module.model._no_split_modules or ())
    for part in module.model.modules():
        if type(part).__name__ in layers:
            fully_shard(part, mesh=mesh, mp_policy=policy)
    fully_shard(module, mesh=mesh, mp_policy=policy)
