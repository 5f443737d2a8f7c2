"""The cache and shared work: what is judged once, for whom, and what never makes a request fail."""

import logging
import threading

import anyio
import msgspec
import pytest
from anyio import to_thread
from hypothesis import given
from hypothesis import strategies as st

from cohort.contracts.reward import ScoreRequest
from services.reward.cache import MemoryCache, RedisCache, content_address
from services.reward.grader import Grader
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier


class WaitParams(Params):
    wait_s: float = 0.0
    plus: float = 0.0


class Counting(Verifier[WaitParams]):
    """The length of the completion; keeps count of what it was asked."""

    name, version, description = "counting", "1", "a length"
    params = WaitParams

    def __init__(self):
        self.asked = []
        self.began = 0

    async def score(self, answers, params, outcomes):
        self.began += 1
        for place, answer in enumerate(answers):
            self.asked.append(answer.completion)
            if answer.completion == "broken":
                raise RuntimeError("a bug")
            if answer.completion == "unscorable":
                outcomes[place] = Outcome.unscored("unscorable", "it says so")
                continue
            if params.wait_s or answer.completion == "slow":
                await anyio.sleep(params.wait_s or 60)
            value = float(len(answer.completion)) + params.plus
            outcomes[place] = Outcome(value, metrics={"m": value}, steps=((1, value),))


class Dice(Counting):
    name, deterministic = "dice", False


class Group(Counting):
    name, compares_group = "group", True


class Secretive(Counting):
    name = "secretive"

    def cache_key(self, answer, params):
        return None if answer.completion == "secret" else super().cache_key(answer, params)


def judge_of(cache=None, kind=Counting):
    verifier = kind()
    return verifier, Grader({verifier.name: verifier}, cache=cache or MemoryCache())


def ask(completions, *, verifier="counting", kwargs=None, **fields):
    rewards = [{"verifier": verifier, "kwargs": kwargs or {}}]
    items = [{"id": str(i), "completion": c, "group_id": "g"} for i, c in enumerate(completions)]
    return ScoreRequest.model_validate({"items": items, "rewards": rewards, **fields})


def scores(results):
    return [result.score for result in results]


def cached(results):
    return [result.cached for result in results]


def counted(grader, result):
    name = "cohort_reward_cache_requests_total"
    return grader.registry.get_sample_value(name, {"result": result}) or 0.0


def test_what_was_judged_once_comes_from_the_cache():
    verifier, grader = judge_of()

    async def go():
        return [await grader.score(ask(texts)) for texts in (["a", "bb"], ["bb", "a", "ccc"])]

    first, second = anyio.run(go)
    assert (scores(first), cached(first)) == ([1.0, 2.0], [False, False])
    assert (scores(second), cached(second)) == ([2.0, 1.0, 3.0], [True, True, False])
    assert verifier.asked == ["a", "bb", "ccc"]
    assert second[0].metrics == {"counting.m": 2.0}
    assert second[0].steps[0].score == 2.0
    assert (counted(grader, "hit"), counted(grader, "miss")) == (2.0, 3.0)


def test_refresh_judges_anew_and_keeps_it_and_off_does_neither():
    verifier, grader = judge_of()

    async def go():
        seen = []
        for mode in ("off", "use", "refresh", "use", "off"):
            (result,) = await grader.score(ask(["a"], cache=mode))
            seen.append((result.cached, len(verifier.asked)))
        return seen

    assert anyio.run(go) == [(False, 1), (False, 2), (False, 3), (True, 3), (False, 4)]


