"""One prompt becomes one group: sample the completions, have them scored together."""

import hashlib
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import trio

from cohort.contracts.generator import Completion, GenerateRequest, GenerateResponse
from cohort.contracts.queue import GroupCompletion, GroupMessage, PromptInput, PromptMessage
from cohort.contracts.reward import ScoreItem, ScoreRequest, ScoreResult
from cohort.transport import ServiceError
from services.rollout.patience import Backoff, Failure, Waiting, insist

_MAX_RESCORES = 3
"""Items that the reward service could not score are sent again so often."""

T = TypeVar("T")
Sampled = tuple[GenerateResponse, Completion]


class Generator(Protocol):
    """Whatever completes prompts."""

    async def generate(self, request: GenerateRequest) -> GenerateResponse:
        """Completions of one prompt."""


class Reward(Protocol):
    """Whatever scores completions."""

    async def score(self, request: ScoreRequest) -> tuple[ScoreResult, ...]:
        """One result for each item, in order."""


class GroupMaker:
    """Makes groups, each within its prompt's `timeout_s`."""

    def __init__(
        self,
        generator: Generator,
        reward: Reward,
        waiting: Waiting,
        *,
        generate_timeout_s: float = 300.0,
        score_timeout_s: float = 60.0,
    ) -> None:
        self.generator, self.reward, self.waiting = generator, reward, waiting
        self.generate_timeout_s, self.score_timeout_s = generate_timeout_s, score_timeout_s

    async def make(self, prompt: PromptMessage) -> GroupMessage:
        """The group, scored. Raises `Failure`."""
        work = _Work(self, prompt)
        with trio.move_on_after(prompt.timeout_s):
            return await work.run()
        raise work.too_late()


class _Work:
    """The state of one prompt in the making: in which stage, and what held it up last."""

    def __init__(self, maker: GroupMaker, prompt: PromptMessage) -> None:
        self.maker, self.prompt = maker, prompt
        self.stage = "generator"
        self.trouble: Failure | None = None

    async def run(self) -> GroupMessage:
        started = time.monotonic()
        sampled = await self._sample()
        self.stage, sampled_at = "reward", time.monotonic()
        results = await self._score([completion for _, completion in sampled])
        ended = time.monotonic()
        versions = [s.version for _, c in sampled for s in c.version_spans]
        oldest = min((reply for reply, _ in sampled), key=lambda reply: reply.policy_version)
        return GroupMessage(
            **_identity(self.prompt),
            status="ok",
            fingerprint=oldest.fingerprint,
            policy_version=min([oldest.policy_version, *versions]),
            completions=tuple(
                _completion(*one, result) for one, result in zip(sampled, results, strict=True)
            ),
            seconds={"generate": sampled_at - started, "reward": ended - sampled_at},
        )

    def too_late(self) -> Failure:
        limit = f"{self.prompt.timeout_s:g} s"
        if self.trouble is None:
            return Failure("deadline", f"the {self.stage} was not done within {limit}")
        return Failure(self.trouble.kind, f"{self.trouble.sentence}; gave up after {limit}")

    # Sampling

    async def _sample(self) -> list[Sampled]:
        """All completions in order, each with the reply that it came in."""
        requests = self._requests()
        replies: list[GenerateResponse | None] = [None] * len(requests)
        failures: list[Failure] = []

        async with trio.open_nursery() as nursery:

            async def ask(i: int) -> None:
                try:
                    replies[i] = await self._insist(lambda: self._generate(requests[i]))
                except Failure as failure:
                    failures.append(failure)
                    nursery.cancel_scope.cancel()

            for i in range(len(requests)):
                nursery.start_soon(ask, i)
        if failures:
            raise failures[0]
        return [(r, completion) for r in replies if r is not None for completion in r.completions]

    def _requests(self) -> list[GenerateRequest]:
        prompts, num = self.prompt.prompts, self.prompt.sampling.num_completions
        if len(prompts) == 1:
            return [self._request(prompts[0], num, self.prompt.sampling.seed)]
        if len(prompts) != num:
            raise Failure("malformed", f"{len(prompts)} prompts for {num} completions")
        return [self._request(one, 1, self._seed(i)) for i, one in enumerate(prompts)]

    def _request(self, prompt: PromptInput, num_completions: int, seed: int) -> GenerateRequest:
        sampling = self.prompt.sampling
        return GenerateRequest(
            run_id=self.prompt.run_id,
            prompt_ids=prompt.ids,
            prompt=prompt.text,
            messages=prompt.messages,
            num_completions=num_completions,
            max_new_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=seed,
            stop=sampling.stop,
            min_policy_version=self.prompt.min_policy_version,
        )

    def _seed(self, i: int) -> int:
        """Requests of one completion each are all number 0: their seeds must differ instead."""
        digest = hashlib.sha256(f"{self.prompt.sampling.seed}/{i}".encode()).digest()
        return int.from_bytes(digest[:6], "big")

    async def _generate(self, request: GenerateRequest) -> GenerateResponse:
        timeout_s = _within(self.maker.generate_timeout_s)
        reply = await self.maker.generator.generate(
            request.model_copy(update={"timeout_s": timeout_s})
        )
        _check_reply(request, reply)
        return reply

    # Scoring

    async def _score(self, completions: Sequence[Completion]) -> list[ScoreResult]:
        """What was scored once stays; what was not, for a reason that may pass, is sent again."""
        results: list[ScoreResult] = []
        backoff = Backoff()
        for again in range(1 + _MAX_RESCORES):
            if again:
                await backoff.sleep()
            replies = await self._insist(lambda: self.maker.reward.score(self._items(completions)))
            _check_scores(replies, len(completions))
            results = [
                old if old.status == "scored" else new
                for old, new in zip(results or replies, replies, strict=True)
            ]
            if not any(result.status in ("infra_error", "timeout") for result in results):
                break
        if all(result.score is None for result in results):
            raise _unscored(results)
        return results

    def _items(self, completions: Sequence[Completion]) -> ScoreRequest:
        texts = [_text(one) for one in self.prompt.prompts]
        return ScoreRequest(
            items=tuple(
                ScoreItem(
                    id=f"{self.prompt.group_id}/{i}",
                    prompt=texts[i % len(texts)],
                    completion=completion.text,
                    ground_truth=self.prompt.ground_truth,
                    num_tokens=len(completion.ids),
                    finish_reason=completion.finish_reason,
                    group_id=self.prompt.group_id,
                )
                for i, completion in enumerate(completions)
            ),
            rewards=self.prompt.rewards,
            timeout_s=_within(self.maker.score_timeout_s),
        )

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        return await insist(self.stage, call, self._note)

    def _note(self, trouble: Failure | None) -> None:
        self.trouble = trouble
        if trouble is None:
            self.maker.waiting.clear(self.stage)
        else:
            self.maker.waiting.note(self.stage, trouble.sentence)


