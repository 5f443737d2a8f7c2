"""The torch engine against plain transformers, and what must not depend on the batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from cohort.models import load_model, load_tokenizer, resolve_model
from cohort.weights import WeightsError, describe, write_version
from services.generator.engines.base import EngineError, GroupRequest, Sampled
from services.generator.engines.decoders import PlainDecoder, SlotDecoder, decoder_for
from services.generator.engines.local import LocalEngine

EOS = 2
SMALL = {
    "vocab_size": 99,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": EOS,
    "pad_token_id": EOS,
}
OTHERS = {
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SMALL)),
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**SMALL, head_dim=8)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**SMALL, sliding_window=None)),
    "mistral-window": lambda: MistralForCausalLM(MistralConfig(**SMALL, sliding_window=8)),
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(
            vocab_size=99,
            n_embd=32,
            n_layer=2,
            n_head=2,
            initializer_range=0.3,
            bos_token_id=EOS,
            eos_token_id=EOS,
            pad_token_id=EOS,
        )
    ),
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resolve_model("bundled:tiny-random", tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def plain(tiny: Path) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(tiny)


def engine_of(folder: Path, **settings: int) -> LocalEngine:
    engine = LocalEngine(compute_dtype="float32", **settings)
    engine.load_model(folder)
    return engine


def prompts(lengths: Sequence[int]) -> list[tuple[int, ...]]:
    generator = torch.Generator().manual_seed(5)
    return [tuple(torch.randint(3, 99, (n,), generator=generator).tolist()) for n in lengths]


@dataclass
class Ticket:
    """Keeps what the engine says; gives up after `patience` tokens, before the first when 0."""

    request: GroupRequest
    patience: float = float("inf")
    told: dict[int, list[int]] = field(default_factory=dict)
    answer: list[Sampled] | None = None

    def alive(self) -> bool:
        return sum(map(len, self.told.values())) < self.patience

    def token(self, completion: int, token: int) -> None:
        assert self.answer is None
        self.told.setdefault(completion, []).append(token)

    def done(self, completions: list[Sampled]) -> None:
        assert self.answer is None
        self.answer = completions


def sample(engine: LocalEngine, groups: Sequence[GroupRequest]) -> list[list[Sampled]]:
    tickets = [Ticket(group) for group in groups]
    engine.generate(tickets)
    return [answer for ticket in tickets if (answer := ticket.answer) is not None]


def greedy_of(model: PreTrainedModel, prompt: tuple[int, ...], limit: int) -> list[int]:
    ids = torch.tensor([prompt])
    with torch.no_grad():
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=limit, do_sample=False
        )
    return out[0, len(prompt) :].tolist()


def test_greedy_in_a_mixed_batch_is_what_transformers_generates(
    tiny: Path, plain: PreTrainedModel
) -> None:
    groups = [
        GroupRequest(prompt, 1 + i % 3, 5 + 7 * (i % 4), 0.0)
        for i, prompt in enumerate(prompts([1, 3, 40, 17, 8, 100, 2, 31]))
    ]
    for capacity in (3, 64):
        answers = sample(engine_of(tiny, max_rows=capacity), groups)
        for group, completions in zip(groups, answers, strict=True):
            expected = greedy_of(plain, group.prompt_ids, group.max_new_tokens)
            assert [done.ids for done in completions] == [expected] * group.num_completions


@pytest.mark.parametrize("kind", OTHERS)
def test_other_models_too(kind: str, tiny: Path, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = OTHERS[kind]().eval()
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(tmp_path)
    slots = kind in {"qwen2", "qwen3", "mistral"}
    assert isinstance(decoder_for(model), SlotDecoder if slots else PlainDecoder)
    groups = [
        GroupRequest(p, 2, n, 0.0)
        for p, n in zip(prompts([4, 9, 1, 30]), [20, 3, 25, 9], strict=True)
    ]
    answers = sample(engine_of(tmp_path, max_rows=5), groups)
    for group, completions in zip(groups, answers, strict=True):
        expected = greedy_of(model, group.prompt_ids, group.max_new_tokens)
        assert [done.ids for done in completions] == [expected] * 2


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 1.3])
def test_logprobs_are_those_of_a_plain_forward(
    temperature: float, tiny: Path, plain: PreTrainedModel
) -> None:
    groups = [GroupRequest(prompt, 3, 20, temperature, seed=9) for prompt in prompts([2, 30, 11])]
    for group, completions in zip(groups, sample(engine_of(tiny), groups), strict=True):
        for done in completions:
            ids = torch.tensor([[*group.prompt_ids, *done.ids]])
            with torch.no_grad():
                logits = plain(ids).logits[0, len(group.prompt_ids) - 1 : -1]
            logprobs = torch.log_softmax(logits / (temperature or 1.0), -1)
            expected = logprobs.gather(1, torch.tensor(done.ids)[:, None])[:, 0]
            torch.testing.assert_close(torch.tensor(done.logprobs), expected, atol=1e-4, rtol=0.0)


def test_a_request_samples_the_same_whatever_else_is_asked(tiny: Path) -> None:
    engine = engine_of(tiny)
    groups = [GroupRequest(p, 4, 24, 1.0, seed=s) for s, p in enumerate(prompts([5, 30, 12, 64]))]
    together = [[done.ids for done in group] for group in sample(engine, groups)]
    backwards = [[done.ids for done in group] for group in sample(engine, groups[::-1])][::-1]
    alone = [[done.ids for done in sample(engine, [group])[0]] for group in groups]
    crowded = sample(engine_of(tiny, max_rows=3), groups)
    assert together == backwards == alone == [[done.ids for done in group] for group in crowded]
    assert len({tuple(ids) for group in together for ids in group}) == 16
    other = GroupRequest(groups[0].prompt_ids, 4, 24, 1.0, seed=77)
    assert [done.ids for done in sample(engine, [other])[0]] != together[0]


def test_eos_ends_a_completion_and_is_part_of_it(tiny: Path) -> None:
    engine = engine_of(tiny)
    groups = [GroupRequest(prompts([6])[0], 64, 60, 3.0, seed=s) for s in range(4)]
    completions = [done for group in sample(engine, groups) for done in group]
    ended = [done for done in completions if done.finish_reason == "stop"]
    cut = [done for done in completions if done.finish_reason == "length"]
    assert ended
    assert cut
    assert len(ended) + len(cut) == len(completions)
    assert all(done.ids.index(EOS) == len(done.ids) - 1 for done in ended)
    assert all(EOS not in done.ids and len(done.ids) == 60 for done in cut)
    assert all("<|im_end|>" not in done.text for done in ended)


def test_offsets_slice_the_text(tiny: Path) -> None:
    engine = engine_of(tiny)
    tokenizer = load_tokenizer(tiny)
    for done in sample(engine, [GroupRequest(prompts([6])[0], 16, 40, 2.0)])[0]:
        starts = [0, *done.offsets[:-1]]
        pieces = [done.text[a:b] for a, b in zip(starts, done.offsets, strict=True)]
        assert pieces == [tokenizer.decode([t], skip_special_tokens=True) for t in done.ids]
        assert len(done.ids) == len(done.logprobs) == len(done.offsets)


def test_a_stop_string_ends_a_completion(tiny: Path) -> None:
    engine = engine_of(tiny)
    free = sample(engine, [GroupRequest(prompts([6])[0], 4, 40, 1.0, seed=3)])[0]
    stop = (free[0].text[10:12], free[1].text[5:8])
    stopped = sample(engine, [GroupRequest(prompts([6])[0], 4, 40, 1.0, seed=3, stop=stop)])[0]
    for before, after in zip(free, stopped, strict=True):
        assert before.ids[: len(after.ids)] == after.ids
        if len(after.ids) < len(before.ids):
            assert after.finish_reason == "stop"
            assert after.text.endswith(stop)
        assert not any(s in after.text[:-1] for s in stop)
    assert len(stopped[0].ids) <= 12
    assert len(stopped[1].ids) <= 8


def test_top_p_draws_from_the_nucleus_and_says_its_probability(
    tiny: Path, plain: PreTrainedModel
) -> None:
    prompt = prompts([7])[0]
    engine = engine_of(tiny)
    groups = [GroupRequest(prompt, 64, 1, 2.0, top_p=0.3, seed=s) for s in range(3)]
    groups.append(GroupRequest(prompt, 64, 1, 2.0, seed=4))
    *narrow, wide = sample(engine, groups)
    with torch.no_grad():
        probs = torch.softmax(plain(torch.tensor([prompt])).logits[0, -1] / 2.0, -1)
    ranked = probs.sort(descending=True)
    size = int((ranked.values.cumsum(-1) < 0.3).sum()) + 1
    nucleus = set(ranked.indices[:size].tolist())
    mass = ranked.values[:size].sum()
    for done in (done for group in narrow for done in group):
        assert done.ids[0] in nucleus
        assert done.logprobs[0] == pytest.approx(float((probs[done.ids[0]] / mass).log()), abs=1e-4)
    assert {done.ids[0] for done in wide} - nucleus


def test_abandoned_groups_leave_the_batch(tiny: Path) -> None:
    engine = engine_of(tiny, max_rows=8)
    groups = [GroupRequest(p, 4, 30, 1.0, seed=s) for s, p in enumerate(prompts([5, 8, 3, 9]))]
    tickets = [Ticket(g, patience=k) for g, k in zip(groups, [1e9, 40, 1e9, 0], strict=True)]
    whole = sample(engine, groups)
    engine.generate(tickets)
    first, abandoned, third, never = (ticket.answer or [] for ticket in tickets)
    assert [done.ids for done in first] == [done.ids for done in whole[0]]
    assert [done.ids for done in third] == [done.ids for done in whole[2]]
    assert "abort" in {done.finish_reason for done in abandoned}
    assert all(
        done.ids == full.ids[: len(done.ids)]
        for done, full in zip(abandoned, whole[1], strict=True)
    )
    assert sum(len(done.ids) for done in abandoned) <= 44
    assert [(done.ids, done.finish_reason) for done in never] == [([], "abort")] * 4


def test_tokens_are_told_as_they_come_and_late_groups_join(tiny: Path) -> None:
    engine = engine_of(tiny)
    early = [Ticket(GroupRequest(p, 2, 6 + 20 * i, 1.0)) for i, p in enumerate(prompts([5, 8]))]
    late = [Ticket(GroupRequest(p, 3, 5, 1.0, seed=2)) for p in prompts([7, 2])]
    left = list(late)
    asked_while_decoding = []

    def more() -> list[Ticket]:
        asked_while_decoding.append(early[1].answer is None)
        taken, left[:] = left[:1], left[1:]
        return taken

    engine.generate(early, more)
    assert asked_while_decoding[0]
    for ticket in [*early, *late]:
        answer = ticket.answer or []
        assert ticket.told == {i: done.ids for i, done in enumerate(answer)}
        alone = sample(engine, [ticket.request])[0]
        assert [done.ids for done in answer] == [done.ids for done in alone]


def test_versions_replace_each_other_and_a_bad_one_changes_nothing(
    tiny: Path, tmp_path: Path
) -> None:
    engine = engine_of(tiny)
    group = GroupRequest(prompts([9])[0], 1, 12, 0.0)
    first = sample(engine, [group])[0][0].ids
    model = load_model(tiny, torch.float32)
    same = describe(0, dict(model.named_parameters())).fingerprint
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5).add_(0.01)
    folder = tmp_path / "1"
    fingerprint = write_version(folder, 1, dict(model.named_parameters()), tiny)
    assert engine.load_model(tiny) == same != fingerprint
    for version, announced in [(2, None), (1, "f" * 64)]:
        with pytest.raises(WeightsError):
            engine.load_version(folder, version, announced)
    assert sample(engine, [group])[0][0].ids == first
    assert engine.load_version(folder, 1, fingerprint) == fingerprint
    expected = greedy_of(model, group.prompt_ids, 12)
    assert sample(engine, [group])[0][0].ids == expected != first
    wrong = write_version(tmp_path / "2", 2, {"a": torch.zeros(2)}, tiny)
    with pytest.raises(WeightsError, match="does not hold the tensors"):
        engine.load_version(tmp_path / "2", 2, wrong)
    assert sample(engine, [group])[0][0].ids == expected


def test_bfloat16_serves_the_same_model(tiny: Path) -> None:
    engine = LocalEngine(compute_dtype="bfloat16")
    engine.load_model(tiny)
    exact = engine_of(tiny)
    group = GroupRequest(prompts([9])[0], 8, 12, 1.0)
    half, full = sample(engine, [group])[0], sample(exact, [group])[0]
    firsts = [
        (a.logprobs[0], b.logprobs[0])
        for a, b in zip(half, full, strict=True)
        if a.ids[0] == b.ids[0]
    ]
    assert len(firsts) >= 6
    assert all(a == pytest.approx(b, abs=0.1) for a, b in firsts)


def test_a_diverged_policy_is_an_error_not_noise(tiny: Path) -> None:
    engine = engine_of(tiny)
    assert engine.model is not None
    next(engine.model.parameters()).data.fill_(float("nan"))
    with pytest.raises(EngineError, match="not finite"):
        sample(engine, [GroupRequest((5, 6), 2, 4, 1.0)])


def test_prompts_that_cannot_be_completed_are_said(tiny: Path) -> None:
    with pytest.raises(EngineError, match="no policy"):
        LocalEngine().check((1,), 1)
    engine = engine_of(tiny)
    assert engine.check((5, 6), 4) is None
    assert "empty" in (engine.check((), 4) or "")
    assert "between 0 and 98" in (engine.check((99,), 4) or "")
    assert "between 0 and 98" in (engine.check((-1,), 4) or "")
    assert "context is 2048" in (engine.check((5,) * 2000, 49) or "")
