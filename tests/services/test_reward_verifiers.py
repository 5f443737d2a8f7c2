"""Verifiers that need no other process: math, format, length."""

import itertools

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reward.verifiers.base import Answer, final_part
from services.reward.verifiers.format import FormatVerifier, well_formed
from services.reward.verifiers.length import LengthVerifier, soft_overlong
from services.reward.verifiers.math import MathVerifier

TAGS = ("think", "answer")


def judge(verifier, answers, **kwargs):
    outcomes = [None] * len(answers)
    anyio.run(verifier.score, answers, verifier.params(**kwargs), outcomes)
    return outcomes


@pytest.mark.parametrize(
    ("completion", "truth", "value", "status", "verdict"),
    [
        ("So it is 18.\n#### 18", "18", 1.0, "scored", "correct"),
        ("\\boxed{18}", "A: 18", 1.0, "scored", "correct"),
        ("The answer is 1,200.", 1200, 1.0, "scored", "correct"),
        ("0.5", 0.5, 1.0, "scored", "correct"),
        ("#### 19", "18", 0.0, "scored", "wrong"),
        ("I do not know", "18", 0.0, "scored", "no_answer"),
        ("", "18", 0.0, "scored", "no_answer"),
        ("#### 18", "", None, "unscorable", "unparsable_gold"),
        ("#### 18", None, None, "unscorable", "unparsable_gold"),
        ("#### 1", True, None, "unscorable", "unparsable_gold"),
        ("#### 18", {"answer": 18}, None, "unscorable", "unparsable_gold"),
    ],
)
def test_math_verdicts(completion, truth, value, status, verdict):
    (outcome,) = judge(MathVerifier(), [Answer(completion, truth)])
    assert (outcome.value, outcome.status, outcome.verdict) == (value, status, verdict)
    assert (outcome.reason is None) == (status == "scored")


def test_math_keeps_the_order_of_a_batch():
    answers = [Answer(f"#### {i}", str(i % 3)) for i in range(50)]
    assert [o.value for o in judge(MathVerifier(), answers)] == [float(i < 3) for i in range(50)]


@pytest.mark.parametrize(
    "text",
    [
        "<think>a</think><answer>b</answer>",
        "  <think>\nlong\nthought\n</think>\n\n<answer> 1 </answer>\n",
        "<think>x < y and <b>bold</b></think><answer>∞</answer>",
    ],
)
def test_format_accepts_what_was_asked_for(text):
    (outcome,) = judge(FormatVerifier(), [Answer(text)])
    assert (outcome.value, outcome.verdict) == (1.0, "well_formed")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<think>a</think>",
        "<answer>b</answer>",
        "<answer>b</answer><think>a</think>",
        "<think>a</think><answer>b</answer> and more",
        "before <think>a</think><answer>b</answer>",
        "<think>a</think> between <answer>b</answer>",
        "<think>a</think><answer>b</answer><answer>c</answer>",
        "<think>a</think><answer>b</answer>\n<think>a</think>",
        "<think>a</think></think><answer>b</answer>",
        "<think><think>a</think><answer>b</answer>",
        "<think>a<answer>b</answer></think>",
        "<think></think><answer>b</answer>",
        "<think>a</think><answer> \n\u200b\u00a0</answer>",
        "<think>a</think><answer>b",
        "<think>a</think><answer>b</answer><Answer>c</ANSWER>",
        "<think>a</think><answer>the tag <ANSWER> again</answer>",
        "</think>a<think><answer>b</answer>",
    ],
)
def test_format_cannot_be_gamed(text):
    (outcome,) = judge(FormatVerifier(), [Answer(text)])
    assert (outcome.value, outcome.verdict) == (0.0, "malformed")


def test_format_with_other_tags_and_an_opened_block():
    plan = "<plan>p</plan><code>c</code><tests>t</tests>"
    assert judge(FormatVerifier(), [Answer(plan)], tags=("plan", "code", "tests"))[0].value == 1.0
    thought = "a</think><answer>b</answer>"
    assert judge(FormatVerifier(), [Answer(thought)], opened=True)[0].value == 1.0
    assert judge(FormatVerifier(), [Answer("<think>" + thought)], opened=True)[0].value == 0.0


@pytest.mark.parametrize("tags", [(), ("a b",), ("a", "A"), ("<x>",), ("",), ("é",)])
def test_format_refuses_odd_tags(tags):
    with pytest.raises(ValueError, match="tags"):
        FormatVerifier.params(tags=tags)


PIECES = ["<think>", "</think>", "<answer>", "</answer>", "x", " "]


@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_format_accepts_exactly_one_shape(pieces):
    expected = any(
        "".join(pieces).strip() == f"<think>{a}</think>{gap}<answer>{b}</answer>"
        for gap in ("", " ", "  ", "   ")
        for a, b in itertools.product(_fillings(4), repeat=2)
    )
    assert well_formed("".join(pieces), TAGS) == expected


def _fillings(longest):
    texts = {"".join(p) for n in range(1, longest + 1) for p in itertools.product("x ", repeat=n)}
    return [text for text in texts if text.strip()]


@given(st.text(max_size=60))
def test_format_takes_any_text(text):
    wrapped = f"<think>{text}a</think><answer>{text}b</answer>"
    tags = any(tag in text.lower() for tag in ("think>", "answer>"))
    assert well_formed(wrapped, TAGS) or tags


@pytest.mark.parametrize(
    ("tokens", "limit", "buffer", "value"),
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
def test_length_is_dapo_equation_13(tokens, limit, buffer, value):
    assert soft_overlong(tokens, limit, buffer, 1.0) == pytest.approx(value, abs=1e-15)
    kwargs = {"max_tokens": limit, "buffer_tokens": buffer, "penalty": 0.5}
    (outcome,) = judge(LengthVerifier(), [Answer("", num_tokens=tokens)], **kwargs)
    assert outcome.value == pytest.approx(0.5 * value, abs=1e-15)
    assert outcome.metrics == {"tokens": tokens}


def test_length_without_num_tokens_is_unscorable_never_zero():
    answers = [Answer("x" * 500), Answer("x", num_tokens=1)]
    unknown, short = judge(LengthVerifier(), answers, max_tokens=10)
    assert (unknown.value, unknown.status) == (None, "unscorable")
    assert "num_tokens" in unknown.reason
    assert short.value == 0.0


def test_length_parameters_must_fit():
    with pytest.raises(ValueError, match="buffer_tokens"):
        LengthVerifier.params(max_tokens=10, buffer_tokens=11)


@pytest.mark.parametrize(
    ("completion", "part"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("<think>a", None),
        ("<think>a</think>b<think>c", None),
        ("<think>a</think>b<think>c</think>d", "d"),
    ],
)
def test_only_what_follows_the_thinking_counts(completion, part):
    assert final_part(completion) == part
