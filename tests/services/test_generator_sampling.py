"""Keyed random numbers, inverse-CDF sampling, and the end of each token in a text."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from services.generator.engines.sampling import draw, row_key, uniforms
from services.generator.engines.tokens import Tokens
from services.generator.streaming import Spoken, until_stop


def test_streams_are_uniform_and_do_not_look_like_each_other() -> None:
    keys = [row_key(seed, completion) for seed in range(64) for completion in range(64)]
    assert len(set(keys)) == len(keys)
    u = np.stack([uniforms(keys, [position] * len(keys)) for position in range(16)])
    assert u.min() >= 0.0
    assert u.max() < 1.0
    counts = np.histogram(u, bins=16, range=(0, 1))[0]
    assert abs(counts / u.size * 16 - 1).max() < 0.05
    correlation = np.corrcoef(u)
    assert abs(correlation - np.eye(16)).max() < 0.07


def test_numbers_depend_on_seed_completion_and_position_only() -> None:
    assert uniforms([row_key(3, 1)], [7]) == uniforms([row_key(3, 0), row_key(3, 1)], [7, 7])[1:]
    assert row_key(-1, 0) == row_key(2**64 - 1, 0)


def test_draws_follow_the_distribution() -> None:
    num = 20_000
    logits = torch.tensor([2.0, 0.0, -1.0, float("-inf"), 1.0]).repeat(num, 1)
    u = torch.from_numpy(uniforms([row_key(0, i) for i in range(num)], [0] * num))
    ids, logprobs = draw(logits, torch.full((num,), 0.8), torch.ones(num), u)
    expected = torch.softmax(logits[0] / 0.8, -1)
    seen = torch.bincount(ids, minlength=5) / num
    torch.testing.assert_close(seen, expected, atol=0.015, rtol=0.0)
    assert seen[3] == 0
    torch.testing.assert_close(logprobs, expected.log()[ids])


@pytest.mark.parametrize("u", [0.0, 0.5, 1 - 2**-24])
def test_tokens_of_probability_zero_are_never_drawn(u: float) -> None:
    infinite = float("-inf")
    logits = torch.tensor([[infinite, infinite, 1.0, 1.0, infinite, infinite]])
    ids, logprobs = draw(logits, torch.ones(1), torch.ones(1), torch.tensor([u]))
    assert int(ids) in (2, 3)
    assert float(logprobs) == pytest.approx(np.log(0.5))


def test_rows_of_one_batch_keep_their_own_settings() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0]]).repeat(3, 1)
    ids, logprobs = draw(
        logits,
        torch.tensor([0.0, 1.0, 1.0]),
        torch.tensor([1.0, 1.0, 0.5]),
        torch.tensor([0.0, 0.0, 0.99]),
    )
    assert ids.tolist() == [1, 0, 1]
    full = torch.log_softmax(logits[0], -1)
    torch.testing.assert_close(logprobs, torch.stack([full[1], full[0], torch.tensor(0.0)]))


@pytest.fixture(scope="module")
def byte_tokens() -> Tokens:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {"<|end|>": 0, **{char: i + 1 for i, char in enumerate(alphabet)}}
    tokenizer = Tokenizer(models.BPE(vocab, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")
    return Tokens(wrapped, frozenset({0}))


@given(text=st.text(max_size=12))
def test_a_character_ends_with_the_token_that_completes_it(byte_tokens: Tokens, text: str) -> None:
    ids = byte_tokens.encode(text, special=False)
    spelled, offsets = byte_tokens.spell([*ids, 0])
    assert spelled == text
    expected = [
        index + (byte == len(char.encode()))
        for index, char in enumerate(text)
        for byte in range(1, len(char.encode()) + 1)
    ]
    if "\ufffd" not in text:
        assert offsets == [*expected, len(text)]


@given(ids=st.lists(st.integers(0, 256), max_size=12))
def test_offsets_of_any_bytes_are_in_order(byte_tokens: Tokens, ids: list[int]) -> None:
    text, offsets = byte_tokens.spell(ids)
    assert text == byte_tokens.decode(ids)
    assert offsets == sorted(offsets)
    assert len(offsets) == len(ids)
    assert not offsets or offsets[-1] == len(text)


@given(
    pieces=st.lists(st.text("abé😀", min_size=1, max_size=3), max_size=8),
    stops=st.lists(st.text("abé", min_size=1, max_size=3), max_size=2),
    whole=st.booleans(),
)
def test_what_was_streamed_is_never_taken_back(
    byte_tokens: Tokens, pieces: list[str], stops: list[str], whole: bool
) -> None:
    def spell(ids: Sequence[int]) -> str:
        return "".join(pieces[i] for i in ids) if whole else byte_tokens.decode(ids)

    ids = list(range(len(pieces))) if whole else byte_tokens.encode("".join(pieces), special=False)
    ends = [n for n in range(1, len(ids)) if any(stop in spell(ids[:n]) for stop in stops)]
    ids = ids[: ends[0]] if ends else ids  # the engine ends a completion with its first stop string
    text = spell(ids)
    expected = until_stop(text, stops)
    spoken, heard = Spoken(spell, stops), ""
    for token in ids:
        heard += spoken.hear(token)
        assert expected.startswith(heard)
    assert heard + spoken.finish(text) == expected
    assert len(expected) <= min((text.find(s) for s in stops if s in text), default=len(text))
