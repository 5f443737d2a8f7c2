"""Rewards by length: each formula against its published numbers, and what a long answer is worth.

The numbers and the order check (worst right answer against best wrong one) follow the papers that
the formulas name; DAPO's and the cosine's are also TRL's documented examples.
"""

import itertools
import math

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohort.contracts.reward import ScoreRequest
from services.reward.grader import Grader, RequestError
from services.reward.verifiers.base import Answer
from services.reward.verifiers.length import LengthVerifier
from services.reward.verifiers.length_group import LengthGroupVerifier, group_values
from services.reward.verifiers.math import MathVerifier

LENGTH, GROUP = LengthVerifier(), LengthGroupVerifier()
RIGHT, WRONG = "\\boxed{4}", "\\boxed{5}"


def judge(verifier, answers, **kwargs):
    outcomes = [None] * len(answers)
    anyio.run(verifier.score, answers, verifier.params.model_validate(kwargs), outcomes)
    return outcomes


def value(tokens, completion=RIGHT, **kwargs):
    """The value of one completion of so many tokens whose truth is 4."""
    (outcome,) = judge(LENGTH, [Answer(completion, "4", num_tokens=tokens)], **kwargs)
    return outcome.value


def group(lengths, **kwargs):
    """Values of a group: positive lengths are right answers, negative ones wrong."""
    answers = [
        Answer(RIGHT if n > 0 else WRONG, "4", num_tokens=abs(n), group_id="g") for n in lengths
    ]
    return [outcome.value for outcome in judge(GROUP, answers, **kwargs)]


@pytest.mark.parametrize(
    ("tokens", "limit", "buffer", "expected"),
    [
        (80, 100, 20, 0.0),
        (81, 100, 20, -0.05),
        (90, 100, 20, -0.5),
        (100, 100, 20, -1.0),
        (101, 100, 20, -1.0),
        (16384, 20480, 4096, 0.0),
        (16385, 20480, 4096, -0.000244140625),
        (18432, 20480, 4096, -0.5),
        (20480, 20480, 4096, -1.0),
        (100, 100, 0, 0.0),
        (101, 100, 0, -1.0),
    ],
)
def test_soft_overlong_is_dapo_equation_13(tokens, limit, buffer, expected):
    kwargs = {"max_tokens": limit, "buffer_tokens": buffer, "penalty": 0.5}
    for named in ({}, {"kind": "soft_overlong"}):
        answer = Answer("", num_tokens=tokens)  # no ground truth: it does not ask for one
        (outcome,) = judge(LENGTH, [answer], **kwargs, **named)
        assert outcome.value == pytest.approx(0.5 * expected, abs=1e-15)
        assert outcome.verdict == ("overlong" if expected else "in_bounds")
        assert outcome.metrics == {"tokens": tokens}


@pytest.mark.parametrize(
    ("tokens", "expected"), [(0, 1), (20, 0.952254), (50, 0.75), (80, 0.547746), (100, 0.5)]
)
def test_cosine(tokens, expected):
    cosine = {"kind": "cosine", "max_tokens": 100}
    assert value(tokens, **cosine) == pytest.approx(expected, abs=1e-6)
    assert value(tokens, WRONG, **cosine) == pytest.approx(-expected, abs=1e-6)


@pytest.mark.parametrize("tokens", [101, 150, 200, 1_000_000])
def test_cosine_is_clamped(tokens):
    assert value(tokens, kind="cosine", max_tokens=100) == pytest.approx(0.5)
    assert value(tokens, WRONG, kind="cosine", max_tokens=100) == pytest.approx(-0.5)


def test_lcpo_exact():
    lcpo = {"kind": "lcpo_exact", "target_tokens": 1000}
    assert value(1500, **lcpo) == pytest.approx(0.85)
    assert value(500, **lcpo) == pytest.approx(0.85)
    assert value(1500, WRONG, **lcpo) == pytest.approx(-0.15)
    assert value(1500, **lcpo, alpha=1e-3) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("tokens", "expected"), [(500, 0.65), (1000, 0.5), (2000, 0.2), (2700, 0.0), (9999, 0.0)]
)
def test_lcpo_max(tokens, expected):
    lcpo = {"kind": "lcpo_max", "target_tokens": 1000}
    assert value(tokens, **lcpo) == pytest.approx(expected)
    assert value(tokens, WRONG, **lcpo) == 0.0


