"""From a name to a folder that transformers can load, and from the folder to a model.

A model is `bundled:smollm2-135m-instruct` (no hub needed), `bundled:tiny-random` (for tests), a
Hugging Face name or a folder. Bundled models are made once and kept under `<state>/models/`; only
safetensors are ever read, and no code from a model folder is run. torch is imported when a model is
made or loaded, not before, so that light services can resolve names.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cohort.bundled import MAKERS, ModelError, no_progress_bars
from cohort.run_folder import sync_folder

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["BUNDLED", "ModelError", "load_model", "load_tokenizer", "resolve_model"]

BUNDLED = "bundled:"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_HUB_FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")


def resolve_model(path: str, state_dir: Path) -> Path:
    """The folder of a model: with config.json, tokenizer files and safetensors.

    Makes a bundled model or downloads a Hugging Face one when it is not there yet. Raises
    `ModelError`.
    """
    if path.startswith(BUNDLED):
        return _bundled(path.removeprefix(BUNDLED), state_dir)
    try:
        folder = Path(path).expanduser()
        there = folder.exists()
    except (OSError, RuntimeError) as error:  # a name too long, `~` of nobody
        why = getattr(error, "strerror", None) or error
        raise ModelError(f"model path {path[:80]} cannot be looked at: {why}") from None
    if there:
        return _checked(folder)
    if path.startswith(("/", ".", "~")) or not _HUB_NAME.fullmatch(path):
        raise ModelError(f"model path {path} does not exist")
    return _from_hub(path)


def load_model(folder: Path, dtype: torch.dtype) -> PreTrainedModel:
    """The causal language model of a folder, on the CPU, in eval mode. Raises `ModelError`."""
    from transformers import AutoModelForCausalLM

    no_progress_bars()
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, local_files_only=True
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(f"model {folder} does not load: {_first_line(error)}") from None
    loaded: PreTrainedModel = model.eval()
    return loaded


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a folder; it must know an end-of-sequence token. Raises `ModelError`."""
    from transformers import AutoTokenizer

    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            folder, local_files_only=True
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"the tokenizer of {folder} does not load: {_first_line(error)}") from None
    if tokenizer.eos_token_id is None:
        raise ModelError(f"the tokenizer of {folder} has no end-of-sequence token")
    return tokenizer


def _checked(folder: Path) -> Path:
    if not folder.is_dir():
        raise ModelError(f"model path {folder} is a file, not a model folder")
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"model folder {folder} has no config.json: it is not a Hugging Face model"
        )
    if not any(folder.glob("*.safetensors")):
        raise ModelError(f"model folder {folder} has no safetensors file; other kinds are not read")
    return folder


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return _checked(Path(snapshot_download(name, allow_patterns=list(_HUB_FILES))))
    except LocalEntryNotFoundError:
        why = "the Hugging Face hub cannot be reached and no copy is cached"
    except HfHubHTTPError as error:
        why = f"the Hugging Face hub answers: {_first_line(error)}"
    except (OSError, ValueError) as error:
        why = _first_line(error)
    raise ModelError(
        f"model {name} is neither a folder here nor a model that can be downloaded ({why})"
    )


def _bundled(name: str, state_dir: Path) -> Path:
    if name not in MAKERS:
        raise ModelError(f"there is no bundled model {name}: choose {' or '.join(sorted(MAKERS))}")
    folder = state_dir / "models" / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_name(f".{name}.lock")):
            _make_once(name, folder)
    return _checked(folder)


def _make_once(name: str, folder: Path) -> None:
    if folder.exists():
        return
    aside = folder.with_name(f".{name}.{os.getpid()}.new")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        MAKERS[name](aside)
        aside.rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; the kernel drops the lock of a process that dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
