"""Mistakes in a run config: each is one sentence with its place."""

import pytest

from cohort.config import ConfigError, RunConfig, ServiceSettings

CONFIG = "model: {path: x}\ntask: {name: arithmetic}\nrewards: [{verifier: math}]\nsteps: 4\n"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("bogus: 1", "bogus: unknown field"),
        ("rollout: {promps: 1}", "rollout.promps: unknown field"),
        ("steps: 5", "the config does not parse at line 5, column 1: steps is given twice"),
        ("eval: {size: 1, size: 2}", "at line 5, column 17: size is given twice"),
        ("algorithm: {group_size: 1}", "algorithm: group_size is 1, but grpo compares the"),
        ("optimizer: {betas: [5, 0.9]}", "optimizer.betas.0: input should be less than 1"),
        ("rollout: {stop: ['']}", "rollout.stop.0: string should have at least 1 character"),
        ("eval: {temperature: 1.0e+300}", "eval.temperature: input should be less than or equal"),
    ],
)
def test_a_mistake_is_named_with_its_place(more: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as found:
        RunConfig.from_yaml(CONFIG + more)
    assert sentence in str(found.value)


def test_a_reward_is_needed() -> None:
    with pytest.raises(ConfigError, match="rewards: name at least one verifier, for example"):
        RunConfig.from_yaml(CONFIG.replace("[{verifier: math}]", "[]"))


def test_a_mistake_in_the_environment_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COHORT_LOG_LEVEL", "loud")
    monkeypatch.setenv("COHORT_API_KEY", "sch\u00f6n")
    with pytest.raises(SystemExit) as end:
        ServiceSettings.read()
    key, level = str(end.value).splitlines()
    assert key.startswith("COHORT_API_KEY: string should match pattern")
    assert level.startswith("COHORT_LOG_LEVEL: input should be 'debug', 'info'")
    assert "sch" not in key  # a secret must not get into logs
