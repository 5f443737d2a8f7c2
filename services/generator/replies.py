"""What was sampled, as the wire says it."""

from cohort.contracts.generator import (
    Completion,
    GenerateResponse,
    PolicyResponse,
    Usage,
    VersionSpan,
)
from services.generator.engines.base import Sampled
from services.generator.sampler import Answer, Sampler


def generate_reply(prompt_ids: tuple[int, ...], answer: Answer) -> GenerateResponse:
    """Answer to `POST /v1/generate`."""
    policy = answer.policy
    num_sampled = sum(len(sampled.ids) for sampled in answer.completions)
    return GenerateResponse(
        run_id=policy.run_id,
        policy_version=policy.version,
        fingerprint=policy.fingerprint,
        prompt_ids=prompt_ids,
        completions=tuple(_completion(sampled, policy.version) for sampled in answer.completions),
        usage=Usage(
            prompt_tokens=len(prompt_ids),
            completion_tokens=num_sampled,
            total_tokens=len(prompt_ids) + num_sampled,
        ),
    )


def policy_reply(sampler: Sampler) -> PolicyResponse:
    """Answer to `GET /v1/policy`."""
    policy = sampler.policy
    return PolicyResponse(
        run_id=policy.run_id,
        model=policy.model,
        version=policy.version,
        engine=sampler.engine.name,
        fingerprint=policy.fingerprint,
    )


def _completion(sampled: Sampled, version: int) -> Completion:
    return Completion(
        ids=tuple(sampled.ids),
        logprobs=tuple(sampled.logprobs),
        offsets=tuple(sampled.offsets),
        version_spans=(VersionSpan(version=version, start=0, end=len(sampled.ids)),),
        text=sampled.text,
        finish_reason=sampled.finish_reason,
    )
