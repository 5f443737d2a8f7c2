"""A version is whole or refused: damaged, half-written and mislabelled folders never load."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from cohort.models import load_model, resolve_model
from cohort.weights import (
    WeightsError,
    describe,
    load_state,
    load_verified,
    read_manifest,
    verify,
    write_version,
)


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resolve_model("bundled:tiny-random", tmp_path_factory.mktemp("state"))


def state_of(seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "a": torch.randn(3, 4, generator=generator),
        "b": torch.randn(5, generator=generator).to(torch.bfloat16),
        "empty": torch.zeros(0, 2),
        "scalar": torch.tensor(1.5),
    }


def test_what_is_written_is_read(tmp_path: Path, model_dir: Path) -> None:
    state = state_of()
    fingerprint = write_version(tmp_path / "3", 3, state, model_dir)
    manifest, loaded = load_verified(tmp_path / "3")
    assert (manifest.version, manifest.fingerprint) == (3, fingerprint)
    assert manifest == verify(tmp_path / "3") == describe(3, state)
    assert manifest.tensors["b"].dtype == "bfloat16"
    assert loaded.keys() == state.keys()
    assert all(
        torch.equal(loaded[n], state[n]) and loaded[n].dtype == t.dtype for n, t in state.items()
    )
    assert [path.name for path in tmp_path.iterdir()] == ["3"]


def test_a_real_model_is_a_plain_folder_with_tied_tensors_once(
    tmp_path: Path, model_dir: Path
) -> None:
    model = load_model(model_dir, torch.float32)
    write_version(tmp_path / "0", 0, model.state_dict(), model_dir)
    assert "lm_head.weight" not in load_state(tmp_path / "0")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "0")
    ids = torch.tensor([[5, 6, 7]])
    assert torch.equal(again(ids).logits, model(ids).logits)
    assert (tmp_path / "0" / "tokenizer.json").exists()


def test_the_fingerprint_ignores_the_number_and_sees_everything_else() -> None:
    state = state_of()
    one = describe(1, state).fingerprint
    assert describe(2, state).fingerprint == one
    flipped = {**state, "scalar": torch.tensor(1.5000001)}
    renamed = {("c" if n == "a" else n): t for n, t in state.items()}
    reshaped = {**state, "a": state["a"].reshape(4, 3)}
    retyped = {**state, "b": state["b"].view(torch.float16)}
    others = {describe(1, s).fingerprint for s in (flipped, renamed, reshaped, retyped)}
    assert len(others | {one}) == 5


def test_the_same_contents_are_reused_and_others_replace(tmp_path: Path, model_dir: Path) -> None:
    folder = tmp_path / "1"
    first = write_version(folder, 1, state_of(), model_dir)
    inode = folder.stat().st_ino
    assert write_version(folder, 1, state_of(), model_dir) == first
    assert folder.stat().st_ino == inode
    second = write_version(folder, 1, state_of(seed=1), model_dir)
    assert second != first
    assert read_manifest(folder).fingerprint == second
    assert torch.equal(load_state(folder)["a"], state_of(seed=1)["a"])
    assert [path.name for path in tmp_path.iterdir()] == ["1"]


def test_a_damaged_version_is_refused_and_written_anew(tmp_path: Path, model_dir: Path) -> None:
    folder = tmp_path / "1"
    write_version(folder, 1, state_of(), model_dir)
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(WeightsError, match="do not hash"):
        verify(folder)
    write_version(folder, 1, state_of(), model_dir)
    verify(folder)


def test_a_half_written_version_is_refused(tmp_path: Path, model_dir: Path) -> None:
    folder = tmp_path / "1"
    write_version(folder, 1, state_of(), model_dir)
    (folder / "STABLE").unlink()
    with pytest.raises(WeightsError, match="not a finished version"):
        load_verified(folder)
    write_version(folder, 1, state_of(), model_dir)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(WeightsError, match="cannot be read"):
        load_verified(folder)
    path.unlink()
    with pytest.raises(WeightsError, match="cannot be read"):
        load_verified(folder)


def test_a_manifest_that_was_changed_is_refused(tmp_path: Path, model_dir: Path) -> None:
    folder = tmp_path / "1"
    write_version(folder, 1, state_of(), model_dir)
    path = folder / "manifest.json"
    data = json.loads(path.read_text())
    data["tensors"]["a"]["shape"] = [4, 3]
    path.write_text(json.dumps(data))
    with pytest.raises(WeightsError, match="fingerprint does not match"):
        read_manifest(folder)
    path.write_text("{")
    with pytest.raises(WeightsError, match="is not a manifest"):
        read_manifest(folder)


def test_tensors_of_another_version_are_refused(tmp_path: Path, model_dir: Path) -> None:
    write_version(tmp_path / "1", 1, state_of(), model_dir)
    write_version(tmp_path / "2", 2, {"a": torch.zeros(2)}, model_dir)
    (tmp_path / "2" / "model.safetensors").replace(tmp_path / "1" / "model.safetensors")
    with pytest.raises(WeightsError, match="do not list the same tensors"):
        load_verified(tmp_path / "1")


def test_a_failed_write_keeps_what_was_there(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "1"
    before = write_version(folder, 1, state_of(), model_dir)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cohort.weights.save_file", full)
    with pytest.raises(OSError, match="No space left"):
        write_version(folder, 1, state_of(seed=1), model_dir)
    assert verify(folder).fingerprint == before
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