def test_an_outcome_depends_on_version_kwargs_and_all_that_may_be_judged():
    verifier = Counting()
    answer = Answer("1", "2", 3, "stop")
    params = WaitParams()
    key = content_address(verifier, params)(answer)
    assert key == content_address(verifier, WaitParams(plus=0))(answer)
    others = [
        content_address(verifier, WaitParams(plus=1))(answer),
        content_address(Secretive(), params)(answer),
        *(
            content_address(verifier, params)(msgspec.structs.replace(answer, **change))
            for change in (
                {"completion": "2"}, {"ground_truth": 2}, {"ground_truth": 2.0},
                {"ground_truth": True}, {"ground_truth": ["2"]}, {"num_tokens": 4},
                {"finish_reason": "length"},
            )
        ),
    ]  # fmt: skip
    verifier.version = "2"
    others.append(content_address(verifier, params)(answer))
    assert None not in others
    assert len({key, *others}) == len(others) + 1


def test_only_the_prompt_and_the_group_do_not_count():
    address = content_address(Counting(), WaitParams())
    assert address(Answer("1")) == address(Answer("1", prompt="p", group_id="g"))


@given(st.lists(st.text(max_size=3), min_size=2, max_size=2, unique=True), st.text(max_size=3))
def test_different_texts_have_different_keys(completions, truth):
    address = content_address(Counting(), WaitParams())
    one, other = (address(Answer(text, truth)) for text in completions)
    assert one != other


def test_no_number_and_nothing_are_not_the_same_truth():
    address = content_address(Counting(), WaitParams())
    assert address(Answer("1", [float("nan")])) != address(Answer("1", [None]))
    assert address(Answer("1", {"x": "\ud800"})) is None


@pytest.mark.parametrize("kind", [Dice, Group])
def test_chance_and_groups_are_never_cached_nor_shared(kind):
    verifier, grader = judge_of(kind=kind)

    async def go():
        await grader.score(ask(["a", "a"], verifier=verifier.name))
        return await grader.score(ask(["a"], verifier=verifier.name))

    assert cached(anyio.run(go)) == [False]
    assert verifier.asked == ["a"] * 3


def test_a_verifier_may_keep_an_outcome_out_of_the_cache():
    verifier, grader = judge_of(kind=Secretive)

    async def go():
        request = ask(["secret", "a", "secret"], verifier="secretive")
        return [await grader.score(request) for _ in range(2)]

    first, second = anyio.run(go)
    assert scores(first) == scores(second) == [6.0, 1.0, 6.0]
    assert cached(second) == [False, True, False]
    assert sorted(verifier.asked) == ["a"] + ["secret"] * 4


def test_trouble_and_deadlines_are_judged_again_but_what_is_unscorable_stays_so():
    verifier, grader = judge_of()

    async def go():
        results = []
        for texts, timeout_s in ((["unscorable", "slow"], 1.0), (["broken"], 60)):
            for _ in range(2):
                results += await grader.score(ask(texts, timeout_s=timeout_s))
                await anyio.sleep(0)  # what a deadline interrupted is kept a moment later
        return results

    results = anyio.run(go)
    assert [r.status for r in results] == [
        *("unscorable", "timeout", "unscorable", "timeout", "infra_error", "infra_error"),
    ]
    assert cached(results) == [False, False, True, False, False, False]
    assert verifier.asked == ["unscorable", "slow", "slow", "broken", "broken"]


def test_all_components_must_come_from_the_cache():
    counting, dice = Counting(), Dice()
    grader = Grader({"counting": counting, "dice": dice}, cache=MemoryCache())
    items = [{"completion": "a"}]
    both = {"items": items, "rewards": [{"verifier": "counting"}, {"verifier": "dice"}]}

    async def go():
        await grader.score(ScoreRequest.model_validate(both))
        return await grader.score(ScoreRequest.model_validate(both))

    (result,) = anyio.run(go)
    assert (result.score, result.cached) == (2.0, False)
    assert len(counting.asked) == 1


def test_equal_items_of_a_request_are_judged_once():
    verifier, grader = judge_of()
    results = anyio.run(grader.score, ask(["a", "bb", "a", "a"]))
    assert scores(results) == [1.0, 2.0, 1.0, 1.0]
    assert verifier.asked == ["a", "bb"]
    assert counted(grader, "shared") == 2.0


