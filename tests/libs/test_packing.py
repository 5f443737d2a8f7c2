"""Packing: no token is lost, moved or trained on twice."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohort.contracts.queue import GroupCompletion, GroupMessage
from cohort.rollouts import packing
from cohort.rollouts.packing import Batch, Rollouts

TOKENS = st.integers(1, 1000)
Row = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[float, ...], float]


def completion(
    prompt: tuple[int, ...], ids: tuple[int, ...], mask: tuple[int, ...]
) -> GroupCompletion:
    return GroupCompletion(
        prompt_ids=prompt, ids=ids, loss_mask=mask, logprobs=tuple(-token / 4096 for token in ids),
        offsets=(0,) * len(ids), version_spans=(), finish_reason="stop", text="",
    )  # fmt: skip


def group_of(completions: tuple[GroupCompletion, ...]) -> GroupMessage:
    return GroupMessage(
        run_id="r", group_id="g", step=1, purpose="train", status="ok", completions=completions
    )


@st.composite
def rollouts(draw: st.DrawFn) -> Rollouts:
    prompt = tuple(draw(st.lists(TOKENS, min_size=1, max_size=9)))
    rows = draw(st.lists(st.lists(st.tuples(TOKENS, st.booleans()), max_size=7), min_size=1))
    completions = tuple(
        completion(prompt, tuple(token for token, _ in row), tuple(int(m) for _, m in row))
        for row in rows
    )
    return Rollouts(prompt, completions, tuple(float(n) for n in range(len(rows))))


LISTS = st.lists(rollouts(), min_size=1, max_size=5)


def rows_in(items: list[Rollouts]) -> Counter[Row]:
    return Counter(
        (item.prompt_ids, c.ids, c.loss_mask, c.logprobs, advantage)
        for item in items
        for c, advantage in zip(item.completions, item.advantages, strict=True)
    )


def rows_of(batch: Batch) -> Counter[Row]:
    """Read the rows back out of the tensors."""
    found: Counter[Row] = Counter()
    for row, prompt in enumerate(batch.prompt_of_R.tolist()):
        real_C = batch.mask_RC[row]
        found[
            (
                tuple(batch.prompt_ids_NP[prompt][batch.prompt_mask_NP[prompt]].tolist()),
                tuple(batch.ids_RC[row][real_C].tolist()),
                tuple(map(int, batch.loss_mask_RC[row][real_C].tolist())),
                tuple(batch.sampled_logprobs_RC[row][real_C].tolist()),
                batch.advantages_R[row].item(),
            )
        ] += 1
    return found


@given(LISTS, st.integers(1, 120), st.booleans())
def test_every_row_is_in_one_batch(items: list[Rollouts], budget: int, shared: bool) -> None:
    packs = packing.micro_batches(items, budget, shared_prefix=shared)
    found: Counter[Row] = Counter()
    for pack in packs:
        batch = packing.collate(pack)
        assert not batch.loss_mask_RC[~batch.mask_RC].any()
        found += rows_of(batch)
    assert found == rows_in(items)


@given(LISTS, st.integers(1, 120), st.booleans())
def test_a_batch_is_within_the_budget_or_a_single_row(
    items: list[Rollouts], budget: int, shared: bool
) -> None:
    for pack in packing.micro_batches(items, budget, shared_prefix=shared):
        tokens = packing.num_padded_tokens(pack, shared_prefix=shared)
        assert tokens <= budget or [len(item.completions) for item in pack] == [1]
        batch = packing.collate(pack)
        num_prompts = len(batch.prompt_ids_NP) if shared else len(batch.ids_RC)
        assert tokens == num_prompts * batch.prompt_ids_NP.shape[1] + batch.ids_RC.numel()


@given(LISTS, st.integers(1, 4))
def test_shares_deal_every_rollout_once_and_evenly(items: list[Rollouts], ranks: int) -> None:
    shares = packing.shares(items, ranks)
    assert len(shares) == ranks
    assert sum((rows_in(share) for share in shares), Counter()) == rows_in(items)
    assert packing.shares(items, ranks) == shares
    costs = [packing.num_padded_tokens([item], shared_prefix=True) for item in items]
    loads = [
        sum(packing.num_padded_tokens([item], shared_prefix=True) for item in share)
        for share in shares
    ]
    assert max(loads) - min(loads) <= max(costs)


def test_a_group_with_two_prompts_becomes_two_rollouts() -> None:
    completions = tuple(completion(prompt, (7,), (1,)) for prompt in ((1, 2), (3,), (1, 2)))
    parts = packing.rollouts_of(group_of(completions), [0.1, 0.2, 0.3])
    assert [(part.prompt_ids, part.advantages) for part in parts] == [
        ((1, 2), (0.1, 0.3)),
        ((3,), (0.2,)),
    ]


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(ValueError, match="empty prompt"):
        packing.rollouts_of(group_of((completion((), (7,), (1,)),)), [0.0])


def test_a_completion_whose_parts_do_not_match_is_refused() -> None:
    broken = completion((1,), (7, 8), (1,))
    with pytest.raises(ValueError, match="2 ids, 2 logprobs and 1 mask bits"):
        packing.rollouts_of(group_of((broken,)), [0.0])


def test_an_empty_batch_trains_on_nothing() -> None:
    batch = packing.empty_batch()
    assert batch.ids_RC.shape == (1, 1)
    assert not batch.loss_mask_RC.any()
