"""The torch engine: holds the model and its tokenizer, replaces weights, decodes in batches."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import torch
from transformers import PreTrainedModel

from cohort.models import load_model
from cohort.weights import State, WeightsError, describe, load_verified
from services.generator.engines.base import EngineError, Ticket
from services.generator.engines.batch import Batch
from services.generator.engines.decoders import decoder_for
from services.generator.engines.tokens import Tokens

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class LocalEngine:
    """Serves one causal language model with torch, on the CPU."""

    name = "local"

    def __init__(
        self,
        *,
        max_rows: int = 64,
        max_cache_tokens: int = 131072,
        compute_dtype: Literal["float32", "bfloat16"] = "bfloat16",
    ) -> None:
        self.capacity, self.max_cache_tokens = max_rows, max_cache_tokens
        self.dtype = _DTYPES[compute_dtype]
        self.model: PreTrainedModel | None = None
        self.tokens: Tokens | None = None
        self.files: bytes = b""

    def load_version(self, folder: Path, version: int, fingerprint: str | None) -> str:
        """See `Engine`. The model is built anew only when config or tokenizer are others."""
        manifest, state = load_verified(folder)
        if manifest.version != version:
            raise WeightsError(f"{folder} holds version {manifest.version}, not {version}")
        if fingerprint not in (None, manifest.fingerprint):
            raise WeightsError(f"{folder} does not have the fingerprint that was announced")
        if self.model is not None and self.files == _describing_files(folder):
            _copy_into(self.model, state, folder)
        else:
            self._build(folder)
        return manifest.fingerprint

    def load_model(self, folder: Path) -> str:
        """See `Engine`."""
        fingerprint = describe(0, dict(load_model(folder, torch.float32).named_parameters()))
        self._build(folder)
        return fingerprint.fingerprint

    def _build(self, folder: Path) -> None:
        model = load_model(folder, self.dtype).requires_grad_(False)
        generation = model.generation_config
        tokens = Tokens.of(folder, None if generation is None else generation.eos_token_id)
        self.model, self.tokens, self.files = model, tokens, _describing_files(folder)

    def generate(
        self, tickets: Sequence[Ticket], more: Callable[[], Sequence[Ticket]] = tuple
    ) -> None:
        """See `Engine`."""
        model, tokens = self._loaded()
        batch = Batch(
            decoder_for(model),
            tokens,
            capacity=self.capacity,
            max_cache_tokens=self.max_cache_tokens,
        )
        with torch.inference_mode():
            batch.run(tickets, more)

    def render(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """See `Engine`."""
        return self._loaded()[1].render(messages)

    def encode(self, text: str, special: bool) -> list[int]:
        """See `Engine`."""
        return self._loaded()[1].encode(text, special)

    def decode(self, ids: Sequence[int]) -> str:
        """See `Engine`."""
        return self._loaded()[1].decode(ids)

    def check(self, prompt_ids: Sequence[int], max_new_tokens: int) -> str | None:
        """See `Engine`."""
        model, _ = self._loaded()
        longest = getattr(model.config, "max_position_embeddings", None)
        if not prompt_ids:
            return "the prompt is empty: send at least one token"
        if not 0 <= min(prompt_ids) <= max(prompt_ids) < model.config.vocab_size:
            return f"prompt_ids must be between 0 and {model.config.vocab_size - 1}"
        if longest is not None and len(prompt_ids) + max_new_tokens > longest:
            return (
                f"the prompt has {len(prompt_ids)} tokens and asks for {max_new_tokens} more,"
                f" but the model's context is {longest}"
            )
        return None

    def _loaded(self) -> tuple[PreTrainedModel, Tokens]:
        if self.model is None or self.tokens is None:
            raise EngineError("no policy is loaded")
        return self.model, self.tokens


def _describing_files(folder: Path) -> bytes:
    """Everything but the weights that decides what the model is."""
    names = ("config.json", "generation_config.json", "tokenizer.json", "chat_template.jinja")
    paths = [folder / name for name in names]
    return b"\0".join(path.read_bytes() if path.is_file() else b"" for path in paths)


def _copy_into(model: PreTrainedModel, state: State, folder: Path) -> None:
    """Replace the parameters in place; checked as a whole before the first is touched."""
    parameters = dict(model.named_parameters())
    if {n: t.shape for n, t in state.items()} != {n: p.shape for n, p in parameters.items()}:
        raise WeightsError(f"{folder} does not hold the tensors that its config describes")
    with torch.no_grad():
        for name, tensor in state.items():
            parameters[name].copy_(tensor)
