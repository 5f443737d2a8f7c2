"""The verifiers, one small file each; `build_verifiers` is the registry."""

from typing import Any

from cohort.clients import AsyncSandboxClient
from services.reward.verifiers.base import Verifier
from services.reward.verifiers.code import CodeVerifier
from services.reward.verifiers.exact import ExactVerifier
from services.reward.verifiers.format import FormatVerifier
from services.reward.verifiers.gsm8k import Gsm8kVerifier
from services.reward.verifiers.length import LengthVerifier
from services.reward.verifiers.length_group import LengthGroupVerifier
from services.reward.verifiers.math import MathVerifier
from services.reward.verifiers.multiple_choice import MultipleChoiceVerifier
from services.reward.verifiers.process import ProcessVerifier
from services.reward.verifiers.reasoning_gym import ReasoningGymVerifier
from services.reward.verifiers.repetition import RepetitionVerifier


def build_verifiers(
    sandbox: AsyncSandboxClient, *, sandbox_concurrency: int = 16, puzzle_limit_s: float = 5.0
) -> dict[str, Verifier[Any]]:
    """All verifiers by name; nothing heavy is loaded before it is needed."""
    verifiers: list[Verifier[Any]] = [
        CodeVerifier(sandbox, sandbox_concurrency),
        ExactVerifier(),
        FormatVerifier(),
        Gsm8kVerifier(),
        LengthVerifier(),
        LengthGroupVerifier(),
        MathVerifier(),
        MultipleChoiceVerifier(),
        ProcessVerifier(),
        ReasoningGymVerifier(puzzle_limit_s),
        RepetitionVerifier(),
    ]
    return {verifier.name: verifier for verifier in verifiers}
