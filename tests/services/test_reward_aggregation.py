"""Step scores to one number: vectors of the papers, and what holds for any scores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reward.verifiers.aggregation import aggregate, pure_step_rewards

SCORES = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=50)


@pytest.mark.parametrize(  # Math-Shepherd (arXiv 2312.08935) takes min, PRM800K the product
    ("how", "value"), [("min", 0.2), ("product", 0.144), ("last", 0.2), ("mean", 1.9 / 3)]
)
def test_a_solution_is_worth_what_the_papers_say(how, value):
    assert aggregate([0.9, 0.8, 0.2], how) == pytest.approx(value, abs=1e-12)


def test_last_is_the_last_and_not_the_lowest():
    assert aggregate([0.2, 0.7], "last") == 0.7


def test_pure_step_rewards_match_the_formula():  # PURE (arXiv 2504.15275), r* = softmax(-r/T) r
    found = pure_step_rewards([0.9, 0.8, -0.5, 0.3], 0.1)
    assert found == pytest.approx([1e-6, 2e-6, -0.499831, 0.000101], abs=5e-7)
    assert aggregate([0.9, 0.8, -0.5, 0.3], "pure", 0.1) == pytest.approx(-0.499728, abs=1e-6)


@given(SCORES)
def test_a_cold_soft_minimum_is_the_minimum(scores):
    assert aggregate(scores, "pure", 1e-4) == pytest.approx(min(scores), abs=0.01)


@given(SCORES, st.floats(1e-3, 10.0))
def test_the_soft_minimum_lies_between_minimum_and_mean(scores, temperature):
    value = aggregate(scores, "pure", temperature)
    assert min(scores) - 1e-9 <= value <= aggregate(scores, "mean") + 1e-9


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5))
def test_large_scores_do_not_overflow_the_softmax(scores):
    assert len(pure_step_rewards(scores, 0.1)) == len(scores)


def test_nothing_to_aggregate_is_an_error_and_not_a_number():
    with pytest.raises(ValueError, match="without steps"):
        aggregate([], "min")
    assert pure_step_rewards([]) == []
    with pytest.raises(ValueError, match="temperature"):
        pure_step_rewards([0.5], 0.0)
