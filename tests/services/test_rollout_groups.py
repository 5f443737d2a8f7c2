"""One prompt becomes one group or a typed failure: services in memory, a clock that jumps."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from cohort.contracts.generator import (
    ChatMessage,
    Completion,
    GenerateRequest,
    GenerateResponse,
    Usage,
    VersionSpan,
)
from cohort.contracts.queue import GroupMessage, PromptInput, PromptMessage, Sampling
from cohort.contracts.reward import RewardSpec, ScoreRequest, ScoreResult
from cohort.transport import ServiceError, Unreachable
from services.rollout.groups import GroupMaker, failed_group
from services.rollout.patience import Failure, Waiting

RUN = "run-1"


def make_prompt(**fields: Any) -> PromptMessage:
    num_completions = fields.pop("num_completions", 2)
    values: dict[str, Any] = {
        "run_id": RUN,
        "group_id": "g1",
        "step": 4,
        "purpose": "train",
        "attempt": 1,
        "prompts": (PromptInput(text="1 + 1 ="),),
        "ground_truth": 2,
        "rewards": (RewardSpec(verifier="math"),),
        "sampling": Sampling(
            num_completions=num_completions, max_new_tokens=4, temperature=1.0, seed=7
        ),
        "min_policy_version": 3,
        "timeout_s": 100.0,
    }
    return PromptMessage(**(values | fields))


def make_reply(request: GenerateRequest, **fields: Any) -> GenerateResponse:
    """Each completion's text says what it was asked for."""
    completions = tuple(
        Completion(
            ids=(5, 6),
            logprobs=(-0.5, -0.25),
            offsets=(1, 2),
            version_spans=(VersionSpan(version=3, start=0, end=2),),
            text=f"{request.prompt or request.prompt_ids}#{i}",
            finish_reason="stop",
        )
        for i in range(request.num_completions)
    )
    values: dict[str, Any] = {
        "run_id": request.run_id,
        "policy_version": 3,
        "fingerprint": "f3",
        "prompt_ids": (1, 2),
        "completions": completions,
        "usage": Usage(prompt_tokens=2, completion_tokens=4, total_tokens=6),
    }
    return GenerateResponse(**(values | fields))


def scored(request: ScoreRequest, score: float = 1.0) -> tuple[ScoreResult, ...]:
    return tuple(ScoreResult(id=i.id, score=score, status="scored") for i in request.items)


class Generator:
    """Answers in turn with what it was given: an error is raised, a function is called."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.requests = list(answers), list[GenerateRequest]()

    async def generate(self, request: GenerateRequest) -> GenerateResponse:
        self.requests.append(request)
        await trio.sleep(0)
        return _next(self.answers, request, make_reply)


class Reward:
    """The same for scores."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.requests = list(answers), list[ScoreRequest]()

    async def score(self, request: ScoreRequest) -> tuple[ScoreResult, ...]:
        self.requests.append(request)
        await trio.sleep(0)
        return _next(self.answers, request, scored)


def _next(answers: list[Any], request: Any, otherwise: Callable[[Any], Any]) -> Any:
    answer = answers.pop(0) if len(answers) > 1 else (answers or [otherwise])[0]
    if isinstance(answer, Exception):
        raise answer
    return answer(request)


def make(
    prompt: PromptMessage, generator: Generator, reward: Reward, waiting: Waiting | None = None
) -> GroupMessage:
    maker = GroupMaker(generator, reward, waiting or Waiting())
    return trio.run(maker.make, prompt, clock=MockClock(autojump_threshold=0))


def failure_of(prompt: PromptMessage, generator: Generator, reward: Reward) -> str:
    with pytest.raises(Failure) as caught:
        make(prompt, generator, reward)
    group = failed_group(prompt, caught.value)
    assert (group.group_id, group.step, group.attempt, group.status) == ("g1", 4, 1, "failed")
    assert group.completions == ()
    return str(group.reason)


DOWN = Unreachable("generator", "http://x", "connection refused")


