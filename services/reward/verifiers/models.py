"""Which models judge: what the environment says of them, and the verifiers that follow from it.

Nothing is loaded or connected here. A verifier whose model is not set is listed all the same; its
items are `infra_error` with the sentence that says what to set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from cohort.config import ServiceSettings
from cohort.contracts.base import JsonValue
from services.reward.verifiers.base import Verifier
from services.reward.verifiers.classifier import Classifier, Kind
from services.reward.verifiers.judge import JudgeVerifier
from services.reward.verifiers.prm import LocalPrm, PrmVerifier, ServedPrm
from services.reward.verifiers.remote import ModelServer
from services.reward.verifiers.reward_model import (
    Endpoint,
    LocalRewardModel,
    RewardModelVerifier,
    ServedRewardModel,
)
from services.reward.verifiers.step_marks import StyleName

Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+[^\s]*$")]
Key = Annotated[str, Field(pattern=r"^[!-~]+$")]


class ModelSettings(ServiceSettings):
    """Settings of the verifiers that ask a model."""

    models_dir: Path = Path("models")
    """Root of the models that this service loads itself; the paths below are inside it."""
    reward_model_path: str | None = None
    """Folder of a Hugging Face sequence classifier with one label, as safetensors."""
    reward_model_url: Url | None = None
    """Or a vLLM server (`vllm serve MODEL --runner pooling`)."""
    reward_model_name: str | None = None
    """The model's name on that server."""
    reward_model_endpoint: Endpoint = "/classify"
    reward_model_api_key: Key | None = None
    prm_path: str | None = None
    """Folder of a Hugging Face token classifier with two labels, as safetensors."""
    prm_url: Url | None = None
    """Or a vLLM server that pools at the step marks."""
    prm_name: str | None = None
    """The model's name on that server."""
    prm_style: StyleName = "qwen"
    """How the model was taught to see steps: `qwen`, `trl` (PRMTrainer) or `math_shepherd`."""
    prm_api_key: Key | None = None
    judge_url: Url | None = None
    """An OpenAI-compatible server, with or without `/v1`."""
    judge_name: str = Field(default="", validate_default=True)
    """The model's name on that server."""
    judge_api_key: Key | None = None
    judge_extra: dict[str, JsonValue] = {}
    """JSON that is added to each request; a null takes a field away."""
    model_concurrency: int = Field(default=32, ge=1, le=1_024)
    """Calls to one model server at the same time."""
    model_timeout_s: float = Field(default=60.0, gt=0.0, le=3_600.0)
    """For one call, with its retries."""
    model_max_tokens: int = Field(default=4_096, ge=8, le=1_048_576)
    """Most tokens that a model in this service reads of one answer."""
    model_batch_tokens: int = Field(default=16_384, ge=8, le=16_777_216)
    """Tokens of one batch, padding included."""
    model_device: str = Field(default="auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$")
    """`auto`: a GPU when there is one."""
    model_dtype: Literal["float32", "bfloat16"] = "float32"

    @field_validator("reward_model_url", "prm_url")
    @classmethod
    def _one_of_both(cls, url: str | None, info: ValidationInfo) -> str | None:
        other = str(info.field_name).replace("_url", "_path")
        if url is not None and info.data.get(other) is not None:
            raise ValueError(f"set it or COHORT_{other.upper()}, not both")
        return url

    @field_validator("judge_name")
    @classmethod
    def _judge_has_a_name(cls, name: str, info: ValidationInfo) -> str:
        if not name and info.data.get("judge_url") is not None:
            raise ValueError("the judge's server needs the name of a model")
        return name


def model_verifiers(settings: ModelSettings) -> list[Verifier[Any]]:
    """`reward_model`, `prm` and `judge`, each with the model that is set for it."""
    return [_reward_model(settings), _prm(settings), _judge(settings)]


def _reward_model(settings: ModelSettings) -> RewardModelVerifier:
    if settings.reward_model_path is not None:
        return LocalRewardModel(_classifier(settings, settings.reward_model_path, "sequence"))
    if settings.reward_model_url is not None:
        server = _server(settings, settings.reward_model_url, settings.reward_model_api_key)
        return ServedRewardModel(server, settings.reward_model_name, settings.reward_model_endpoint)
    return RewardModelVerifier()


def _prm(settings: ModelSettings) -> PrmVerifier:
    if settings.prm_path is not None:
        classifier = _classifier(settings, settings.prm_path, "token")
        return LocalPrm(classifier, settings.prm_style)
    if settings.prm_url is not None:
        server = _server(settings, settings.prm_url, settings.prm_api_key)
        return ServedPrm(server, settings.prm_name, settings.prm_style)
    return PrmVerifier()


def _judge(settings: ModelSettings) -> JudgeVerifier:
    if settings.judge_url is None:
        return JudgeVerifier(None)
    server = _server(settings, settings.judge_url, settings.judge_api_key)
    return JudgeVerifier(server, settings.judge_name, settings.judge_extra)


def _classifier(settings: ModelSettings, path: str, kind: Kind) -> Classifier:
    return Classifier(
        path,
        settings.models_dir,
        kind,
        max_tokens=settings.model_max_tokens,
        batch_tokens=settings.model_batch_tokens,
        device=settings.model_device,
        dtype=settings.model_dtype,
    )


def _server(settings: ModelSettings, url: str, api_key: str | None) -> ModelServer:
    return ModelServer(
        url,
        api_key=api_key,
        concurrency=settings.model_concurrency,
        timeout_s=settings.model_timeout_s,
    )
