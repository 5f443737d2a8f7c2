"""Key-value caches: prefill each prompt once, give its cache to every completion, decode all rows.

SlotDecoder    rows live in preallocated slots, each at its own length; a step writes one token per
               row and copies nothing. New rows join and finished rows leave between any two steps.
               For models whose layers all attend to everything.
PlainDecoder   transformers' own cache, prompts padded on the left; copies the cache at every step
               and takes new rows only when it is empty. For every other causal model.

P prompts, R rows, H key-value heads, T tokens, D head width, V vocabulary.
"""

import inspect
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

_ROOM = 64
"""Slots grow by this many tokens at least."""
_FULL_ATTENTION = frozenset({"llama", "qwen2", "qwen3", "mistral"})
"""Model types that take a mask and positions per row as they are (each tested)."""

Prompt = Sequence[int]


class Decoder(Protocol):
    """Logits of the next token, for rows that share prompts."""

    joins: bool
    """Whether rows can be added while others are being decoded."""

    def prefill(self, prompts: Sequence[Prompt], counts: Sequence[int]) -> Tensor:
        """Add counts[p] rows for each prompt; logits [sum of counts, V] of their first token."""
        ...

    def step(self, ids: Sequence[int]) -> Tensor:
        """Feed one token per row; logits [R, V] of the next."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Row i becomes what row rows[i] was; rows that are not named are gone."""
        ...


def decoder_for(model: PreTrainedModel) -> Decoder:
    """The fastest decoder that is right for the model."""
    layers = DynamicCache(config=model.config).layers
    full = bool(layers) and all(type(layer) is DynamicLayer for layer in layers)
    if full and model.config.model_type in _FULL_ATTENTION:
        return SlotDecoder(model)
    return PlainDecoder(model)


def _forward(model: PreTrainedModel, cache: Cache, **inputs: Any) -> Tensor:
    """Logits; the argument that carries the cache has had two names."""
    names = inspect.signature(model.forward).parameters
    inputs["cache" if "cache" in names else "past_key_values"] = cache
    if "position_ids" not in names:
        inputs.pop("position_ids", None)
    logits: Tensor = model(use_cache=True, **inputs).logits
    return logits


def _tensors(layer: Any) -> tuple[Tensor, Tensor]:
    """What transformers' cache holds of a layer: keys and values [P, H, T, D]."""
    return layer.keys, layer.values