def failed_group(prompt: PromptMessage, failure: Failure) -> GroupMessage:
    """What comes back when there is no group."""
    return GroupMessage(**_identity(prompt), status="failed", reason=str(failure)[:2000])


def _identity(prompt: PromptMessage) -> dict[str, Any]:
    return {
        key: getattr(prompt, key) for key in ("run_id", "group_id", "step", "purpose", "attempt")
    }


def _within(limit_s: float) -> float:
    """Seconds for one call: the limit, or what is left until the prompt's deadline."""
    left_s = trio.current_effective_deadline() - trio.current_time()
    return max(0.001, min(limit_s, left_s))


def _text(prompt: PromptInput) -> str:
    """What verifiers see of a prompt; token ids mean nothing outside the generator."""
    if prompt.messages is not None:
        return "\n\n".join(message.content for message in prompt.messages)
    return prompt.text or ""


def _check_reply(request: GenerateRequest, reply: GenerateResponse) -> None:
    """Raises what is to be done about a reply that cannot be used: ask again, or fail."""
    if reply.run_id != request.run_id or reply.policy_version < request.min_policy_version:
        sentence = (
            f"it sampled with version {reply.policy_version} of {reply.run_id}, needed is"
            f" {request.min_policy_version} of {request.run_id}"
        )
        raise ServiceError("generator", 409, "stale_policy", sentence)
    if any(completion.finish_reason == "abort" for completion in reply.completions):
        raise ServiceError("generator", 503, "aborted", "it stopped in the middle of a completion")
    if len(reply.completions) != request.num_completions:
        sentence = f"{len(reply.completions)} completions came, not {request.num_completions}"
        raise Failure("malformed", f"the generator's answer: {sentence}")
    for one in reply.completions:
        if not len(one.ids) == len(one.logprobs) == len(one.offsets):
            raise Failure(
                "malformed", "the generator's answer: ids, logprobs, offsets differ in length"
            )
        if not all(map(math.isfinite, one.logprobs)):
            raise Failure("malformed", "the generator's answer: a log-prob is not a finite number")


def _check_scores(results: Sequence[ScoreResult], num_items: int) -> None:
    if len(results) != num_items:
        raise Failure("malformed", f"the reward's answer: {len(results)} results for {num_items}")
    for result in results:
        scored = result.score is not None and math.isfinite(result.score)
        if scored != (result.status == "scored"):
            sentence = f"score {result.score} with status {result.status}"
            raise Failure("malformed", f"the reward's answer: {sentence}")


def _unscored(results: Sequence[ScoreResult]) -> Failure:
    """No completion has a score: trouble of the service, or a question that cannot be graded."""
    infra = [result for result in results if result.status != "unscorable"]
    first = (infra or results)[0]
    kind = "reward_infra" if infra else "unscorable"
    return Failure(kind, first.reason or f"no completion could be scored ({first.status})")


def _completion(
    reply: GenerateResponse, completion: Completion, result: ScoreResult
) -> GroupCompletion:
    return GroupCompletion(
        prompt_ids=reply.prompt_ids,
        ids=completion.ids,
        logprobs=completion.logprobs,
        loss_mask=(1,) * len(completion.ids),
        offsets=completion.offsets,
        version_spans=completion.version_spans,
        finish_reason=completion.finish_reason,
        text=completion.text,
        result=result,
    )
