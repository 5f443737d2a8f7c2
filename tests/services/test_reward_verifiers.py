"""Verifiers that need no other process: math, gsm8k, exact, format, repetition."""

import itertools
import json
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohort.contracts.reward import ScoreRequest
from services.reward.grader import Grader
from services.reward.verifiers.base import Answer, final_part
from services.reward.verifiers.exact import ExactVerifier
from services.reward.verifiers.format import FormatVerifier, well_formed
from services.reward.verifiers.gsm8k import Gsm8kVerifier
from services.reward.verifiers.math import MathVerifier
from services.reward.verifiers.repetition import MAX_UNITS, RepetitionVerifier, repeated_share
from services.reward.verifiers.rule import boxed_spans, tagged_spans

GSM8K = Path(__file__).parents[3] / "shared" / "data" / "gsm8k"
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
        "<Think>a</Think><answer>b</answer>",
        "<THINK>a</THINK><ANSWER>b</ANSWER>",
        "<think>a</think><answer>the tag <ANSWER> again</answer>",
        "</think>a<think><answer>b</answer>",
        # open-r1's regex with MULTILINE took the first four, TRL's the next two
        "<think>\na\n</think>\n<answer>\nb\n</answer>\nand text after it",
        "<think>\na\n</think>\n<answer>\nb\n</answer>\n<answer>\nc\n</answer>",
        "<think>\na\n</think>\n</think>\n<answer>\nb\n</answer>",
        "<think>\n\n</think>\n<answer>\n\n</answer>",
        "<think></think>b",
        "<think>a</think>b</think>c",
        "<think>a</think><answer>b</answer >c</answer>",
        "<think>a</think><answer>b</answer>< answer >c</ answer>",
        '<think>a</think><answer>b<answer id="2">c</answer>',
        "<think>a</think><answer>b<answer/></answer>",
        "<think>a</think><answer><answer>b</answer></answer>",
        "<think>a</think><answer>b</answer>\u200b",
        "\ufeff<think>a</think><answer>b</answer>",
        "<think>\u200b\u2060\ufeff</think><answer>b</answer>",
        "<think>a</think><answer>\u3164\u2800\ufe0f</answer>",
        "<think>a</think><answer>\x00\x08</answer>",
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


def test_format_with_free_text_after_the_blocks():
    kwargs = {"tags": ("think",), "then_text": True}
    for text, value in [
        ("<think>a</think> It is 4.", 1.0),
        ("<think>a</think>", 0.0),
        ("<think>a</think> \u200b", 0.0),
        ("<think></think> It is 4.", 0.0),
        ("<think>a</think> It is </think> 4.", 0.0),
        ("Well, <think>a</think> It is 4.", 0.0),
    ]:
        assert judge(FormatVerifier(), [Answer(text)], **kwargs)[0].value == value


def test_format_lets_other_tags_stand_in_a_block():
    text = "<think>x <answers> y <answer_key> z</think><answer>b < c</answer>"
    assert judge(FormatVerifier(), [Answer(text)])[0].value == 1.0


# gsm8k

SOLUTION = "He sells 16 - 3 - 4 = <<16-3-4=9>>9 eggs.\nThat is 9 * 2 = $<<9*2=18>>18.\n#### 18"


