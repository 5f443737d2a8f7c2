"""Attention for training on CPUs: matrix products instead of torch's fused kernel.

The backward of the fused CPU kernel is slow at the short lengths of a shared-prefix forward (64
rows of 11 queries and 57 keys: 60 ms, here 8 ms on one core). Query heads that share a key head are
rows of one product, so keys and values are never repeated. Scores and softmax are float32.

Shape letters: B rows, Q queries, K keys, N key heads, M query heads per key head, D head size.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

_NAME = "cohort_products"
_MAX_SCORES = 1 << 20
"""Q times K above which a row's scores take too much memory, and the fused kernel is used."""
_KNOWN = frozenset({"sliding_window", "position_ids", "cache", "use_cache", "is_causal"})
"""Arguments that the mask already answers; a model that passes others wants the fused kernel."""


def use_products(model: PreTrainedModel) -> None:
    """Let a model attend this way, where it attends by torch's fused kernel now."""
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(_NAME, _attend)
        AttentionMaskInterface.register(_NAME, sdpa_mask)
        model.set_attn_implementation(_NAME)


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """transformers' interface: query (B, NM, Q, D), key and value (B, N, K, D) to (B, Q, NM, D)."""
    special = dropout > 0.0 or any(v is not None for k, v in kwargs.items() if k not in _KNOWN)
    if special or query.shape[2] * key.shape[2] > _MAX_SCORES:
        fused: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **kwargs
        )
        return fused
    (rows, num_heads, num_queries, size), (_, key_heads, num_keys, _) = query.shape, key.shape
    if attention_mask is None:
        causal = query.new_ones(num_queries, num_keys, dtype=torch.bool)
        attention_mask = causal.tril(num_keys - num_queries)[None, None]
    scale = size**-0.5 if scaling is None else scaling
    grouped = (rows, key_heads, num_heads // key_heads * num_queries)
    with torch.autocast(query.device.type, enabled=False):
        scores = (query.float() * scale).reshape(*grouped, size) @ key.float().transpose(2, 3)
        scores = scores.view(rows, key_heads, -1, num_queries, num_keys)
        scores = scores.masked_fill(~attention_mask[:, :, None], torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1).to(value.dtype).view(*grouped, num_keys)
        output = weights @ value
    output = output.view(rows, num_heads, num_queries, value.shape[-1])
    return output.transpose(1, 2).contiguous(), None
