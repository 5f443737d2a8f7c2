"""A published policy version: a Hugging Face folder with a manifest, renamed in, marked STABLE.

<folder>/{config.json, tokenizer files, model.safetensors, manifest.json, STABLE}

A reader trusts a folder only when STABLE is there and the contents hash to what the manifest says,
so a half-written or damaged version is refused instead of sampled from. Nothing here is pickled.
"""

import hashlib
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from cohort.run_folder import sync_folder, write_json

State = dict[str, Tensor]
WEIGHTS, MANIFEST, STABLE = "model.safetensors", "manifest.json", "STABLE"
_COMPANIONS = ("*.json", "*.jinja", "*.txt", "*.model")
_NOT_COPIED = frozenset({MANIFEST, "model.safetensors.index.json"})
_MAX_MANIFEST_BYTES = 64 * 1024 * 1024


class WeightsError(Exception):
    """A version that cannot be used; the message is one sentence that says why."""


class TensorEntry(BaseModel):
    """One tensor of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shape: tuple[int, ...]
    dtype: str
    sha256: str


class Manifest(BaseModel):
    """What a version holds. The fingerprint covers the tensors, not the version number."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    fingerprint: str
    tensors: dict[str, TensorEntry]


def write_version(folder: Path, version: int, state: State, model_dir: Path) -> str:
    """Publish `state` as `folder` and return its fingerprint (64 hex digits).

    Config and tokenizer files are copied from `model_dir`. A tensor that appears under two names
    (tied embeddings) is stored once, under the first. A stable folder with the same fingerprint is
    left as it is; any other folder of that name is replaced. Raises OSError when the disk refuses;
    what was published before is then still there.
    """
    state = _each_once(state)
    manifest = describe(version, state)
    if _holds(folder, manifest):
        return manifest.fingerprint
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir()
        _write_files(aside, state, manifest, model_dir)
        _put_in_place(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return manifest.fingerprint


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a stable version, contents unchecked. Raises `WeightsError`."""
    if not (folder / STABLE).is_file():
        raise WeightsError(f"{folder} is not a finished version: it has no {STABLE} file")
    path = folder / MANIFEST
    try:
        if path.stat().st_size > _MAX_MANIFEST_BYTES:
            raise WeightsError(f"{path} is larger than a manifest can be")
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError:
        raise WeightsError(f"{path} is not a manifest: it is damaged or of another kind") from None
    if manifest.fingerprint != fingerprint_of(manifest.tensors):
        raise WeightsError(f"{path} is damaged: its fingerprint does not match its entries")
    return manifest


def load_verified(folder: Path) -> tuple[Manifest, State]:
    """Manifest and tensors of a version, every byte checked. Raises `WeightsError`."""
    manifest = read_manifest(folder)
    path = folder / WEIGHTS
    try:
        _check_header(path, manifest)
        state = load_file(path)
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{path} cannot be read: {error}") from None
    for name, digest in _hashes(state).items():
        if digest != manifest.tensors[name].sha256:
            raise WeightsError(
                f"{path} is damaged: the contents of {name} do not hash to its entry"
            )
    return manifest, state


def verify(folder: Path) -> Manifest:
    """Read a whole version and check it against its manifest. Raises `WeightsError`."""
    return load_verified(folder)[0]


def load_state(folder: Path) -> State:
    """Tensors by name, verified. Raises `WeightsError`."""
    return load_verified(folder)[1]


def describe(version: int, state: State) -> Manifest:
    """The manifest of tensors in memory."""
    hashes = _hashes(state)
    entries = {
        name: TensorEntry(shape=tuple(t.shape), dtype=_dtype_name(t), sha256=hashes[name])
        for name, t in sorted(state.items())
    }
    return Manifest(version=version, fingerprint=fingerprint_of(entries), tensors=entries)


def fingerprint_of(entries: dict[str, TensorEntry]) -> str:
    """sha256 (hex) of names, shapes, dtypes and content hashes in a canonical form."""
    rows = [[name, list(e.shape), e.dtype, e.sha256] for name, e in sorted(entries.items())]
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()


def _each_once(state: State) -> State:
    seen: set[tuple[int, tuple[int, ...]]] = set()
    kept = {}
    for name, tensor in state.items():
        tensor = tensor.detach().to("cpu").contiguous()
        place = (tensor.data_ptr(), tuple(tensor.shape))
        if tensor.numel() == 0 or place not in seen:
            kept[name] = tensor
        seen.add(place)
    return kept


def _dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _hashes(state: State) -> dict[str, str]:
    """Content hashes; hashlib releases the GIL, so a few threads share the work."""

    def sha256(tensor: Tensor) -> str:
        flat = tensor.reshape(-1).view(torch.uint8) if tensor.numel() else tensor.new_empty(0)
        return hashlib.sha256(flat.numpy().data).hexdigest()

    with ThreadPoolExecutor(min(4, len(os.sched_getaffinity(0)))) as pool:
        return dict(zip(state, pool.map(sha256, state.values()), strict=True))


def _holds(folder: Path, manifest: Manifest) -> bool:
    """Whether the folder is an intact version with these contents and this number."""
    try:
        return read_manifest(folder) == manifest and verify(folder) == manifest
    except WeightsError:
        return False


def _write_files(aside: Path, state: State, manifest: Manifest, model_dir: Path) -> None:
    for pattern in _COMPANIONS:
        for path in sorted(model_dir.glob(pattern)):
            if path.name not in _NOT_COPIED:
                shutil.copyfile(path, aside / path.name)
    save_file(state, aside / WEIGHTS, metadata={"format": "pt"})
    (aside / WEIGHTS).chmod(0o644)
    with (aside / WEIGHTS).open("rb") as file:
        os.fsync(file.fileno())
    write_json(aside / MANIFEST, manifest.model_dump(mode="json"))


def _put_in_place(aside: Path, folder: Path) -> None:
    """Rename, then mark: a crash in between leaves a folder that readers refuse."""
    gone = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    shutil.rmtree(gone, ignore_errors=True)
    if folder.exists():
        folder.rename(gone)
    aside.rename(folder)
    sync_folder(folder.parent)
    with (folder / STABLE).open("w") as file:
        os.fsync(file.fileno())
    sync_folder(folder)
    shutil.rmtree(gone, ignore_errors=True)


def _check_header(path: Path, manifest: Manifest) -> None:
    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        if names != set(manifest.tensors):
            odd = sorted(names ^ set(manifest.tensors))[0]
            raise WeightsError(f"{path} and its manifest do not list the same tensors: {odd}")
        for name, entry in manifest.tensors.items():
            if tuple(file.get_slice(name).get_shape()) != entry.shape:
                raise WeightsError(f"{path} is damaged: {name} has another shape than its entry")
