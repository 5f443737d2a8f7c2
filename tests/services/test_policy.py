"""The model under training at one rank: what an update does, and that a commit brings it back."""

import random
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM

from cohort.config import RunConfig
from cohort.contracts.queue import GroupCompletion, GroupMessage
from cohort.contracts.reward import ScoreResult
from services.trainer.checkpoints import CheckpointError
from services.trainer.policy import Policy, TrainingDiverged, lr_factor

METRICS = {"loss", "grad_norm", "entropy", "kl", "clip_fraction", "lr", "tokens", "skipped"}


def save_model(folder: Path, **changes: object) -> Path:
    torch.manual_seed(0)
    shape: dict[str, Any] = {
        "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True,
        "initializer_range": 0.3,
    }  # fmt: skip
    LlamaForCausalLM(LlamaConfig(**shape | changes)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"))


def config(**parts: dict[str, object]) -> RunConfig:
    return RunConfig.from_dict(
        {
            "model": {"path": "tiny"},
            "task": {"name": "arithmetic"},
            "rewards": [{"verifier": "math"}],
            "steps": 4,
            "algorithm": {"group_size": 2, "kl": {"beta": 0.0}} | parts.pop("algorithm", {}),
            "learner": {"compute_dtype": "float32"} | parts.pop("learner", {}),
            "optimizer": {"lr": 1e-2} | parts.pop("optimizer", {}),
        }
        | parts
    )


def group(number: int, rewards: Sequence[float | None]) -> GroupMessage:
    """Random tokens; the same number gives the same group."""
    draw = random.Random(number)
    prompt = tuple(draw.randrange(40) for _ in range(draw.randint(1, 6)))
    completions = []
    for reward in rewards:
        length = draw.randint(1, 5)
        status = "infra_error" if reward is None else "scored"
        completions.append(
            GroupCompletion(
                prompt_ids=prompt,
                ids=tuple(draw.randrange(40) for _ in range(length)),
                logprobs=tuple(draw.uniform(-5, -2) for _ in range(length)),
                loss_mask=(1,) * length,
                offsets=(0,) * length,
                version_spans=(),
                finish_reason="stop",
                text="",
                result=ScoreResult(score=reward, status=status),
            )
        )
    return GroupMessage(
        run_id="r", group_id=str(number), step=1, purpose="train", status="ok",
        completions=tuple(completions),
    )  # fmt: skip


GROUPS = [group(1, [0, 1, 1]), group(2, [1, 1]), group(3, [0.5, 0, None, 1]), group(4, [1, 0])]


def new_policy(model_dir: Path, total_steps: int = 4, **parts: dict[str, object]) -> Policy:
    return Policy(config(**parts), model_dir, rank=0, world_size=1, total_steps=total_steps)


def states_equal(one: Policy, other: Policy) -> bool:
    ours, theirs = one.full_state(), other.full_state()
    return ours.keys() == theirs.keys() and all(
        torch.equal(ours[name], theirs[name]) for name in ours
    )


def sampled_by(policy: Policy, groups: list[GroupMessage]) -> list[GroupMessage]:
    """The same groups with the log-probs that the policy itself gives."""
    copies = []
    for item in groups:
        batch = policy._work([item]).batches[0]
        logprobs_RC, _ = policy.model(batch)
        rows = [
            c.model_copy(update={"logprobs": tuple(row[: len(c.ids)].tolist())})
            for c, row in zip(item.completions, logprobs_RC.detach(), strict=True)
        ]
        copies.append(item.model_copy(update={"completions": tuple(rows)}))
    return copies


def test_an_update_reports_and_moves_the_weights(model_dir: Path) -> None:
    policy = new_policy(model_dir)
    before = policy.full_state()
    metrics = policy.update(GROUPS)
    assert metrics.keys() >= METRICS
    assert all(isinstance(value, float) for value in metrics.values())
    assert metrics["tokens"] == sum(len(c.ids) for g in GROUPS for c in g.completions)
    assert metrics["skipped"] == 0.0
    assert metrics["lr"] == 1e-2
    assert metrics["grad_norm"] > 0.0
    after = policy.full_state()
    assert all(not torch.equal(before[name], after[name]) for name in before)


def test_updates_make_rewarded_completions_likelier(model_dir: Path) -> None:
    policy = new_policy(model_dir)
    target = [group(1, [0, 1])]

    def margin() -> float:
        logprobs_RC, _ = policy.model(policy._work(target).batches[0])
        return (logprobs_RC.sum(dim=1) * torch.tensor([-1.0, 1.0])).sum().item()

    before = margin()
    for _ in range(3):
        policy.update(target)
    assert margin() > before + 1.0


def test_the_same_groups_give_the_same_update(model_dir: Path) -> None:
    one, other = new_policy(model_dir), new_policy(model_dir)
    assert one.update(GROUPS) == other.update(GROUPS)
    assert states_equal(one, other)


@pytest.mark.parametrize("aggregate", ["sequence_mean", "token_mean"])
def test_micro_batches_do_not_change_the_step(model_dir: Path, aggregate: str) -> None:
    parts: dict[str, Any] = {"algorithm": {"aggregate": aggregate, "kl": {"beta": 0.1}}}
    whole = new_policy(model_dir, **parts)
    small = new_policy(model_dir, **parts, learner={"tokens_per_micro_batch": 1})
    assert len(whole._work(GROUPS).batches) == 1
    assert len(small._work(GROUPS).batches) == sum(len(g.completions) for g in GROUPS)
    for _ in range(2):
        # kl and entropy are means as well: compare all of it.
        assert small.update(GROUPS) == pytest.approx(whole.update(GROUPS), rel=1e-4, abs=1e-5)


def test_groups_without_signal_cost_nothing_but_count(model_dir: Path) -> None:
    policy = new_policy(model_dir)
    with_dead, alone = policy._work([GROUPS[0], GROUPS[1]]), policy._work([GROUPS[0]])
    assert with_dead.batches[0].ids_RC.equal(alone.batches[0].ids_RC)
    assert with_dead.totals.num_completions == 5
    assert alone.totals.num_completions == 3
    norms = [new_policy(model_dir).update(g)["grad_norm"] for g in (GROUPS[:2], GROUPS[:1])]
    assert norms[0] == pytest.approx(norms[1] * 3 / 5)


def test_a_step_without_signal_is_skipped(model_dir: Path) -> None:
    policy = new_policy(model_dir)
    before = policy.full_state()
    metrics = policy.update([group(2, [1, 1]), group(5, [None, None])])
    assert metrics.keys() >= METRICS
    assert (metrics["loss"], metrics["grad_norm"], metrics["skipped"]) == (0.0, 0.0, 1.0)
    assert 2.0 < metrics["entropy"] < 5.0
    assert all(torch.equal(before[name], after) for name, after in policy.full_state().items())
    assert policy.update([])["skipped"] == 1.0


def test_a_kl_term_trains_on_groups_without_spread(model_dir: Path) -> None:
    policy = new_policy(model_dir, algorithm={"kl": {"beta": 0.5}})
    first = policy.update(GROUPS)
    assert first["kl"] == 0.0
    second = policy.update([group(2, [1, 1])])
    assert second["skipped"] == 0.0
    assert second["kl"] > 0.0


def test_on_policy_the_mismatch_is_float_noise(model_dir: Path) -> None:
    policy = new_policy(model_dir)
    live = [GROUPS[0], GROUPS[3]]
    metrics = policy.update(sampled_by(policy, live))
    assert metrics["mismatch_max"] < 1e-5
    assert new_policy(model_dir).update(live)["mismatch_k3"] > 0.01


def test_the_old_policy_is_the_one_at_the_start_of_the_update(model_dir: Path) -> None:
    """Several epochs: the first step has ratio 1, later ones move away from it and clip."""
    policy = new_policy(model_dir, algorithm={"epochs": 4}, optimizer={"lr": 5e-2})
    work = policy._work(GROUPS)
    assert work.batches[0].old_logprobs_RC is not None
    torch.testing.assert_close(
        work.batches[0].old_logprobs_RC, policy.model(work.batches[0])[0].detach()
    )
    assert policy.update(GROUPS)["clip_fraction"] > 0.0
    assert new_policy(model_dir).update(GROUPS)["clip_fraction"] == 0.0


def test_with_lag_the_ratio_is_to_the_generators_logprobs(model_dir: Path) -> None:
    policy = new_policy(model_dir, rollout={"max_lag": 1})
    batch = policy._work(GROUPS).batches[0]
    assert batch.old_logprobs_RC is batch.sampled_logprobs_RC
    assert policy.update(GROUPS)["clip_fraction"] > 0.0


def test_mini_batches_are_optimizer_steps_of_their_own(model_dir: Path) -> None:
    policy = new_policy(model_dir, algorithm={"mini_batches": 2})
    policy.update(GROUPS)
    steps = {float(entry["step"]) for entry in policy.optimizer.state.values()}
    assert steps == {2.0}
    # Both mini-batches were compared with the weights before the first of them.
    single = new_policy(model_dir)
    single.update([GROUPS[0], GROUPS[2]])
    single.update([GROUPS[1], GROUPS[3]])
    ours, theirs = policy.full_state(), single.full_state()
    assert any(not torch.equal(ours[name], theirs[name]) for name in ours)


def test_what_is_not_finite_stops_before_the_weights_are_touched(model_dir: Path) -> None:
    policy = new_policy(model_dir, rollout={"max_lag": 1})
    before = policy.full_state()
    healthy = group(1, [0, 1])
    broken = healthy.completions[0].model_copy(
        update={"logprobs": (float("nan"),) * len(healthy.completions[0].ids)}
    )
    sick = healthy.model_copy(update={"completions": (broken, healthy.completions[1])})
    with pytest.raises(TrainingDiverged, match=r"update 1: loss is nan .*weights were left"):
        policy.update([sick])
    assert all(torch.equal(before[name], after) for name, after in policy.full_state().items())
    assert policy.update(GROUPS)["skipped"] == 0.0


@pytest.mark.parametrize("tied", [True, False])
def test_full_state_has_the_names_of_save_pretrained(tmp_path: Path, tied: bool) -> None:
    folder = save_model(tmp_path, tie_word_embeddings=tied)
    state = new_policy(folder).full_state()
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        assert set(state) == set(file.keys())
        for name, tensor in state.items():
            assert tensor.dtype == torch.float32
            assert torch.equal(tensor, file.get_tensor(name))


def test_full_state_is_a_copy(model_dir: Path) -> None:
    policy = new_policy(model_dir)
    state = policy.full_state()
    kept = {name: tensor.clone() for name, tensor in state.items()}
    policy.update(GROUPS)
    assert all(torch.equal(state[name], kept[name]) for name in kept)


@pytest.mark.parametrize("updates_before", [0, 2])
def test_a_loaded_policy_continues_bit_for_bit(
    model_dir: Path, tmp_path: Path, updates_before: int
) -> None:
    parts: dict[str, Any] = {"optimizer": {"warmup_steps": 4, "schedule": "linear"}}
    policy = new_policy(model_dir, total_steps=9, **parts)
    for _ in range(updates_before):
        policy.update(GROUPS)
    policy.save(tmp_path)
    random_after = torch.rand(3)
    expected = [policy.update(GROUPS) for _ in range(2)]
    resumed = new_policy(model_dir, total_steps=9, **parts)
    resumed.load(tmp_path)
    assert torch.equal(torch.rand(3), random_after)
    assert [resumed.update(GROUPS) for _ in range(2)] == expected
    assert states_equal(policy, resumed)


def test_a_checkpoint_holds_safetensors_only(model_dir: Path, tmp_path: Path) -> None:
    new_policy(model_dir).save(tmp_path)
    assert {path.suffix for path in tmp_path.rglob("*")} == {".safetensors"}


def test_a_disk_that_refuses_is_an_os_error_and_loses_nothing(
    model_dir: Path, tmp_path: Path
) -> None:
    policy = new_policy(model_dir)
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


def test_a_checkpoint_that_does_not_fit_says_so(model_dir: Path, tmp_path: Path) -> None:
    other = new_policy(save_model(tmp_path / "other", hidden_size=32))
    other.save(tmp_path / "commit")
    policy = new_policy(model_dir)
    with pytest.raises(CheckpointError, match=r"another model: model\..* has shape"):
        policy.load(tmp_path / "commit")
    with pytest.raises(CheckpointError, match="lacks it"):
        policy.load(tmp_path)
    (file,) = (tmp_path / "commit").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="cannot be read"):
        policy.load(tmp_path / "commit")


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]),
        ("cosine", [0.5, 1.0, 1.0, 0.853553, 0.5, 0.146447, 0.0]),
    ],
)
def test_learning_rate(schedule: str, expected: list[float]) -> None:
    section = config(optimizer={"warmup_steps": 2, "schedule": schedule}).optimizer
    found = [lr_factor(section, update, 6) for update in range(7)]
    assert found == pytest.approx(expected, abs=1e-6)