@pytest.mark.parametrize(
    ("completion", "truth", "verdict"),
    [
        (SOLUTION, SOLUTION, "correct"),
        (SOLUTION, "18", "correct"),
        (SOLUTION, 18, "correct"),
        (SOLUTION, 18.0, "correct"),
        # spellings that verl's strict pattern refuses
        ("#### 18.", "18", "correct"),
        ("#### $18", "18", "correct"),
        ("#### 18.00", "18", "correct"),
        ("#### $1,234.00.", "1234", "correct"),
        ("####18", "18", "correct"),
        ("#### -18", "-18", "correct"),
        ("#### -$18", "-18", "correct"),
        ("#### \u221218", "-18", "correct"),
        ("#### .5", "0.5", "correct"),
        ("#### 18 \n\n", "18", "correct"),
        ("#### 17\nNo.\n#### 18", "18", "correct"),
        ("<think>#### 17</think>\n#### 18", "18", "correct"),
        ("#### 18.000000000000000000000001", "18", "wrong"),
        ("#### 100000000000000000000000000001", "100000000000000000000000000000", "wrong"),
        ("#### -18", "18", "wrong"),
        ("#### 18\n#### 19", "18", "wrong"),
        ("The answer is 18", "18", "no_answer"),
        ("\\boxed{18}", "18", "no_answer"),
        ("#### 18\nSo it is 18.", "18", "no_answer"),
        ("#### 18 dollars", "18", "no_answer"),
        ("#### 18 or 19", "18", "no_answer"),
        ("#### 18, 19", "18", "no_answer"),
        ("#### 12,34", "1234", "no_answer"),
        ("#### 1,2345", "12345", "no_answer"),
        ("#### 18%", "18", "no_answer"),
        ("#### 36/2", "18", "no_answer"),
        ("#### \u0661\u0668", "18", "no_answer"),
        ("##### 18", "18", "no_answer"),
        ("It is #### 18", "18", "no_answer"),
        ("<think>#### 18", "18", "no_answer"),
        ("<think>#### 18</think>", "18", "no_answer"),
        ("####", "18", "no_answer"),
        ("#### " + "1" * 5000, "18", "no_answer"),
        ("", "18", "no_answer"),
    ],
)
def test_gsm8k_verdicts(completion, truth, verdict):
    (outcome,) = judge(Gsm8kVerifier(), [Answer(completion, truth)])
    value = 1.0 if verdict == "correct" else 0.0
    assert (outcome.value, outcome.status, outcome.verdict) == (value, "scored", verdict)


@pytest.mark.parametrize(
    "truth", ["", "eighteen", None, True, [18], {"answer": 18}, "#### 18 or 19", "18\n#### ", "1,8"]
)
def test_gsm8k_truth_that_is_no_number_is_unscorable(truth):
    (outcome,) = judge(Gsm8kVerifier(), [Answer("#### 18", truth)])
    assert (outcome.value, outcome.status) == (None, "unscorable")
    assert outcome.verdict == "unparsable_gold"


@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
def test_gsm8k_is_exact(mine, truth):
    for spelling in (f"{mine}", f"{mine:,}", f"{mine}.00"):
        (outcome,) = judge(Gsm8kVerifier(), [Answer(f"So\n#### {spelling}", str(truth))])
        assert outcome.verdict == ("correct" if mine == truth else "wrong")


