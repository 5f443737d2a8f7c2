"""The run config (one YAML per run) and the base of every service's settings (environment).

A run config is closed: an unknown field is an error that names it. What can be checked without a
process is checked here; whether the machine can run it is the trainer's pre-flight.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from cohort.contracts.base import JsonValue
from cohort.contracts.reward import RewardSpec

Beta = Annotated[float, Field(ge=0.0, lt=1.0)]


class Section(BaseModel):
    """Base of the run config's sections."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ModelSection(Section):
    """Which model is trained."""

    path: str = Field(min_length=1)
    """`bundled:smollm2-135m-instruct`, a Hugging Face name, or a folder."""
    dtype: Literal["float32"] = "float32"
    """Master weights are float32: smaller types round small updates away."""


class TaskSection(Section):
    """Where prompts come from."""

    name: str
    args: dict[str, JsonValue] = {}


class SourceSection(Section):
    """Where batches come from."""

    kind: Literal["queue"] = "queue"
    """`queue`: sampled by the policy under training."""


class AdvantageSection(Section):
    """How rewards of a group become advantages."""

    baseline: Literal["group_mean"] = "group_mean"
    scale: Literal["sample_std", "population_std", "none"] = "sample_std"
    eps: float = Field(default=1e-6, gt=0.0)
    """Added to the deviation."""


class ClipSection(Section):
    """The ratio is clipped to [1 - low, 1 + high]."""

    low: float = Field(default=0.2, ge=0.0, lt=1.0)
    high: float = Field(default=0.2, ge=0.0)


class KLSection(Section):
    """Distance to the reference model, which is loaded only when beta is above 0."""

    beta: float = Field(default=0.04, ge=0.0)
    estimator: Literal["k1", "k2", "k3"] = "k3"


class AlgorithmSection(Section):
    """A preset and its typed parts."""

    name: Literal["grpo"] = "grpo"
    group_size: int = Field(default=8, ge=1, le=1024)
    advantage: AdvantageSection = AdvantageSection()
    clip: ClipSection = ClipSection()
    aggregate: Literal["sequence_mean", "token_mean"] = "sequence_mean"
    """`sequence_mean`: mean over completions of token means. `token_mean`: over all tokens."""
    kl: KLSection = KLSection()
    epochs: int = Field(default=1, ge=1, le=64)
    """Passes over a step's groups."""
    mini_batches: int = Field(default=1, ge=1, le=1024)
    """Optimizer steps per pass."""

    @model_validator(mode="after")
    def _group_large_enough(self) -> Self:
        if self.group_size < 2:
            raise ValueError(
                f"group_size is {self.group_size}, but {self.name} compares the completions of a"
                " group with each other: use 2 or more"
            )
        return self


class DynamicSampling(Section):
    """Draw more prompts when groups come back without signal (DAPO)."""

    enabled: bool = False
    max_batches: int = Field(default=4, ge=1, le=64)
    """Waves per step at most."""