class _SlotCache(Cache):
    """Hands transformers the slots; `begin` says where this step's tokens go."""

    def __init__(self, num_layers: int) -> None:
        super().__init__(layers=[])
        self.keys: list[Tensor | None] = [None] * num_layers
        self.values: list[Tensor | None] = [None] * num_layers

    def of(self, layer: int) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer, all slots [R, H, T, D]."""
        keys, values = self.keys[layer], self.values[layer]
        assert keys is not None
        assert values is not None
        return keys, values

    def begin(self, lengths_R: Tensor) -> None:
        self.rows_R = torch.arange(len(lengths_R))
        self.lengths_R = lengths_R
        self.num_tokens = int(lengths_R.max()) + 1

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        keys, values = self.of(layer_idx)
        keys[self.rows_R, :, self.lengths_R] = key_states[:, :, 0]
        values[self.rows_R, :, self.lengths_R] = value_states[:, :, 0]
        rows = len(self.rows_R)
        return keys[:rows, :, : self.num_tokens], values[:rows, :, : self.num_tokens]

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002
        return 0


class SlotDecoder:
    """Rows in preallocated slots, each at its own length."""

    joins = True

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.cache = _SlotCache(model.config.num_hidden_layers)
        self.lengths_R = torch.zeros(0, dtype=torch.long)

    def prefill(self, prompts: Sequence[Prompt], counts: Sequence[int]) -> Tensor:
        """Prompts are padded on the right: causality hides padding, decoding overwrites it."""
        lengths_P = torch.tensor([len(prompt) for prompt in prompts])
        longest = int(lengths_P.max())
        ids_PT = torch.tensor([[*p, *[p[-1]] * (longest - len(p))] for p in prompts])
        cache = DynamicCache(config=self.model.config)
        ends_U, which_P = torch.unique(lengths_P - 1, return_inverse=True)
        logits_PUV = _forward(self.model, cache, input_ids=ids_PT, logits_to_keep=ends_U)
        prompt_R = torch.arange(len(prompts)).repeat_interleave(torch.tensor(counts))
        self._add(cache, prompt_R, lengths_P[prompt_R])
        return logits_PUV[prompt_R, which_P[prompt_R]]

    def step(self, ids: Sequence[int]) -> Tensor:
        """One token for each row."""
        self._reserve(len(ids), int(self.lengths_R.max()) + 1)
        self.cache.begin(self.lengths_R)
        seen_RT = torch.arange(self.cache.num_tokens) <= self.lengths_R[:, None]
        dtype = self.model.dtype
        mask_RT = torch.zeros(seen_RT.shape, dtype=dtype).masked_fill_(
            ~seen_RT, torch.finfo(dtype).min
        )
        logits_RTV = _forward(
            self.model,
            self.cache,
            input_ids=torch.tensor(ids)[:, None],
            position_ids=self.lengths_R[:, None],
            attention_mask=mask_RT[:, None, None, :],
        )
        self.lengths_R = self.lengths_R + 1
        return logits_RTV[:, -1]

    def keep(self, rows: Sequence[int]) -> None:
        """Move rows into the slots of finished ones."""
        moved = [(to, source) for to, source in enumerate(rows) if to != source]
        if moved:
            to, source = (list(side) for side in zip(*moved, strict=True))
            for slots in (*self.cache.keys, *self.cache.values):
                assert slots is not None
                slots[to] = slots[source]
        self.lengths_R = self.lengths_R[list(rows)]

    def _add(self, cache: DynamicCache, prompt_R: Tensor, lengths_R: Tensor) -> None:
        first, last = len(self.lengths_R), len(self.lengths_R) + len(prompt_R)
        if self.cache.keys[0] is None or first == 0:
            self._allocate(cache, last, int(lengths_R.max()) + _ROOM)
        self._reserve(last, int(lengths_R.max()) + 1)
        for index, layer in enumerate(cache.layers):
            for slots, filled in zip(self.cache.of(index), _tensors(layer), strict=True):
                slots[first:last, :, : filled.shape[2]] = filled[prompt_R]
        self.lengths_R = torch.cat([self.lengths_R, lengths_R])

    def _allocate(self, cache: DynamicCache, rows: int, tokens: int) -> None:
        for index, layer in enumerate(cache.layers):
            self.cache.keys[index], self.cache.values[index] = (
                filled.new_zeros((rows, filled.shape[1], tokens, filled.shape[3]))
                for filled in _tensors(layer)
            )

    def _reserve(self, rows: int, tokens: int) -> None:
        """Make the slots larger, by half at least, when they are too few or too short."""
        for side in (self.cache.keys, self.cache.values):
            for index, slots in enumerate(side):
                assert slots is not None
                R, H, T, D = slots.shape
                if rows <= R and tokens <= T:
                    continue
                wider = R if rows <= R else max(rows, R * 3 // 2)
                longer = T if tokens <= T else max(tokens + _ROOM, T * 3 // 2)
                grown = slots.new_zeros((wider, H, longer, D))
                grown[:R, :, :T] = slots
                side[index] = grown


class PlainDecoder:
    """Any causal language model of transformers that keeps keys and values in a cache."""

    joins = False

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.cache = DynamicCache(config=model.config)
        self.mask_RT = torch.zeros(0, 0, dtype=torch.long)

    def prefill(self, prompts: Sequence[Prompt], counts: Sequence[int]) -> Tensor:
        """Prompts are padded on the left, so that their last tokens line up."""
        assert len(self.mask_RT) == 0, "rows are added to an empty batch only"
        longest = max(map(len, prompts))
        ids_PT = torch.tensor([[*[p[0]] * (longest - len(p)), *p] for p in prompts])
        mask_PT = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
        self.cache = DynamicCache(config=self.model.config)
        logits_PTV = self._logits(ids_PT, mask_PT)
        prompt_R = torch.arange(len(prompts)).repeat_interleave(torch.tensor(counts))
        self.cache.batch_select_indices(prompt_R)
        self.mask_RT = mask_PT[prompt_R]
        return logits_PTV[prompt_R, -1]

    def step(self, ids: Sequence[int]) -> Tensor:
        """One token for each row."""
        ones_R1 = self.mask_RT.new_ones((len(ids), 1))
        self.mask_RT = torch.cat([self.mask_RT, ones_R1], dim=1)
        return self._logits(torch.tensor(ids)[:, None], self.mask_RT)[:, -1]

    def keep(self, rows: Sequence[int]) -> None:
        """Select rows of the cache."""
        self.mask_RT = self.mask_RT[list(rows)]
        if rows:
            self.cache.batch_select_indices(torch.tensor(rows))

    def _logits(self, ids_RT: Tensor, mask_RT: Tensor) -> Tensor:
        positions_RT = (mask_RT.cumsum(-1) - 1).clamp(min=0)[:, -ids_RT.shape[1] :]
        return _forward(
            self.model,
            self.cache,
            input_ids=ids_RT,
            attention_mask=mask_RT,
            position_ids=positions_RT,
            **({"logits_to_keep": 1} if self._keeps_last() else {}),
        )

    def _keeps_last(self) -> bool:
        return "logits_to_keep" in inspect.signature(self.model.forward).parameters