def test_kimi():
    assert group([100, 200, -300, -500], kind="kimi") == pytest.approx([0.5, 0.25, 0.0, -0.5])
    assert group([100, -100], kind="kimi") == [0.0, 0.0]
    assert group([100], kind="kimi") == [0.0]


def test_grpo_lead():
    lead = {"kind": "grpo_lead"}
    assert group([100, 200, 300], **lead) == pytest.approx([1.051271, 1, 0.951229], abs=1e-6)
    assert group([100, 200, 300, -900], **lead)[:3] == pytest.approx(group([100, 200, 300], **lead))
    assert group([100, -50], **lead) == [1.0, -1.0]
    assert group([-100, -50], **lead) == [-1.0, -1.0]
    assert group([100, 100], **lead) == [1.0, 1.0]


def test_efficient():
    efficient = {"kind": "efficient"}
    expected = [0.97729, 0.95, 0.92271]
    assert group([100, 200, 300], **efficient) == pytest.approx(expected, abs=1e-5)
    assert group([100, 200, 300, -9], **efficient) == pytest.approx([*expected, 0], abs=1e-5)
    assert group([100], **efficient) == [0.95]
    assert group([-100], **efficient) == [0.0]
    assert group([100, 200, 300], **efficient, alpha=0.0) == [1.0, 1.0, 1.0]


# what the worst right answer gets, and the best wrong one


def order(worst_right, best_wrong):
    if worst_right == pytest.approx(best_wrong, abs=1e-9):
        return "tie"
    return "ok" if worst_right > best_wrong else "inverted"


LENGTHS = [1, 100, 1_000, 20_000]


def ends(**kwargs):
    """The worst right and the best wrong value over all lengths."""
    right = [value(n, **kwargs) for n in LENGTHS]
    return min(right), max(value(n, WRONG, **kwargs) for n in LENGTHS)


def test_order_of_soft_overlong_beside_correctness():
    worst, best = ends(kind="soft_overlong", max_tokens=1_000, buffer_tokens=100)
    assert (worst, best) == (-1.0, 0.0)
    assert order(1.0 + worst, -1.0 + best) == "ok"  # DAPO counts right and wrong as +1 and -1
    assert order(1.0 + worst, 0.0 + best) == "tie"


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({"kind": "cosine", "max_tokens": 1_000}, "ok"),
        ({"kind": "lcpo_exact", "target_tokens": 1_000}, "inverted"),
        ({"kind": "lcpo_exact", "target_tokens": 1_000, "alpha": 4e-5}, "ok"),
        ({"kind": "lcpo_max", "target_tokens": 1_000}, "tie"),
        ({"kind": "lcpo_max", "target_tokens": 1_000, "alpha": 2e-5}, "ok"),
    ],
)
def test_order_of_whole_rewards(kwargs, expected):
    assert order(*ends(**kwargs)) == expected


def test_lcpo_exact_turns_at_3333_tokens_off_the_target():
    lcpo = {"kind": "lcpo_exact", "target_tokens": 5_000}
    best_wrong = value(5_000, WRONG, **lcpo)
    assert order(value(5_000 + 3_333, **lcpo), best_wrong) == "ok"
    assert order(value(5_000 - 3_334, **lcpo), best_wrong) == "inverted"


@pytest.mark.parametrize(
    ("kind", "base", "expected"),
    [
        ("kimi", 0.0, "inverted"),
        ("kimi", 1.0, "ok"),
        ("grpo_lead", 0.0, "ok"),
        ("efficient", 0.0, "ok"),
    ],
)
def test_order_within_a_group(kind, base, expected):
    """`base` is what a 0/1 correctness reward beside it gives to a right answer."""
    values = group([1000, 900, -1, -1000], kind=kind)
    assert order(base + min(values[:2]), max(values[2:])) == expected


COUNT = st.integers(0, 100_000)
GROUPS = st.lists(st.tuples(COUNT, st.booleans()), min_size=1, max_size=16)


