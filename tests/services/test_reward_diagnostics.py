"""Diagnostics against plain computations: what a window of outcomes looks like."""

import math
import statistics

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohort.contracts.reward import ScoreRequest
from services.reward.cache import MemoryCache
from services.reward.diagnostics import Diagnostics, correlation
from services.reward.grader import Grader
from services.reward.plan import Job
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier


class Number(Verifier[Params]):
    name, version, description, params = "number", "1", "a number", Params

    async def score(self, answers, params, outcomes):
        for place, answer in enumerate(answers):
            if answer.completion == "?":
                outcomes[place] = Outcome.unscored("unscorable", "no number")
            else:
                outcomes[place] = Outcome(float(answer.completion))


def diagnose(*items, window=8_192):
    """Items are (value, number of tokens, characters, group)."""
    diagnostics = Diagnostics(window)
    answers = [
        Answer("x" * characters, num_tokens=tokens, group_id=group)
        for _, tokens, characters, group in items
    ]
    outcomes = [None if v is None else Outcome(v) for v, *_ in items]
    statuses = ["timeout" if v is None else "scored" for v, *_ in items]
    diagnostics.record(Job(Number(), Params(), answers, outcomes), statuses)
    return diagnostics.report().components["number"]


def test_means_shares_and_groups():
    told = diagnose(
        *((1.0, 10, 5, "a"), (0.0, 20, 6, "a"), (1.0, 30, 7, "b"), (1.0, 40, 7, "b")),
        *((0.5, 50, 8, "c"), (None, 60, 9, "c"), (0.5, 70, 10, None)),
    )
    values = [1.0, 0.0, 1.0, 1.0, 0.5, 0.5]
    assert told.num_items == 7
    assert told.mean == pytest.approx(statistics.fmean(values))
    assert told.std == pytest.approx(statistics.pstdev(values))
    assert (told.num_groups, told.zero_variance_groups) == (2, 0.5)
    assert told.statuses == {"scored": 6 / 7, "timeout": 1 / 7}
    assert told.duplicates == pytest.approx(1 / 7)
    assert told.length_unit == "tokens"
    expected = statistics.correlation(values, [10, 20, 30, 40, 50, 70])
    assert told.length_correlation == pytest.approx(expected)


def test_characters_count_where_tokens_are_not_said():
    told = diagnose((0.0, None, 10, None), (1.0, 7, 20, None), (2.0, None, 30, None))
    assert told.length_unit == "characters"
    assert told.length_correlation == pytest.approx(1.0)


def test_what_cannot_be_said_is_not_a_number():
    told = diagnose((None, None, 3, None))
    assert (told.mean, told.std, told.zero_variance_groups) == (None, None, None)
    assert told.length_correlation is None
    assert diagnose((1.0, 5, 5, "g")).zero_variance_groups is None  # one alone is no group
    assert diagnose((1.0, 5, 5, None), (1.0, 6, 6, None)).length_correlation is None
    assert diagnose((math.nan, 5, 5, None), (1.0, 6, 6, None)).mean == 1.0


def test_the_window_slides():
    items = [(float(i), 1, i, None) for i in range(10)]
    told = diagnose(*items, window=4)
    assert (told.num_items, told.mean) == (4, 7.5)


def test_what_is_remembered_holds_no_text():
    diagnostics = Diagnostics()
    diagnostics.record(Job(Number(), Params(), [Answer("a secret")], [Outcome(1.0)]), ["scored"])
    assert "secret" not in repr(diagnostics._seen)


def test_a_graders_components_and_their_cache_hits():
    grader = Grader({"number": Number()}, cache=MemoryCache())
    items = [{"completion": text} for text in ("1", "2", "?", "2")]
    request = ScoreRequest.model_validate({"items": items, "rewards": [{"verifier": "number"}]})

    async def go():
        for _ in range(2):
            await grader.score(request)

    anyio.run(go)
    told = grader.diagnostics.report().components["number"]
    assert told.num_items == 8
    assert told.cache_hits == 0.5
    assert told.duplicates == pytest.approx(1 - 3 / 8)
    assert told.statuses == {"scored": 0.75, "unscorable": 0.25}
    assert told.mean == pytest.approx(10 / 6)


numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=30))
def test_the_correlation_is_pearsons(pairs):
    xs, ys = zip(*pairs, strict=True)
    found = correlation(xs, ys)
    if len(set(xs)) == 1 or len(set(ys)) == 1:
        assert found is None or abs(found) <= 1
    elif found is not None:
        assert found == pytest.approx(statistics.correlation(xs, ys), abs=1e-6)
