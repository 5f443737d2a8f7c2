"""What leaves the policy: the full state that is published, and the tensors of a commit."""

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from cohort.config import RunConfig
from cohort.contracts.queue import GroupMessage
from services.trainer.learner.checkpoints import CheckpointError
from services.trainer.learner.policy import Policy

SaveModel = Callable[..., Path]
NewPolicy = Callable[..., Policy]


@pytest.fixture
def new_policy(
    save_model: SaveModel, make_config: Callable[..., RunConfig], tmp_path: Path
) -> NewPolicy:
    """Of a model with these changes; arguments add to the config."""

    def new(changes: dict[str, Any] | None = None, **parts: object) -> Policy:
        folder = save_model(tmp_path / "model", **changes or {})
        return Policy(make_config(**parts), folder, 0, 1, total_steps=9)

    return new


@pytest.fixture(scope="module")
def groups(make_group: Callable[..., GroupMessage]) -> list[GroupMessage]:
    return [make_group(1, [0, 1, 1]), make_group(2, [0.5, 0, None, 1])]


def states_equal(one: Policy, other: Policy) -> bool:
    ours, theirs = one.full_state(), other.full_state()
    return ours.keys() == theirs.keys() and all(
        torch.equal(ours[name], theirs[name]) for name in ours
    )


@pytest.mark.parametrize("tied", [True, False])
def test_full_state_has_the_names_of_save_pretrained(
    new_policy: NewPolicy, tmp_path: Path, tied: bool
) -> None:
    state = new_policy({"tie_word_embeddings": tied}).full_state()
    with safe_open(tmp_path / "model" / "model.safetensors", framework="pt") as file:
        assert set(state) == set(file.keys())
        for name, tensor in state.items():
            assert tensor.dtype == torch.float32
            assert torch.equal(tensor, file.get_tensor(name))


def test_full_state_is_a_copy(new_policy: NewPolicy, groups: list[GroupMessage]) -> None:
    policy = new_policy()
    state = policy.full_state()
    kept = {name: tensor.clone() for name, tensor in state.items()}
    policy.update(groups)
    assert all(torch.equal(state[name], kept[name]) for name in kept)


@pytest.mark.parametrize("updates_before", [0, 2])
def test_a_loaded_policy_continues_bit_for_bit(
    new_policy: NewPolicy, groups: list[GroupMessage], tmp_path: Path, updates_before: int
) -> None:
    parts: dict[str, Any] = {"optimizer": {"warmup_steps": 4, "schedule": "linear"}}
    policy = new_policy(**parts)
    for _ in range(updates_before):
        policy.update(groups)
    policy.save(tmp_path / "commit")
    random_after = torch.rand(3)
    expected = [policy.update(groups) for _ in range(2)]
    resumed = new_policy(**parts)
    resumed.load(tmp_path / "commit")
    assert torch.equal(torch.rand(3), random_after)
    assert [resumed.update(groups) for _ in range(2)] == expected
    assert states_equal(policy, resumed)


def test_a_checkpoint_holds_safetensors_only(new_policy: NewPolicy, tmp_path: Path) -> None:
    new_policy().save(tmp_path / "commit")
    assert {path.suffix for path in (tmp_path / "commit").rglob("*")} == {".safetensors"}


def test_a_disk_that_refuses_is_an_os_error_and_loses_nothing(
    new_policy: NewPolicy, tmp_path: Path
) -> None:
    policy = new_policy()
    before = policy.full_state()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            policy.save(tmp_path / "small")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    policy.save(tmp_path / "large")
    policy.load(tmp_path / "large")
    assert all(torch.equal(before[name], after) for name, after in policy.full_state().items())


def test_a_checkpoint_that_does_not_fit_says_so(new_policy: NewPolicy, tmp_path: Path) -> None:
    new_policy({"hidden_size": 32}).save(tmp_path / "commit")
    policy = new_policy()
    with pytest.raises(CheckpointError, match=r"another model: model\..* has shape"):
        policy.load(tmp_path / "commit")
    with pytest.raises(CheckpointError, match="lacks it"):
        policy.load(tmp_path)
    (file,) = (tmp_path / "commit").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="cannot be read"):
        policy.load(tmp_path / "commit")