@given(GROUPS, st.floats(0.0, 0.99))
def test_group_rewards_stay_in_their_bounds_and_favour_the_short(members, alpha):
    tokens, right = [n for n, _ in members], [ok for _, ok in members]
    for kind in ("kimi", "grpo_lead", "efficient"):
        values = group_values(kind, tokens, right, alpha)
        assert all(map(math.isfinite, values))
        by_length = sorted((n, v) for n, v, ok in zip(tokens, values, right, strict=True) if ok)
        assert all(a[1] >= b[1] for a, b in itertools.pairwise(by_length))
        low, high = {"kimi": (-0.5, 0.5), "grpo_lead": (-1, 50), "efficient": (0, 1)}[kind]
        assert all(low <= v <= high for v in values)
        if kind != "kimi" and any(right) and not all(right):
            wrong = [v for v, ok in zip(values, right, strict=True) if not ok]
            assert min(v for _, v in by_length) > max(wrong)


@given(COUNT, COUNT, st.integers(1, 50_000))
def test_longer_never_pays_for_a_right_answer(one, other, limit):
    short, long = sorted((one, other))
    for kwargs in (
        {"max_tokens": limit, "buffer_tokens": limit // 2},
        {"kind": "cosine", "max_tokens": limit},
        {"kind": "lcpo_max", "target_tokens": limit},
    ):
        assert value(short, **kwargs) >= value(long, **kwargs)


# what cannot be judged


@pytest.mark.parametrize("tokens", [None, -1, 10**400])
@pytest.mark.parametrize("kwargs", [{"max_tokens": 10}, {"kind": "lcpo_max", "target_tokens": 10}])
def test_without_a_length_an_item_is_unscorable_never_zero(tokens, kwargs):
    answers = [Answer(RIGHT, "4", num_tokens=tokens), Answer(RIGHT, "4", num_tokens=1)]
    unknown, short = judge(LENGTH, answers, **kwargs)
    assert (unknown.value, unknown.status) == (None, "unscorable")
    assert "num_tokens" in unknown.reason
    assert short.status == "scored"


def test_a_truth_that_cannot_be_read_makes_what_needs_it_unscorable():
    answer = Answer(RIGHT, "", num_tokens=5)
    (outcome,) = judge(LENGTH, [answer], kind="cosine", max_tokens=10)
    assert (outcome.value, outcome.status) == (None, "unscorable")
    assert outcome.verdict == "unparsable_gold"
    assert judge(LENGTH, [answer], max_tokens=10)[0].value == 0.0


@pytest.mark.parametrize(
    ("correct_by", "completion", "truth"),
    [
        ("math", "The answer is 4.", "4"),
        ("gsm8k", "#### 4", "so 2 + 2\n#### 4"),
        ("multiple_choice", "The answer is (B).", "B"),
        ("exact", "Paris", ["Paris", "Rome"]),
    ],
)
def test_who_says_what_is_right(correct_by, completion, truth):
    answers = [Answer(text, truth, num_tokens=100) for text in (completion, "I do not know")]
    kwargs = {"kind": "cosine", "max_tokens": 100, "correct_by": correct_by}
    right, wrong = judge(LENGTH, answers, **kwargs)
    assert (right.value, right.verdict) == (0.5, "correct")
    assert wrong.value == -0.5
    assert wrong.verdict in ("no_answer", "wrong")


def test_groups_are_kept_apart_whatever_their_order():
    lengths = {"a": [100, 200, 300], "b": [10, 40]}
    rows = [("a", 100), ("b", 10), ("a", 200), ("b", 40), ("a", 300)]
    answers = [Answer(RIGHT, "4", num_tokens=n, group_id=g) for g, n in rows]
    found = [outcome.value for outcome in judge(GROUP, answers, kind="kimi")]
    for name, tokens in lengths.items():
        mine = [v for v, (g, _) in zip(found, rows, strict=True) if g == name]
        assert mine == group_values("kimi", tokens, [True] * len(tokens))


@pytest.mark.parametrize("group_id", [None, ""])
def test_without_a_group_an_item_is_unscorable(group_id):
    answers = [Answer(RIGHT, "4", num_tokens=5, group_id=g) for g in (group_id, "g", "g")]
    alone, *others = judge(GROUP, answers, kind="kimi")
    assert (alone.status, alone.reason) == ("unscorable", "the item has no group_id")
    assert [outcome.value for outcome in others] == [0.0, 0.0]


def test_a_group_with_a_member_that_cannot_be_judged_is_not_scored():
    answers = [
        Answer(RIGHT, "4", num_tokens=n, group_id=g) for n, g in [(5, "g"), (None, "g"), (5, "h")]
    ]
    known, unknown, elsewhere = judge(GROUP, answers, kind="grpo_lead")
    assert unknown.reason == "the item has no num_tokens"
    assert (known.value, known.status) == (None, "unscorable")
    assert known.reason == "a member of the group cannot be judged: the item has no num_tokens"
    assert elsewhere.value == 1.0


# parameters


@pytest.mark.parametrize(
    ("verifier", "kwargs", "words"),
    [
        (LENGTH, {"max_tokens": 10, "buffer_tokens": 11}, "buffer_tokens must not be larger"),
        (LENGTH, {}, "max_tokens"),
        (LENGTH, {"max_tokens": 0}, "max_tokens"),
        (LENGTH, {"max_tokens": 9, "target_tokens": 9}, "target_tokens"),
        (LENGTH, {"kind": "dapo", "max_tokens": 9}, "kind must be soft_overlong, cosine"),
        (LENGTH, {"kind": "kimi"}, "kind must be soft_overlong, cosine"),
        (LENGTH, {"kind": "cosine"}, "max_tokens"),
        (LENGTH, {"kind": "cosine", "max_tokens": 9, "correct_by": "code"}, "correct_by"),
        (LENGTH, {"kind": "cosine", "max_tokens": 9, "wrong_long": 0.5}, "must get more than"),
        (LENGTH, {"kind": "lcpo_max"}, "target_tokens"),
        (LENGTH, {"kind": "lcpo_max", "target_tokens": 9, "delta": 2}, "delta"),
        (GROUP, {}, "kind"),
        (GROUP, {"kind": "cosine"}, "kind"),
        (GROUP, {"kind": "kimi", "alpha": 0.1}, "kind kimi takes no alpha"),
        (GROUP, {"kind": "efficient", "alpha": 1.0}, "alpha"),
    ],
)
def test_odd_parameters_are_refused_in_words(verifier, kwargs, words):
    with pytest.raises(ValueError, match=words):
        verifier.params.model_validate(kwargs)


def grade(rewards, items):
    grader = Grader({v.name: v for v in (LENGTH, GROUP, MathVerifier())})
    return anyio.run(grader.score, ScoreRequest(items=items, rewards=rewards))


def test_through_the_grader_with_correctness_beside_it():
    items = [
        {"completion": text, "ground_truth": "4", "num_tokens": n, "group_id": "g"}
        for text, n in [(RIGHT, 100), (RIGHT, 200), (WRONG, 300), (WRONG, 500)]
    ]
    rewards = [
        {"verifier": "math"},
        {"verifier": "length_group", "weight": 0.5, "kwargs": {"kind": "kimi"}},
        {"verifier": "length", "weight": 0, "kwargs": {"max_tokens": 400}},
    ]
    results = grade(rewards, items)
    assert [r.score for r in results] == pytest.approx([1.25, 1.125, 0.0, -0.25])
    assert results[3].metrics["length.tokens"] == 500
    assert results[3].components["length"].value == -1.0


def test_a_request_with_odd_kwargs_names_the_place():
    rewards = [{"verifier": "length", "kwargs": {"kind": "cosine", "max_tokens": -5}}]
    with pytest.raises(RequestError, match=r"rewards\.0\.kwargs.*max_tokens"):
        grade(rewards, [{"completion": "x"}])


def test_the_schema_has_every_kind_with_its_own_fields():
    schema = LENGTH.params.model_json_schema()
    kinds = {s["properties"]["kind"]["const"]: s["properties"] for s in schema["$defs"].values()}
    assert set(kinds) == {"soft_overlong", "cosine", "lcpo_exact", "lcpo_max"}
    assert "correct_by" not in kinds["soft_overlong"]
    assert kinds["lcpo_exact"]["target_tokens"]["description"] == "The length that is asked for."
