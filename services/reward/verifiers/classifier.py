"""A Hugging Face classifier in this process: loaded at first use, asked one batch at a time.

The folder lies inside a configured root and holds safetensors; no code of it is run, nothing is
downloaded. A batch runs in a thread; rows are padded on the right and sorted by length, which
changes no score. A caller that gives up leaves a thread that ends with the batch it is at.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
from anyio import to_thread

from cohort.bundled import no_progress_bars

Kind = Literal["sequence", "token"]
LABELS: dict[Kind, int] = {"sequence": 1, "token": 2}
S = TypeVar("S")
T = TypeVar("T")
_SLICE = 64


class ClassifierError(Exception):
    """The model cannot be used: one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model, its tokenizer, and how many tokens it may read at once."""

    model: Any
    tokenizer: Any
    max_tokens: int

    @property
    def pad_id(self) -> int | None:
        """None: the model takes no padding."""
        found = self.model.config.get_text_config().pad_token_id
        return None if found is None else int(found)

    @property
    def marks(self) -> list[str]:
        """All tokens of the vocabulary that stand for structure."""
        return [str(token) for token in self.tokenizer.all_special_tokens]


class Classifier:
    """A sequence classifier with one label, or a token classifier with two."""

    def __init__(
        self,
        path: str | Path,
        root: Path,
        kind: Kind,
        *,
        max_tokens: int = 4_096,
        batch_tokens: int = 16_384,
        device: str = "auto",
        dtype: Literal["float32", "bfloat16"] = "float32",
    ) -> None:
        self.root, self.kind = root, kind
        self.max_tokens, self.batch_tokens = max_tokens, batch_tokens
        self.device, self.dtype = device, dtype
        self.folder = (root / path).resolve()
        self._turn = anyio.Lock()
        self._busy = threading.Lock()
        self._loaded: Loaded | ClassifierError | None = None
        self.fingerprint: str | None = None
        """Of the files that were loaded; None before."""

    def problem(self) -> str | None:
        """What keeps it from working, as far as can be seen without loading it."""
        if isinstance(self._loaded, ClassifierError):
            return str(self._loaded)
        if not self.folder.is_relative_to(self.root.resolve()):
            return f"the model folder {self.folder.name} is not inside {self.root}"
        if not (self.folder / "config.json").is_file() or not self._weights():
            return f"{self.folder} has no config.json and *.safetensors: put the model there"
        if (self.folder / "adapter_config.json").exists():
            return f"{self.folder} is an adapter: merge it into its model first"
        return None

    async def call(self, work: Callable[[Loaded], T]) -> T:
        """The result of `work` in a thread, when it is its turn. Raises `ClassifierError`."""
        given_up = threading.Event()
        async with self._turn:
            try:
                return await to_thread.run_sync(
                    self._guarded, work, given_up, abandon_on_cancel=True
                )
            except anyio.get_cancelled_exc_class():
                given_up.set()
                raise

    async def each(self, items: Sequence[S], work: Callable[[Loaded, S], T]) -> list[T]:
        """The same for many items, a slice at a time, so that others get their turn."""

        def some(loaded: Loaded, start: int) -> list[T]:
            return [work(loaded, item) for item in items[start : start + _SLICE]]

        found: list[T] = []
        for start in range(0, len(items), _SLICE):
            found += await self.call(partial(some, start=start))
        return found

    async def logits(
        self, rows: Sequence[Sequence[int]]
    ) -> AsyncIterator[tuple[list[int], list[Any]]]:
        """Places of rows and their logits, batch by batch: `[labels]`, or `[tokens, labels]`.

        A row of token ids is at least 1 and at most `max_tokens` long.
        """
        loaded = await self.call(lambda loaded: loaded)
        for places in batches([len(row) for row in rows], self.batch_tokens, loaded.pad_id):
            batch = [rows[place] for place in places]
            yield places, await self.call(partial(_forward, rows=batch))

    def _guarded(self, work: Callable[[Loaded], T], given_up: threading.Event) -> T:
        with self._busy:
            if given_up.is_set():
                raise ClassifierError("given up")
            if self._loaded is None:
                if problem := self.problem():
                    raise ClassifierError(problem)
                self._loaded = self._load()
            if isinstance(self._loaded, ClassifierError):
                raise ClassifierError(str(self._loaded))
            return work(self._loaded)

    def _load(self) -> Loaded | ClassifierError:
        try:
            self.fingerprint = self._fingerprint()
            return self._from_folder()
        except ClassifierError as error:
            return error
        except Exception as error:
            why = " ".join(str(error).split())[:200]
            return ClassifierError(f"cannot load {self.folder}: {type(error).__name__}: {why}")

    def _from_folder(self) -> Loaded:
        import torch
        import transformers

        no_progress_bars()
        safe = {"local_files_only": True, "trust_remote_code": False}
        by_kind = {
            "sequence": transformers.AutoModelForSequenceClassification,
            "token": transformers.AutoModelForTokenClassification,
        }
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, **safe)
        model, info = by_kind[self.kind].from_pretrained(
            self.folder,
            use_safetensors=True,
            dtype=getattr(torch, self.dtype),
            output_loading_info=True,
            **safe,
        )
        if info["missing_keys"]:
            lacks = ", ".join(sorted(info["missing_keys"])[:3])
            raise ClassifierError(f"{self.folder} is no {self.kind} classifier: it lacks {lacks}")
        if model.config.num_labels != LABELS[self.kind]:
            raise ClassifierError(
                f"{self.folder} has {model.config.num_labels} labels: a {self.kind} classifier that"
                f" rewards has {LABELS[self.kind]}"
            )
        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        sizes = [self.max_tokens, int(min(tokenizer.model_max_length, 2**31))]
        sizes.append(getattr(model.config, "max_position_embeddings", None) or self.max_tokens)
        return Loaded(model.to(device).eval(), tokenizer, min(sizes))

    def _weights(self) -> list[Path]:
        return list(self.folder.glob("*.safetensors"))

    def _fingerprint(self) -> str:
        """Changes with the model's files: their names, sizes and times."""
        files = [*self._weights(), *self.folder.glob("*.json"), *self.folder.glob("*.jinja")]
        facts = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        return hashlib.sha256(repr(sorted(facts)).encode()).hexdigest()[:32]


def batches(lengths: Sequence[int], batch_tokens: int, pad_id: int | None) -> list[list[int]]:
    """Places in batches of similar length, at most `batch_tokens` with padding, or of one row."""
    made: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place], reverse=True):
        room = batch_tokens // max(1, lengths[made[-1][0]]) if made and pad_id is not None else 1
        if made and len(made[-1]) < room:
            made[-1].append(place)
        else:
            made.append([place])
    return made


def _forward(loaded: Loaded, rows: Sequence[Sequence[int]]) -> list[Any]:
    """The logits of each row as lists, without those of padding."""
    import torch

    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), loaded.pad_id or 0)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
    device = loaded.model.device
    with torch.inference_mode():
        logits = loaded.model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
    found: list[Any] = logits.float().cpu().tolist()
    if logits.dim() == 2:
        return found
    return [one[: len(row)] for one, row in zip(found, rows, strict=True)]