@pytest.mark.skipif(not GSM8K.is_dir(), reason="GSM8K is not in ../shared/data")
@pytest.mark.parametrize("split", ["train", "test"])
def test_gsm8k_gold_is_right_for_itself_only(split):
    lines = (GSM8K / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    solutions = [json.loads(line)["answer"] for line in lines]
    numbers = [int(text.rpartition("####")[2].replace(",", "")) for text in solutions]
    own = judge(Gsm8kVerifier(), [Answer(text, text) for text in solutions])
    assert {outcome.verdict for outcome in own} == {"correct"}
    for shift in (1, 7):
        others = solutions[shift:] + solutions[:shift]
        pairs = zip(solutions, others, strict=True)
        found = judge(Gsm8kVerifier(), [Answer(text, other) for text, other in pairs])
        shifted = numbers[shift:] + numbers[:shift]
        equal = [mine == theirs for mine, theirs in zip(numbers, shifted, strict=True)]
        assert [outcome.value == 1.0 for outcome in found] == equal


# exact


@pytest.mark.parametrize(
    ("completion", "truth", "kwargs", "verdict"),
    [
        ("Paris", "Paris", {}, "correct"),
        (" Paris\n", "Paris", {}, "correct"),
        (" Paris", "Paris", {"strip": False}, "wrong"),
        ("paris", "Paris", {}, "wrong"),
        ("paris", "Paris", {"case_sensitive": False}, "correct"),
        ("STRASSE", "straße", {"case_sensitive": False}, "correct"),
        ("New \n York", "New York", {}, "wrong"),
        ("New \n York ", "New York", {"collapse_whitespace": True}, "correct"),
        ("New  York ", "New York", {"collapse_whitespace": True, "strip": False}, "wrong"),
        ("New  York ", "New York ", {"collapse_whitespace": True, "strip": False}, "correct"),
        ("Paris.", "Paris", {}, "wrong"),
        ("4", 4, {}, "correct"),
        ("Rome", ["Paris", "Rome"], {}, "correct"),
        ("Bonn", ["Paris", "Rome"], {}, "wrong"),
        ("<think>Rome</think>Paris", "Paris", {}, "correct"),
        ("<think>Rome</think>Paris", "Paris", {"part": "whole"}, "wrong"),
        ("<think>Paris", "<think>Paris", {"part": "whole"}, "correct"),
        ("<think>Paris", "<think>Paris", {}, "no_answer"),
        ("", "Paris", {}, "no_answer"),
        (" \n", " x", {"strip": False}, "no_answer"),
        ("I say <answer> Paris </answer>.", "Paris", {"extract": "answer_tag"}, "correct"),
        ("<answer>Paris", "Paris", {"extract": "answer_tag"}, "no_answer"),
        ("Paris", "Paris", {"extract": "answer_tag"}, "no_answer"),
        ("<answer>a</answer><answer>b</answer>", "b", {"extract": "answer_tag"}, "ambiguous"),
        ("<answer>b</answer><answer> b</answer>", "b", {"extract": "answer_tag"}, "correct"),
        ("<answer>a<answer>b</answer>", "b", {"extract": "answer_tag"}, "correct"),
        ("so \\boxed{x^{2}}", "x^{2}", {"extract": "boxed"}, "correct"),
        ("so \\boxed{x", "x", {"extract": "boxed"}, "no_answer"),
        ("\\boxed{a} or \\boxed{b}", "b", {"extract": "boxed"}, "ambiguous"),
        ("It is\nParis\n\n", "Paris", {"extract": "last_line"}, "correct"),
        ("Paris\nit is", "Paris", {"extract": "last_line"}, "wrong"),
    ],
)
def test_exact_verdicts(completion, truth, kwargs, verdict):
    (outcome,) = judge(ExactVerifier(), [Answer(completion, truth)], **kwargs)
    value = 1.0 if verdict == "correct" else 0.0
    assert (outcome.value, outcome.status, outcome.verdict) == (value, "scored", verdict)


@pytest.mark.parametrize("truth", [None, True, "", " ", [], ["a", ""], ["a", None], {"a": 1}])
def test_exact_truth_that_is_no_text_is_unscorable(truth):
    (outcome,) = judge(ExactVerifier(), [Answer("a", truth)])
    assert (outcome.value, outcome.status) == (None, "unscorable")
    assert outcome.verdict == "unparsable_gold"


@given(st.text(min_size=1, max_size=40).filter(lambda text: "think>" not in text and text.strip()))
def test_exact_accepts_a_text_for_itself_only(text):
    same, longer = judge(ExactVerifier(), [Answer(text, text), Answer(text + "x", text)])
    assert (same.verdict, longer.verdict) == ("correct", "wrong")


# where answers stand


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("\\boxed{1} and \\fbox {2}", ["1", "2"]),
        ("\\boxed{\\frac{1}{2}}", ["\\frac{1}{2}"]),
        ("\\boxed{\\boxed{1}}", ["1", "\\boxed{1}"]),
        ("\\boxed{\\{1\\}}", ["\\{1\\}"]),
        ("} \\boxed{1}", ["1"]),
        ("\\boxed{1", []),
        ("\\boxed{{1}", []),
        ("boxed{1}", []),
        ("{1}", []),
    ],
)
def test_boxes(text, contents):
    assert [text[start:end] for start, end in boxed_spans(text)] == contents


def test_tagged_blocks():
    text = "<a>1</a> <a>2 <a>3</a> </a> <a>4"
    assert [text[start:end] for start, end in tagged_spans(text, "a")] == ["1", "3"]


# repetition


