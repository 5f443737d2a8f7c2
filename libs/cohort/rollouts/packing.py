"""From groups to batches: which completions are computed together, as padded tensors.

    groups -> rollouts      one prompt and the completions that continue it
           -> shares        one list per rank, balanced by tokens
           -> micro-batches as many as a token budget holds
           -> Batch         prompts (N, P) once each, completions (R, C) and whose they are

No token is lost, added or moved between completions on the way. Shape letters: N prompts, P prompt
tokens (padded right), R completions (rows), C completion tokens (padded right).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from cohort.contracts.queue import GroupCompletion, GroupMessage


@dataclass(frozen=True)
class Rollouts:
    """Completions of one prompt, each with its advantage."""

    prompt_ids: tuple[int, ...]
    completions: tuple[GroupCompletion, ...]
    advantages: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.prompt_ids:
            raise ValueError("a group has an empty prompt: nothing predicts its first token")
        for row in self.completions:
            if not len(row.ids) == len(row.logprobs) == len(row.loss_mask):
                raise ValueError(
                    f"a completion has {len(row.ids)} ids, {len(row.logprobs)} logprobs and"
                    f" {len(row.loss_mask)} mask bits: they must be one for one"
                )

    @property
    def length(self) -> int:
        """Tokens of the longest completion, at least 1."""
        return max(1, *(len(completion.ids) for completion in self.completions), 1)

    def rows(self, start: int, stop: int) -> Self:
        """A slice of the completions, with the same prompt."""
        return replace(
            self,
            completions=self.completions[start:stop],
            advantages=self.advantages[start:stop],
        )


@dataclass(frozen=True)
class Batch:
    """What a policy is trained on at once. Padding is 0 everywhere, and so are the masks there."""

    prompt_ids_NP: Tensor
    """int64"""
    prompt_mask_NP: Tensor
    """bool: a real token."""
    prompt_of_R: Tensor
    """int64: the prompt that a completion continues."""
    ids_RC: Tensor
    """int64: sampled tokens."""
    mask_RC: Tensor
    """bool: a real token."""
    loss_mask_RC: Tensor
    """bool: a token that the policy chose and is trained on."""
    advantages_R: Tensor
    """float32"""
    sampled_logprobs_RC: Tensor
    """float32: what the generator said when it sampled."""
    old_logprobs_RC: Tensor | None = None
    """float32: under the policy that the ratio compares with; None: the current one."""
    ref_logprobs_RC: Tensor | None = None
    """float32: under the reference model; None: no KL term."""

    def __post_init__(self) -> None:
        num_prompts, (num_rows, width) = self.prompt_ids_NP.shape[0], self.ids_RC.shape
        assert self.prompt_mask_NP.shape == self.prompt_ids_NP.shape
        assert self.prompt_of_R.shape == self.advantages_R.shape == (num_rows,)
        assert self.mask_RC.shape == self.loss_mask_RC.shape == (num_rows, width)
        assert self.sampled_logprobs_RC.shape == (num_rows, width)
        for optional_RC in (self.old_logprobs_RC, self.ref_logprobs_RC):
            assert optional_RC is None or optional_RC.shape == (num_rows, width)
        assert num_prompts >= 1
        assert width >= 1

    def to(self, device: torch.device) -> Self:
        """The same batch on another device."""
        moved = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


def rollouts_of(group: GroupMessage, advantages: Sequence[float]) -> list[Rollouts]:
    """One for each distinct prompt of the group, in the order in which they appear."""
    by_prompt: dict[tuple[int, ...], list[int]] = {}
    for row, completion in enumerate(group.completions):
        by_prompt.setdefault(completion.prompt_ids, []).append(row)
    return [
        Rollouts(
            prompt_ids,
            tuple(group.completions[row] for row in rows),
            tuple(advantages[row] for row in rows),
        )
        for prompt_ids, rows in by_prompt.items()
    ]


def num_padded_tokens(pack: Sequence[Rollouts], *, shared_prefix: bool) -> int:
    """Tokens that a forward of these computes, padding included."""
    prompt = max(len(item.prompt_ids) for item in pack)
    completion = max(item.length for item in pack)
    num_rows = sum(len(item.completions) for item in pack)
    num_prompts = len(pack) if shared_prefix else num_rows
    return num_prompts * prompt + num_rows * completion


def shares(rollouts: Sequence[Rollouts], num_ranks: int) -> list[list[Rollouts]]:
    """Deal rollouts to ranks: the largest first, each to the rank with the fewest tokens so far.

    Every rank computes the same answer from the same list. A share may be empty.
    """
    dealt: list[list[int]] = [[] for _ in range(num_ranks)]
    loads = [0] * num_ranks
    costs = [num_padded_tokens([item], shared_prefix=True) for item in rollouts]
    for index in sorted(range(len(rollouts)), key=lambda index: -costs[index]):
        rank = loads.index(min(loads))
        dealt[rank].append(index)
        loads[rank] += costs[index]
    return [[rollouts[index] for index in sorted(share)] for share in dealt]


def micro_batches(
    rollouts: Iterable[Rollouts], max_tokens: int, *, shared_prefix: bool
) -> list[list[Rollouts]]:
    """Fill one micro-batch after the other, similar lengths together, so that little is padding.

    Rollouts above the budget are split by completions; a single completion fits always.
    """
    pieces = [piece for item in rollouts for piece in _split(item, max_tokens, shared_prefix)]
    pieces.sort(key=lambda item: (-item.length, -len(item.prompt_ids)))
    packs: list[list[Rollouts]] = []
    for piece in pieces:
        if packs:
            pack = [*packs[-1], piece]
            if num_padded_tokens(pack, shared_prefix=shared_prefix) <= max_tokens:
                packs[-1] = pack
                continue
        packs.append([piece])
    return packs


def _split(item: Rollouts, max_tokens: int, shared_prefix: bool) -> list[Rollouts]:
    prompt = len(item.prompt_ids)
    if shared_prefix:
        num_rows = (max_tokens - prompt) // item.length
    else:
        num_rows = max_tokens // (prompt + item.length)
    num_rows = max(1, num_rows)
    return [
        item.rows(start, start + num_rows) for start in range(0, len(item.completions), num_rows)
    ]


def collate(pack: Sequence[Rollouts]) -> Batch:
    """One micro-batch as tensors on the CPU: rows in the order of the rollouts."""
    completions = [completion for item in pack for completion in item.completions]
    width = max(item.length for item in pack)
    prompt_width = max(len(item.prompt_ids) for item in pack)
    counts = torch.tensor([len(item.completions) for item in pack])
    return Batch(
        prompt_ids_NP=_padded([item.prompt_ids for item in pack], prompt_width, torch.int64),
        prompt_mask_NP=_mask([len(item.prompt_ids) for item in pack], prompt_width),
        prompt_of_R=torch.arange(len(pack)).repeat_interleave(counts),
        ids_RC=_padded([completion.ids for completion in completions], width, torch.int64),
        mask_RC=_mask([len(completion.ids) for completion in completions], width),
        loss_mask_RC=_padded(
            [completion.loss_mask for completion in completions], width, torch.bool
        ),
        advantages_R=torch.tensor(
            [value for item in pack for value in item.advantages], dtype=torch.float32
        ),
        sampled_logprobs_RC=_padded(
            [completion.logprobs for completion in completions], width, torch.float32
        ),
    )


def _padded(rows: Sequence[Sequence[float]], width: int, dtype: torch.dtype) -> Tensor:
    return torch.tensor([[*row, *([0] * (width - len(row)))] for row in rows], dtype=dtype)


def _mask(lengths: Sequence[int], width: int) -> Tensor:
    return torch.arange(width) < torch.tensor(lengths).unsqueeze(1)


def empty_batch() -> Batch:
    """A row without trained tokens, for a rank that has no work but must join its peers."""
    nothing = GroupCompletion(
        prompt_ids=(0,), ids=(0,), logprobs=(0.0,), loss_mask=(0,), offsets=(0,),
        version_spans=(), finish_reason="stop", text="",
    )  # fmt: skip
    return collate([Rollouts((0,), (nothing,), (0.0,))])