def test_a_group_carries_what_was_sampled_and_scored() -> None:
    generator, reward = Generator(), Reward()
    group = make(make_prompt(), generator, reward)
    assert (group.status, group.policy_version, group.fingerprint) == ("ok", 3, "f3")
    assert (group.group_id, group.step, group.attempt, group.purpose) == ("g1", 4, 1, "train")
    for i, one in enumerate(group.completions):
        assert one.text == f"1 + 1 =#{i}"
        assert (one.prompt_ids, one.ids, one.loss_mask) == ((1, 2), (5, 6), (1, 1))
        assert (one.logprobs, one.offsets) == ((-0.5, -0.25), (1, 2))
        assert one.result is not None
        assert one.result.score == 1.0
    (asked,) = generator.requests
    assert (asked.run_id, asked.num_completions, asked.seed) == (RUN, 2, 7)
    assert (asked.min_policy_version, asked.timeout_s) == (3, 100.0)
    (request,) = reward.requests
    assert [item.id for item in request.items] == ["g1/0", "g1/1"]
    item = request.items[1]
    assert (item.prompt, item.completion, item.ground_truth) == ("1 + 1 =", "1 + 1 =#1", 2)
    assert (item.num_tokens, item.finish_reason, item.group_id) == (2, "stop", "g1")
    assert request.rewards == (RewardSpec(verifier="math"),)


def test_each_completion_may_have_a_prompt_of_its_own() -> None:
    prompts = (
        PromptInput(text="a"),
        PromptInput(ids=(9,)),
        PromptInput(messages=(ChatMessage(role="user", content="c"),)),
    )
    generator, reward = Generator(), Reward()
    group = make(make_prompt(prompts=prompts, num_completions=3), generator, reward)
    assert [one.text for one in group.completions] == ["a#0", "(9,)#0", "None#0"]
    assert [item.prompt for item in reward.requests[0].items] == ["a", "", "c"]
    assert len({request.seed for request in generator.requests}) == 3
    assert {request.num_completions for request in generator.requests} == {1}


def test_prompts_must_match_completions() -> None:
    prompts = (PromptInput(text="a"), PromptInput(text="b"))
    prompt = make_prompt(prompts=prompts, num_completions=3)
    assert failure_of(prompt, Generator(), Reward()) == "malformed: 2 prompts for 3 completions"


def test_a_group_is_as_old_as_its_oldest_token() -> None:
    def straddling(request: GenerateRequest) -> GenerateResponse:
        spans = (VersionSpan(version=3, start=0, end=1), VersionSpan(version=4, start=1, end=2))
        reply = make_reply(request, policy_version=4)
        ones = tuple(one.model_copy(update={"version_spans": spans}) for one in reply.completions)
        return reply.model_copy(update={"completions": ones})

    assert make(make_prompt(), Generator(straddling), Reward()).policy_version == 3


@pytest.mark.parametrize(
    "error",
    [
        DOWN,
        ServiceError("generator", 409, "wrong_policy", "it serves another run"),
        ServiceError("generator", 429, "busy", "too many rows"),
        ServiceError("generator", 503, "not_ready", "no weights yet"),
        ServiceError("generator", 500, "internal", "a bug"),
        lambda request: make_reply(request, policy_version=2),
        lambda request: make_reply(request, run_id="another"),
        lambda request: make_reply(
            request,
            completions=tuple(
                one.model_copy(update={"finish_reason": "abort"})
                for one in make_reply(request).completions
            ),
        ),
    ],
)
def test_trouble_that_may_pass_is_waited_out(error: Any) -> None:
    waiting = Waiting()
    generator = Generator(error, error, make_reply)
    assert make(make_prompt(), generator, Reward(), waiting).status == "ok"
    assert len(generator.requests) == 3
    assert waiting.longest() is None


def test_a_generator_that_stays_away_is_named() -> None:
    reason = failure_of(make_prompt(), Generator(DOWN), Reward())
    assert reason == (
        "generator_unreachable: cannot reach http://x (connection refused); gave up after 100 s"
    )


def test_a_policy_that_never_comes_is_a_deadline() -> None:
    stale = ServiceError("generator", 409, "stale_policy", "version 2 is loaded, 3 is needed")
    reason = failure_of(make_prompt(), Generator(stale), Reward())
    assert reason == "deadline: version 2 is loaded, 3 is needed; gave up after 100 s"