@pytest.mark.parametrize(
    ("text", "kwargs", "value"),
    [
        ("5 5 5 5 5", {"n": 2}, -0.75),  # TRL's example on token ids
        ("5 5 5 5 5", {"n": 2, "penalty": 2.0}, -1.5),
        ("a b c a b c", {"n": 3}, -0.25),
        ("A b c a B C", {"n": 3}, -0.25),
        ("a b c d e", {"n": 3}, 0.0),
        ("a a", {"n": 3}, 0.0),
        ("a b", {"n": 3}, 0.0),
        ("", {}, 0.0),
        ("aaaa", {"n": 1, "unit": "characters"}, -0.75),
        ("好好好", {"n": 1, "unit": "characters"}, pytest.approx(-2 / 3)),
        ("aaaa", {"n": 1}, 0.0),
    ],
)
def test_repetition_is_the_share_of_repeated_n_grams(text, kwargs, value):
    (outcome,) = judge(RepetitionVerifier(), [Answer(text)], **kwargs)
    assert outcome.value == value
    assert outcome.verdict == ("repetitive" if outcome.value else "varied")
    assert outcome.metrics["repeated"] * kwargs.get("penalty", 1.0) == pytest.approx(-outcome.value)


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 5))
def test_repetition_stays_in_its_bounds_and_grows_with_a_copy(words, n):
    share = repeated_share(" ".join(words), n, "words")
    assert 0.0 <= share < 1.0
    assert repeated_share(" ".join(words * 2), n, "words") >= share
    assert repeated_share("".join(words), n, "characters") == share


def test_repetition_judges_the_end_of_an_endless_text():
    fresh = " ".join(map(str, range(MAX_UNITS)))
    assert repeated_share("loop " * 1000 + fresh, 3, "words") == 0.0
    assert repeated_share(fresh + " loop" * MAX_UNITS, 3, "words") > 0.99


@pytest.mark.parametrize(
    ("verifier", "kwargs", "field"),
    [
        (RepetitionVerifier(), {"n": 0}, "n"),
        (RepetitionVerifier(), {"n": 17}, "n"),
        (RepetitionVerifier(), {"penalty": -1.0}, "penalty"),
        (RepetitionVerifier(), {"unit": "lines"}, "unit"),
        (ExactVerifier(), {"extract": "regex"}, "extract"),
        (ExactVerifier(), {"pattern": "x"}, "pattern"),
        (Gsm8kVerifier(), {"flexible": True}, "flexible"),
    ],
)
def test_odd_parameters_are_refused_by_name(verifier, kwargs, field):
    with pytest.raises(ValueError, match=field):
        verifier.params.model_validate(kwargs)


@given(st.text(max_size=200))
def test_rules_take_any_text_and_judge_it_the_same_again(text):
    for verifier in (Gsm8kVerifier(), ExactVerifier(), FormatVerifier(), RepetitionVerifier()):
        first = judge(verifier, [Answer(text, "1")])
        assert first == judge(verifier, [Answer(text, "1")])
        assert first[0].status == "scored"


def test_a_rule_gives_way_to_the_deadline():
    answers = [Answer("word " * 20_000, "x")] * 2_000
    outcomes = [None] * len(answers)

    async def until_cancelled():
        with anyio.move_on_after(0.0):
            await RepetitionVerifier().score(answers, RepetitionVerifier.params(), outcomes)

    anyio.run(until_cancelled)
    assert outcomes[0] is not None
    assert outcomes[-1] is None


def test_rules_side_by_side_through_the_grader():
    verifiers = (Gsm8kVerifier(), ExactVerifier(), FormatVerifier(), RepetitionVerifier())
    rewards = [
        {"verifier": "gsm8k"},
        {"verifier": "exact", "weight": 0, "kwargs": {"extract": "last_line"}},
        {"verifier": "format", "weight": 0.5, "kwargs": {"tags": ["think"], "then_text": True}},
        {"verifier": "repetition", "weight": 0.1, "kwargs": {"n": 1}},
    ]
    items = [
        {"completion": "<think>9 + 9</think>\n#### 18", "ground_truth": "18"},
        {"completion": "ha ha", "ground_truth": "18"},
        {"completion": "#### 18", "ground_truth": "eighteen"},
    ]
    grader = Grader({v.name: v for v in verifiers})
    good, bad, broken = anyio.run(
        grader.score, ScoreRequest.model_validate({"items": items, "rewards": rewards})
    )
    assert (good.score, good.verdict) == (1.5, "correct")
    assert (bad.score, bad.verdict) == (pytest.approx(-0.05), "no_answer")
    assert bad.metrics["repetition.repeated"] == 0.5
    assert (broken.score, broken.status) == (None, "unscorable")
    assert broken.reason == ("gsm8k: ground_truth is neither a number nor ends in `#### <number>`")
