"""A look at the reward before training: do the completions of a few groups differ in it at all?

A group whose completions all get the same reward teaches nothing. The probe samples with the policy
that a generator happens to have loaded, and only while no run needs it.
"""

from cohort.clients import AsyncGeneratorClient, AsyncRewardClient, ServiceError
from cohort.config import RunConfig
from cohort.contracts.generator import GenerateRequest
from cohort.contracts.queue import PromptInput
from cohort.contracts.reward import ScoreItem, ScoreRequest
from cohort.contracts.trainer import PreflightCheck
from cohort.tasks import Task, TaskRow, draw

NUM_GROUPS = 4
MAX_COMPLETIONS = 8
_TIMEOUT_S = 60.0
_SPREAD = 1e-9


def left_out(why: str) -> PreflightCheck:
    """The check, not made."""
    return PreflightCheck(name="reward variance", ok=None, message=f"Left out: {why}.")


async def probe_rewards(
    config: RunConfig, task: Task, generator: AsyncGeneratorClient, reward: AsyncRewardClient
) -> PreflightCheck:
    """Sample `NUM_GROUPS` groups, score them, and say how many differ within themselves."""
    try:
        policy = await generator.policy()
        if policy.run_id is not None:
            return left_out(f"the generator serves run {policy.run_id}")
        if policy.version < 0 or policy.model is None:
            return left_out("the generator has no model loaded")
        if policy.model != config.model.path:
            return left_out(f"the generator has another model loaded ({policy.model})")
        groups = [await _rewards(config, row, generator, reward) for row in _rows(config, task)]
    except (ServiceError, ValueError) as error:
        return left_out(f"it could not be sampled ({error})")
    return _verdict(groups)


def _rows(config: RunConfig, task: Task) -> list[TaskRow]:
    return [draw(task, config.seed, cursor) for cursor in range(NUM_GROUPS)]


async def _rewards(
    config: RunConfig, row: TaskRow, generator: AsyncGeneratorClient, reward: AsyncRewardClient
) -> list[float]:
    sampled = await generator.generate(_request(config, row.prompt))
    items = [
        ScoreItem(
            id=str(number),
            prompt=row.prompt.text or "",
            completion=completion.text,
            ground_truth=row.ground_truth,
            num_tokens=len(completion.ids),
            finish_reason=completion.finish_reason,
            group_id=row.id,
        )
        for number, completion in enumerate(sampled.completions)
    ]
    request = ScoreRequest(items=tuple(items), rewards=config.rewards, timeout_s=_TIMEOUT_S)
    results = await reward.score(request)
    return [result.score for result in results if result.score is not None]


def _request(config: RunConfig, prompt: PromptInput) -> GenerateRequest:
    rollout = config.rollout
    return GenerateRequest(
        prompt_ids=prompt.ids,
        prompt=prompt.text,
        messages=prompt.messages,
        num_completions=min(config.algorithm.group_size, MAX_COMPLETIONS),
        max_new_tokens=rollout.max_new_tokens,
        temperature=rollout.temperature,
        top_p=rollout.top_p,
        stop=rollout.stop,
        seed=config.seed,
        timeout_s=_TIMEOUT_S,
    )


def _verdict(groups: list[list[float]]) -> PreflightCheck:
    scored = [rewards for rewards in groups if rewards]
    if not scored:
        return left_out("the reward service could not score a single completion")
    differ = sum(max(rewards) - min(rewards) > _SPREAD for rewards in scored)
    every = [reward for rewards in scored for reward in rewards]
    message = (
        f"{differ} of {len(scored)} sampled groups have completions with different rewards"
        f" (mean reward {sum(every) / len(every):.2f})"
    )
    hint = "." if differ else ": at the start there is little to learn from."
    return PreflightCheck(name="reward variance", ok=differ > 0, message=message + hint)