def test_a_service_that_hangs_ends_with_the_deadline() -> None:
    class Hanging(Generator):
        async def generate(self, request: GenerateRequest) -> GenerateResponse:
            await trio.sleep_forever()
            raise AssertionError

    reason = failure_of(make_prompt(), Hanging(), Reward())
    assert reason == "deadline: the generator was not done within 100 s"


def test_a_refused_request_is_not_repeated() -> None:
    generator = Generator(ServiceError("generator", 422, "invalid_request", "prompt: too long"))
    assert failure_of(make_prompt(), generator, Reward()) == "generator_error: prompt: too long"
    assert len(generator.requests) == 1


def test_a_service_that_keeps_breaking_ends_the_group() -> None:
    generator = Generator(ServiceError("generator", 500, "internal", "a bug"))
    assert failure_of(make_prompt(), generator, Reward()) == "generator_error: a bug"
    assert len(generator.requests) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"completions": ()}, "0 completions came, not 2"),
        ({"logprobs": (0.0,)}, "differ in length"),
        ({"logprobs": (0.0, float("nan"))}, "not a finite number"),
    ],
)
def test_answers_that_contradict_themselves_are_malformed(
    change: dict[str, Any], reason: str
) -> None:
    def broken(request: GenerateRequest) -> GenerateResponse:
        if "completions" in change:
            return make_reply(request, **change)
        ones = tuple(one.model_copy(update=change) for one in make_reply(request).completions)
        return make_reply(request, completions=ones)

    text = failure_of(make_prompt(), Generator(broken), Reward())
    assert text.startswith("malformed: the generator's answer: ")
    assert reason in text


def results(*statuses: str) -> Callable[[ScoreRequest], tuple[ScoreResult, ...]]:
    def answer(request: ScoreRequest) -> tuple[ScoreResult, ...]:
        values: Any = statuses
        return tuple(
            ScoreResult(
                id=item.id,
                status=status,
                score=1.0 if status == "scored" else None,
                reason=None if status == "scored" else "the sandbox is away",
            )
            for item, status in zip(request.items, values, strict=True)
        )

    return answer


def test_an_item_that_was_not_scored_is_sent_again() -> None:
    reward = Reward(
        results("scored", "infra_error"),
        results("timeout", "timeout"),
        results("timeout", "scored"),
    )
    group = make(make_prompt(), Generator(), reward)
    assert [one.result and one.result.score for one in group.completions] == [1.0, 1.0]
    assert len(reward.requests) == 3


def test_an_item_that_stays_unscored_is_none_and_never_zero() -> None:
    reward = Reward(results("scored", "infra_error"))
    group = make(make_prompt(), Generator(), reward)
    assert group.status == "ok"
    assert [one.result and one.result.score for one in group.completions] == [1.0, None]
    assert len(reward.requests) == 4


def test_a_group_without_any_score_is_a_failure() -> None:
    reason = failure_of(make_prompt(), Generator(), Reward(results("infra_error", "timeout")))
    assert reason == "reward_infra: the sandbox is away"
    reward = Reward(results("unscorable", "unscorable"))
    assert failure_of(make_prompt(), Generator(), reward).startswith("unscorable: ")
    assert len(reward.requests) == 1, "asking again does not help"


def test_a_reward_service_that_stays_away_is_named() -> None:
    waiting = Waiting()
    reward = Reward(Unreachable("reward", "http://y", "connection refused"))
    with pytest.raises(Failure) as caught:
        make(make_prompt(), Generator(), reward, waiting)
    assert caught.value.kind == "reward_unreachable"
    longest = waiting.longest()
    assert longest is not None
    assert longest[1].startswith("reward: ")


def test_scores_that_contradict_themselves_are_malformed() -> None:
    def zero_for_trouble(request: ScoreRequest) -> tuple[ScoreResult, ...]:
        return tuple(
            ScoreResult(id=item.id, score=0.0, status="infra_error") for item in request.items
        )

    for answer in (zero_for_trouble, lambda request: scored(request)[:1]):
        assert failure_of(make_prompt(), Generator(), Reward(answer)).startswith(
            "malformed: the reward's answer: "
        )