async def together(*calls):
    """Run calls side by side, each started when the one before waits."""
    results = [None] * len(calls)

    async def run(place, call):
        results[place] = await call()

    async with anyio.create_task_group() as group:
        for place, call in enumerate(calls):
            group.start_soon(run, place, call)
            await anyio.sleep(0.01)
    return results


def test_concurrent_requests_share_work_in_flight():
    verifier, grader = judge_of()
    request = ask(["a", "bb"], kwargs={"wait_s": 0.05})
    calls = [lambda: grader.score(request)] * 5
    for results in anyio.run(lambda: together(*calls)):
        assert scores(results) == [1.0, 2.0]
    assert verifier.asked == ["a", "bb"]


def test_followers_outlive_a_leader_that_times_out():
    verifier, grader = judge_of()

    async def go():
        short = ask(["a"], kwargs={"wait_s": 0.2}, timeout_s=0.05)
        long = ask(["a"], kwargs={"wait_s": 0.2}, timeout_s=30)
        return await together(lambda: grader.score(short), *[lambda: grader.score(long)] * 3)

    (short,), *long = anyio.run(go)
    assert short.status == "timeout"
    assert [(r.status, r.score) for (r,) in long] == [("scored", 1.0)] * 3
    assert len(verifier.asked) == 2  # one of the three took over, for all three


def test_followers_outlive_a_leader_whose_caller_goes_away():
    _, grader = judge_of()
    request = ask(["a"], kwargs={"wait_s": 0.2}, timeout_s=30)

    async def go():
        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()

            async def leader():
                with scope:
                    await grader.score(request)

            group.start_soon(leader)
            await anyio.sleep(0.02)
            results = []

            async def follower():
                results.extend(await grader.score(request))

            group.start_soon(follower)
            await anyio.sleep(0.02)
            scope.cancel()
        return results

    assert scores(anyio.run(go)) == [1.0]
    assert grader.pending_items == 0


def test_a_follower_takes_what_a_slow_leader_has_found_so_far():
    verifier, grader = judge_of()

    async def go():
        long = ask(["a", "slow"], timeout_s=1.5)
        return await together(
            lambda: grader.score(long),
            lambda: grader.score(ask(["a"], timeout_s=0.4)),
        )

    (_, slow), (quick,) = anyio.run(go)
    assert slow.status == "timeout"
    assert (quick.status, quick.score) == ("scored", 1.0)
    assert verifier.asked == ["a", "slow"]


def test_a_follower_that_has_waited_for_half_of_its_time_judges_itself():
    verifier, grader = judge_of()

    async def go():
        long = ask(["slow", "a"], timeout_s=1.5)
        return await together(
            lambda: grader.score(long),
            lambda: grader.score(ask(["a"], timeout_s=0.4)),
        )

    (slow, _), (quick,) = anyio.run(go)
    assert slow.status == "timeout"
    assert (quick.status, quick.score) == ("scored", 1.0)
    assert verifier.asked == ["slow", "a"]


class Stubborn(Counting):
    """Blocks in a thread that nobody can cancel, or swallows every cancellation."""

    name = "stubborn"

    def __init__(self):
        super().__init__()
        self.release = threading.Event()

    async def score(self, answers, params, outcomes):
        for place, answer in enumerate(answers):
            if answer.completion == "thread":
                await to_thread.run_sync(self.release.wait, 60)
            while answer.completion == "swallow" and not self.release.is_set():
                try:
                    await anyio.sleep(0.05)
                except BaseException:  # what no verifier should do
                    continue
            outcomes[place] = Outcome(7.0)


@pytest.mark.parametrize("stuck", ["thread", "swallow"])
def test_no_verifier_holds_the_reply(stuck):
    verifier, grader = judge_of(kind=Stubborn)

    async def go():
        try:
            with anyio.fail_after(20):
                request = ask(["a", stuck, "b"], verifier="stubborn", timeout_s=0.1)
                return await grader.score(request)
        finally:
            verifier.release.set()
            await anyio.sleep(0.1)

    assert [(r.status, r.score) for r in anyio.run(go)] == [
        *(("scored", 7.0), ("timeout", None), ("timeout", None)),
    ]
    assert grader.pending_items == 0


