"""The torch engine: groups that wait together are decoded together, each prompt prefilled once.

Groups are admitted in order while rows are free; finished rows leave at once and make room. A group
larger than the batch is decoded in parts.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from cohort.models import load_model
from cohort.weights import State, WeightsError, describe, load_verified
from services.generator.engines.base import (
    Alive,
    EngineError,
    GroupRequest,
    OnToken,
    Sampled,
)
from services.generator.engines.decoders import Decoder, decoder_for
from services.generator.engines.sampling import draw, row_key, uniforms
from services.generator.engines.tokens import Tokens

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_PREFILL_TOKENS = 8192
"""Of one forward pass, padding included."""


@dataclass(slots=True)
class _Row:
    """A completion in the making."""

    group: int
    completion: int
    request: GroupRequest
    key: int
    sampled: Sampled = field(default_factory=Sampled)
    done: bool = False


@dataclass(slots=True)
class _Part:
    """Completions `first` to `last` (exclusive) of a group, admitted together."""

    group: int
    request: GroupRequest
    first: int
    last: int

    def rows(self) -> list[_Row]:
        seed = self.request.seed
        return [
            _Row(self.group, i, self.request, row_key(seed, i))
            for i in range(self.first, self.last)
        ]


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
        self, groups: Sequence[GroupRequest], alive: Alive, on_token: OnToken | None = None
    ) -> list[list[Sampled]]:
        """See `Engine`."""
        model, _ = self._loaded()
        finished: list[dict[int, Sampled]] = [{} for _ in groups]
        waiting = deque(part for i, group in enumerate(groups) for part in self._parts(i, group))
        rows: list[_Row] = []
        decoder = decoder_for(model)
        with torch.inference_mode():
            while waiting or rows:
                admitted = self._admit(waiting, rows, decoder, alive)
                if admitted:
                    new, logits_RV = self._prefill(decoder, admitted)
                    self._extend(new, logits_RV, on_token)
                    rows += new
                else:
                    last = [row.sampled.ids[-1] for row in rows]
                    self._extend(rows, decoder.step(last), on_token)
                rows = self._collect(rows, decoder, alive, finished)
        return [self._spelled(group, done) for group, done in zip(groups, finished, strict=True)]

    def render(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """See `Engine`."""
        return self._loaded()[1].render(messages)

    def encode(self, text: str, special: bool) -> list[int]:
        """See `Engine`."""
        return self._loaded()[1].encode(text, special)

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

    def _parts(self, index: int, group: GroupRequest) -> list[_Part]:
        size = self.capacity
        return [
            _Part(index, group, first, min(first + size, group.num_completions))
            for first in range(0, group.num_completions, size)
        ]

    def _admit(
        self, waiting: deque[_Part], rows: list[_Row], decoder: Decoder, alive: Alive
    ) -> list[_Part]:
        """Parts that fit beside the rows; a small refill waits until a quarter is free."""
        if rows and (not decoder.joins or len(rows) > self.capacity * 3 // 4):
            return []
        admitted: list[_Part] = []
        num_rows = len(rows)
        longest = max((_length(row.request) for row in rows), default=0)
        while waiting:
            part = waiting[0]
            more, reach = part.last - part.first, max(longest, _length(part.request))
            fits = num_rows + more <= self.capacity
            fits = fits and (num_rows + more) * reach <= self.max_cache_tokens
            prompts = (len(admitted) + 1) * reach <= _PREFILL_TOKENS
            if num_rows and not (fits and prompts):
                break
            waiting.popleft()
            if alive(part.group):
                admitted.append(part)
                num_rows, longest = num_rows + more, reach
        return admitted

    def _prefill(self, decoder: Decoder, parts: list[_Part]) -> tuple[list[_Row], Tensor]:
        prompts = [part.request.prompt_ids for part in parts]
        logits_RV = decoder.prefill(prompts, [part.last - part.first for part in parts])
        return [row for part in parts for row in part.rows()], logits_RV

    def _extend(self, rows: list[_Row], logits_RV: Tensor, on_token: OnToken | None) -> None:
        """Draw the next token of each row and see whether it was the last."""
        positions = [len(row.sampled.ids) for row in rows]
        noise = uniforms([row.key for row in rows], positions)
        ids_R, logprobs_R = draw(
            logits_RV,
            torch.tensor([row.request.temperature for row in rows]),
            torch.tensor([row.request.top_p for row in rows]),
            torch.from_numpy(noise),
        )
        if not bool(torch.isfinite(logprobs_R).all()):
            raise EngineError("the policy's logits are not finite: its weights have diverged")
        for row, token, logprob in zip(rows, ids_R.tolist(), logprobs_R.tolist(), strict=True):
            row.sampled.ids.append(token)
            row.sampled.logprobs.append(logprob)
            self._finish(row, token)
            if on_token is not None:
                on_token(row.group, row.completion, token)

    def _finish(self, row: _Row, token: int) -> None:
        _, tokens = self._loaded()
        if token in tokens.eos_ids or self._stopped(row, tokens):
            row.sampled.finish_reason, row.done = "stop", True
        elif len(row.sampled.ids) >= row.request.max_new_tokens:
            row.sampled.finish_reason, row.done = "length", True

    def _stopped(self, row: _Row, tokens: Tokens) -> bool:
        """Whether the newest token completes a stop string (a character is four bytes at most)."""
        if not row.request.stop:
            return False
        window = 4 * max(map(len, row.request.stop)) + 4
        text = tokens.decode(row.sampled.ids[-window:])
        return any(stop in text for stop in row.request.stop)

    def _collect(
        self,
        rows: list[_Row],
        decoder: Decoder,
        alive: Alive,
        finished: list[dict[int, Sampled]],
    ) -> list[_Row]:
        """Take finished and abandoned rows out; the last rows move into their places."""
        wanted = {group: alive(group) for group in {row.group for row in rows}}
        for row in rows:
            if not wanted[row.group] and not row.done:
                row.sampled.finish_reason, row.done = "abort", True
        if not any(row.done for row in rows):
            return rows
        for row in rows:
            if row.done:
                finished[row.group][row.completion] = row.sampled
        num_left = sum(not row.done for row in rows)
        movers = (i for i in range(num_left, len(rows)) if not rows[i].done)
        keep = [next(movers) if rows[i].done else i for i in range(num_left)]
        decoder.keep(keep)
        return [rows[i] for i in keep]

    def _spelled(self, group: GroupRequest, done: dict[int, Sampled]) -> list[Sampled]:
        _, tokens = self._loaded()
        completions = []
        for index in range(group.num_completions):
            sampled = done.get(index, Sampled(finish_reason="abort"))
            sampled.text, sampled.offsets = tokens.spell(sampled.ids)
            completions.append(sampled)
        return completions


def _length(request: GroupRequest) -> int:
    return len(request.prompt_ids) + request.max_new_tokens


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