class RolloutSection(Section):
    """How completions are sampled."""

    prompts_per_step: int = Field(default=8, ge=1, le=65536)
    max_new_tokens: int = Field(default=256, ge=1, le=65536)
    temperature: float = Field(default=1.0, gt=0.0, le=10.0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    """Below 1 the sampled log-probs are renormalised over the kept set and the ratio is biased."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    max_lag: int = Field(default=0, ge=0, le=16)
    """Samples are at most this many policy versions old; 0 is on-policy."""
    dynamic_sampling: DynamicSampling = DynamicSampling()
    timeout_s: float = Field(default=600.0, gt=0.0)
    """A group that a worker cannot finish in this time comes back as a typed failure."""
    max_failures: int = Field(default=16, ge=1)
    """The run fails after this many failed groups in a row."""
    unreachable_limit_s: float = Field(default=300.0, gt=0.0)
    """How long a service may be unreachable before the run fails and says which."""


class OptimizerSection(Section):
    """AdamW on float32 master weights."""

    lr: float = Field(default=1e-6, gt=0.0)
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    eps: float = Field(default=1e-8, gt=0.0)
    weight_decay: float = Field(default=0.0, ge=0.0)
    max_grad_norm: float = Field(default=1.0, gt=0.0)
    warmup_steps: int = Field(default=0, ge=0)
    """Steps over which the rate rises linearly to `lr`."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How the rate goes on after that; linear and cosine end near 0 with the last step."""


class LearnerSection(Section):
    """The training process."""

    world_size: int = Field(default=1, ge=1, le=1024)
    """Ranks (processes) that share the model by FSDP."""
    tokens_per_micro_batch: int = Field(default=4096, ge=1)
    """Prompt and completion tokens of a forward, padding included; one completion fits always."""
    compute_dtype: Literal["bfloat16", "float32"] = "bfloat16"


class EvalSection(Section):
    """Held-out questions, answered at the start, every `every` steps and at the end."""

    every: int = Field(default=0, ge=0)
    """Steps between evaluations; 0: only at the ends."""
    size: int = Field(default=64, ge=0)
    """Questions in between; 0 switches evaluation off."""
    final_size: int = Field(default=256, ge=0)
    """Questions at the start and at the end."""
    num_completions: int = Field(default=1, ge=1)
    temperature: float = Field(default=0.0, ge=0.0, le=10.0)


class CheckpointSection(Section):
    """Commits: what a crash falls back to."""

    every: int = Field(default=10, ge=1)
    keep: int = Field(default=2, ge=1)


class RunConfig(Section):
    """A run, whole. `RunConfig.from_yaml` reads one."""

    name: str = Field(default="run", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    model: ModelSection
    task: TaskSection
    source: SourceSection = SourceSection()
    algorithm: AlgorithmSection = AlgorithmSection()
    rewards: tuple[RewardSpec, ...] = Field(min_length=1)
    rollout: RolloutSection = RolloutSection()
    optimizer: OptimizerSection = OptimizerSection()
    learner: LearnerSection = LearnerSection()
    steps: int = Field(ge=1, le=1_000_000)
    eval: EvalSection = EvalSection()
    checkpoint: CheckpointSection = CheckpointSection()
    seed: int = Field(default=0, ge=0, lt=2**31)

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if not any(spec.weight for spec in self.rewards):
            raise ValueError("every reward has weight 0: give at least one verifier a weight")
        names = [spec.verifier for spec in self.rewards]
        if len(set(names)) != len(names):
            raise ValueError(f"a verifier is named twice in rewards: {', '.join(names)}")
        return self

    @classmethod
    def from_yaml(cls, text: str) -> RunConfig:
        """Read a config. Raises `ConfigError`: one sentence per mistake, each with its place."""
        import yaml

        from cohort.strict_yaml import load

        try:
            data = load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            problem = getattr(error, "problem", None) or "it is not YAML"
            raise ConfigError([f"the config does not parse{place}: {problem}"]) from None
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Any) -> RunConfig:
        """As `from_yaml`, from parsed data."""
        if not isinstance(data, dict):
            raise ConfigError(["the config must be a mapping with model, task, rewards and steps"])
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ConfigError([sentence(dict(item)) for item in error.errors()]) from None

    def to_yaml(self) -> str:
        """The whole config, defaults written out."""
        import yaml

        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False)


class ConfigError(ValueError):
    """A run config that cannot be used; `problems` has one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


def sentence(error: dict[str, Any]) -> str:
    """Pydantic's error as one sentence: where, what."""
    place = ".".join(str(part) for part in error["loc"]) or "config"
    if error["type"] == "extra_forbidden":
        return f"{place}: unknown field"
    if error["type"] == "missing":
        return f"{place}: required, but missing"
    if error["type"] == "too_short" and place == "rewards":
        return "rewards: name at least one verifier, for example {verifier: math}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{place}: {message[:1].lower()}{message[1:]}"


class ServiceSettings(BaseSettings):
    """What every process can be told, by environment variables `COHORT_<NAME>`."""

    model_config = SettingsConfigDict(
        env_prefix="COHORT_", extra="ignore", use_attribute_docstrings=True, frozen=True
    )

    host: str = "127.0.0.1"
    """Address to listen on."""
    api_key: str | None = Field(default=None, pattern=r"^[ -~]*$")
    """When set, `Authorization: Bearer` is required everywhere but /health, and sent to others.
    Plain ASCII: it travels in a header."""
    redis_url: str = "redis://127.0.0.1:6379/0"
    trainer_url: str = "http://127.0.0.1:8000"
    generator_url: str = "http://127.0.0.1:8001"
    reward_url: str = "http://127.0.0.1:8002"
    sandbox_url: str = "http://127.0.0.1:8003"
    runs_dir: Path = Path("runs")
    """Root of all runs; weights and models in requests are relative to it."""
    state_dir: Path = Path(".cohort")
    """Caches and everything else that is not a run."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    max_body_mb: float = Field(default=64.0, gt=0.0)
    """Larger request bodies are answered 413."""

    @classmethod
    def read(cls) -> Self:
        """From the environment. Mistakes end the process, one sentence each, without the values."""
        try:
            return cls()
        except ValidationError as error:
            raise SystemExit("\n".join(map(_about_variable, error.errors()))) from None


def _about_variable(error: Any) -> str:
    name = str(error["loc"][0])
    name = name if name.startswith("COHORT_") else f"COHORT_{name.upper()}"
    return sentence({**error, "loc": (name,)})


def num_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))
