"""The shared-prefix forward gives the log-probs and gradients of the plain one, and of the book."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedModel,
    Qwen2Config,
)

from cohort.contracts.queue import GroupCompletion
from cohort.models import ModelError
from cohort.rollouts.packing import Batch, Rollouts, collate, empty_batch
from services.trainer.learner import attention, forward
from services.trainer.learner.attention import use_products
from services.trainer.learner.forward import LogProbs, can_share_prefix

SMALL = {
    "vocab_size": 50, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.5,
}  # fmt: skip
FILE = Path(__file__).parents[3] / "shared/reference/oracles.json"


def small_model(config_class: type = LlamaConfig, **changes: object) -> PreTrainedModel:
    torch.manual_seed(0)
    config = config_class(**SMALL | changes)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config).eval()
    return model


def ragged_batch() -> Batch:
    """Prompts of 1, 5 and 3 tokens; 2, 3 and 1 completions of 0 to 4 tokens, some not trained."""
    draw = torch.Generator().manual_seed(1)

    def ids(length: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 50, (length,), generator=draw).tolist())

    def completion(prompt: tuple[int, ...], mask: tuple[int, ...]) -> GroupCompletion:
        return GroupCompletion(
            prompt_ids=prompt, ids=ids(len(mask)), logprobs=(0.0,) * len(mask), loss_mask=mask,
            offsets=(0,) * len(mask), version_spans=(), finish_reason="stop", text="",
        )  # fmt: skip

    shapes = [(1, [(1, 1), (1,)]), (5, [(1, 0, 1, 1), (), (1, 1, 1)]), (3, [(0, 1)])]
    pack = []
    for length, masks in shapes:
        prompt = ids(length)
        rows = tuple(completion(prompt, mask) for mask in masks)
        pack.append(Rollouts(prompt, rows, (1.0,) * len(rows)))
    return collate(pack)


def by_the_book(model: PreTrainedModel, batch: Batch, temperature: float) -> tuple[Tensor, Tensor]:
    """One sequence at a time, nothing padded, nothing shared, nothing fused."""
    logprobs_RC = torch.zeros_like(batch.sampled_logprobs_RC)
    entropies_RC = torch.zeros_like(logprobs_RC)
    for row, prompt in enumerate(batch.prompt_of_R.tolist()):
        prompt_ids = batch.prompt_ids_NP[prompt][batch.prompt_mask_NP[prompt]]
        ids = batch.ids_RC[row][batch.mask_RC[row]]
        logits_TV = model(torch.cat([prompt_ids, ids])[None]).logits[0] / temperature
        table_TV = logits_TV.log_softmax(-1)[len(prompt_ids) - 1 : -1]
        for place in range(len(ids)):
            if batch.loss_mask_RC[row, place]:
                logprobs_RC[row, place] = table_TV[place, ids[place]]
                entropies_RC[row, place] = -(table_TV[place].exp() * table_TV[place]).sum()
    return logprobs_RC, entropies_RC


def gradients(model: PreTrainedModel, logprobs_RC: Tensor) -> dict[str, Tensor]:
    """Of a sum in which every token weighs differently."""
    weights = torch.arange(1.0, logprobs_RC.numel() + 1).reshape(logprobs_RC.shape)
    names = [name for name, _ in model.named_parameters()]
    grads = torch.autograd.grad((weights * logprobs_RC).sum(), list(model.parameters()))
    return dict(zip(names, grads, strict=True))


@pytest.mark.parametrize("products", [True, False])
@pytest.mark.parametrize("shared_prefix", [True, False])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("config_class", [LlamaConfig, Qwen2Config])
def test_logprobs_entropies_and_gradients(
    config_class: type, tied: bool, shared_prefix: bool, products: bool
) -> None:
    model = small_model(config_class, tie_word_embeddings=tied)
    batch = ragged_batch()
    expected_RC, expected_entropies_RC = by_the_book(model, batch, 0.7)
    if products:
        use_products(model)
    module = LogProbs(model, 0.7, torch.float32, shared_prefix=shared_prefix)
    assert module.shared_prefix is shared_prefix
    logprobs_RC, entropies_RC = module(batch)
    torch.testing.assert_close(logprobs_RC, expected_RC, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(entropies_RC, expected_entropies_RC, rtol=1e-4, atol=1e-5)
    found, expected = gradients(model, logprobs_RC), gradients(model, expected_RC)
    for name, grad in expected.items():
        scale = grad.abs().max().item()
        torch.testing.assert_close(found[name], grad, rtol=1e-3, atol=1e-5 * scale)


def test_chunks_do_not_change_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = small_model(), ragged_batch()
    module = LogProbs(model, 1.3, torch.float32)
    whole_RC, _ = module(batch)
    whole = gradients(model, whole_RC)
    monkeypatch.setattr(forward, "_CHUNK", 2)
    parts_RC, _ = module(batch)
    torch.testing.assert_close(parts_RC, whole_RC)
    for name, grad in gradients(model, parts_RC).items():
        torch.testing.assert_close(grad, whole[name], rtol=1e-4, atol=1e-5)


def test_long_rows_go_to_the_fused_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = small_model(), ragged_batch()
    use_products(model)
    expected_RC, _ = LogProbs(model, 1.0, torch.float32)(batch)
    calls = []

    def fused(*args: object, **kwargs: object) -> tuple[Tensor, None]:
        calls.append(args)
        return real(*args, **kwargs)

    real = attention.sdpa_attention_forward
    monkeypatch.setattr(attention, "sdpa_attention_forward", fused)
    monkeypatch.setattr(attention, "_MAX_SCORES", 0)
    found_RC, _ = LogProbs(model, 1.0, torch.float32)(batch)
    assert len(calls) == 4
    torch.testing.assert_close(found_RC, expected_RC, rtol=1e-4, atol=1e-5)


def test_bfloat16_computes_close_to_float32_and_says_float32() -> None:
    model, batch = small_model(), ragged_batch()
    exact_RC, _ = LogProbs(model, 1.0, torch.float32)(batch)
    close_RC, entropies_RC = LogProbs(model, 1.0, torch.bfloat16)(batch)
    assert close_RC.dtype == entropies_RC.dtype == torch.float32
    assert not torch.equal(close_RC, exact_RC)
    torch.testing.assert_close(close_RC, exact_RC, rtol=0.05, atol=0.15)


def test_an_empty_batch_has_zero_gradients_everywhere() -> None:
    """A rank without work must take part in every collective of the backward."""
    model = small_model(tie_word_embeddings=False)
    logprobs_RC, _ = LogProbs(model, 1.0, torch.float32)(empty_batch())
    assert all(not grad.any() for grad in gradients(model, logprobs_RC).values())


@pytest.mark.parametrize("products", [True, False])
def test_models_with_sliding_windows_take_the_plain_way(products: bool) -> None:
    sliding = small_model(MistralConfig, sliding_window=3)
    batch = ragged_batch()
    expected_RC, _ = by_the_book(sliding, batch, 1.0)
    assert not can_share_prefix(sliding)
    if products:
        use_products(sliding)
    logprobs_RC, _ = LogProbs(sliding, 1.0, torch.float32)(batch)
    torch.testing.assert_close(logprobs_RC, expected_RC, rtol=1e-4, atol=1e-5)


def test_a_head_that_does_more_than_multiply_is_refused() -> None:
    model = small_model(Gemma2Config, head_dim=4)
    with pytest.raises(ModelError, match=r"gemma2 model with final_logit_softcapping"):
        LogProbs(model, 1.0, torch.float32)


@pytest.mark.skipif(not FILE.exists(), reason=f"no oracle file at {FILE}")
def test_the_head_agrees_with_the_oracle() -> None:
    cases = {case["name"]: case for case in json.loads(FILE.read_text())["cases"]}
    case = cases["chunked_lm_head_logprob"]
    inputs, expected = case["inputs"], case["expected"]
    hidden = torch.tensor(inputs["hidden"], requires_grad=True)
    weight = torch.tensor(inputs["weight"], requires_grad=True)
    logprobs, entropies = forward._Head.apply(
        hidden, weight, torch.tensor(inputs["labels"]), case["params"]["temperature"]
    )
    logprobs.backward(torch.tensor(inputs["grad_logp"]))
    for found, name in (
        (logprobs.detach(), "logp"),
        (entropies, "entropy"),
        (hidden.grad, "grad_hidden"),
        (weight.grad, "grad_weight"),
    ):
        torch.testing.assert_close(found, torch.tensor(expected[name]), rtol=1e-5, atol=1e-5)