def test_the_memory_cache_forgets_what_was_not_used_for_longest():
    async def go():
        cache = MemoryCache(max_entries=2)
        await cache.put({b"a": Outcome(1.0), b"b": Outcome(2.0)})
        await cache.get([b"a"])
        await cache.put({b"c": Outcome(3.0)})
        return cache, await cache.get([b"a", b"b", b"c"])

    cache, found = anyio.run(go)
    assert found == {b"a": Outcome(1.0), b"c": Outcome(3.0)}
    assert len(cache) == 2


def test_the_memory_cache_is_bounded_by_bytes_and_counts_them_right():
    async def go():
        cache = MemoryCache(max_bytes=20_000)
        for i in range(100):
            wide = Outcome(1.0, reason="x" * (i * 13 % 3_000), metrics={"m": 1.0} if i % 2 else {})
            await cache.put({bytes([i % 40]): wide})
            assert cache.num_bytes <= 20_000
        entries = len(cache)
        await cache.put({b"huge": Outcome(1.0, reason="x" * 30_000)})
        return entries, len(cache), cache.num_bytes

    entries, after, num_bytes = anyio.run(go)
    assert entries > 5
    assert (after, num_bytes) == (0, 0)


def test_redis_keeps_outcomes_for_all_with_a_time_limit(valkey):
    import redis

    outcome = Outcome(0.5, "scored", "v", None, {"m": 1.0}, ((3, 0.25),))
    refused = Outcome.unscored("unscorable", "why")
    big = Outcome(1.0, reason="x" * 70_000)

    async def go():
        one, other = RedisCache.from_url(valkey, ttl_s=60), RedisCache.from_url(valkey)
        await one.put({b"\xff1": outcome, b"2": refused, b"3": big})
        found = await other.get([b"\xff1", b"2", b"3", b"4"])
        await one.aclose()
        await other.aclose()
        return found

    assert anyio.run(go) == {b"\xff1": outcome, b"2": refused}
    with redis.Redis.from_url(valkey) as client:
        keys = client.keys("cohort:reward:*")
        assert len(keys) == 2
        assert all(0 < client.ttl(key) <= 60 for key in keys)


@pytest.mark.parametrize(
    "value",
    [b"", b"nonsense", b"[]", b"{}", b'{"value":null}', b'{"value":1,"status":"infra_error"}',
     b'{"value":null,"status":"timeout"}', b'{"value":1,"surprise":1', b"\x80\x04."],
)  # fmt: skip
def test_what_redis_holds_is_not_trusted(valkey, value):
    import redis

    with redis.Redis.from_url(valkey) as client:
        client.set(RedisCache.prefix + b"k", value)

    async def go():
        cache = RedisCache.from_url(valkey)
        try:
            return await cache.get([b"k"])
        finally:
            await cache.aclose()

    assert anyio.run(go) == {}


def test_a_redis_that_dies_and_comes_back_is_only_a_miss(mortal_valkey, caplog):
    url = str(mortal_valkey.connection_url)

    async def go():
        cache = RedisCache.from_url(url)
        _, grader = judge_of(cache)
        seen = []
        await grader.score(ask(["a"]))
        seen += await grader.score(ask(["a"]))
        mortal_valkey.terminate()
        for _ in range(3):
            seen += await grader.score(ask(["a"]))
        mortal_valkey.start()
        cache._ask_again = 0.0
        await grader.score(ask(["bb"]))
        seen += await grader.score(ask(["bb"]))
        await grader.aclose()
        return seen

    with caplog.at_level(logging.WARNING, "cohort.reward"):
        seen = anyio.run(go)
    assert cached(seen) == [True, False, False, False, True]
    assert [r.status for r in seen] == ["scored"] * 5
    complaints = [r for r in caplog.records if "cache's Redis" in r.getMessage()]
    assert len(complaints) == 1
