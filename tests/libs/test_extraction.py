"""Extraction: which answer a text commits to, and when it commits to none or to several."""

import json
from pathlib import Path

import pytest

from cohort import grading
from cohort.grading import reference

CASES = Path(__file__).with_name("cases_extraction.jsonl")

FAR = "We can check it in another way that needs some more words to say. "


@pytest.mark.parametrize(
    ("text", "rule", "answer"),
    [
        ("She makes 9 * 2 = 18 a day.\n#### 18", "gsm8k", "18"),
        ("####18\n\nQuestion: 3 more?", "gsm8k", "18"),
        ("#### $1,234.00.", "gsm8k", "$1,234.00"),
        ("#### Step 1: add\n#### 5 apples\n#### Summary\nDone.", "gsm8k", "5 apples"),
        ("#### Paris\n", "gsm8k", "Paris"),
        ("#### 18\n\n#### Check: she sells 9 eggs", "gsm8k", "18"),
        ("#### The answer is 18", "phrase", "18"),
        ("so \\boxed{4}, no: \\boxed{\\frac{1}{2}}", "boxed", "\\frac{1}{2}"),
        ("\\boxed{\\boxed{5}} \\boxed{ }", "boxed", "\\boxed{5}"),
        ("\\fbox {a \\} b}", "boxed", "a \\} b"),
        ("I mark it with \\boxed as asked. The result is $\\boxed 42$", "boxed", "42"),
        ("\\boxed{42}\n#### \\boxed{42}", "boxed", "42"),
        ("<think>x</think><answer>\n42\n</answer>", "tag", "42"),
        ("<answer>42", "tag", "42"),
        ("<answer>\nThe answer is $42$.\n</answer>", "phrase", "$42$"),
        ("The answer is 5. Wait.\nThe final Answer is: **$7$**.", "phrase", "$7$"),
        ("Answer:\n\n42 apples. 3 were left.", "phrase", "42 apples"),
        ("answer = 3</answer>", "phrase", "3"),
        ("**Final Answer: 42**", "phrase", "42"),
        ("### Final Answer\n\n42", "phrase", "42"),
        ("__42__ is the answer", "phrase", "__42__"),
        ("So B is the correct answer.", "phrase", "B"),
        ("The answer to the second part is therefore 42.", "phrase", "42"),
        ("The answer is C. 12", "phrase", "C"),
        ("The answer is B, not A.", "phrase", "B"),
        ("The answer is 72, in total, so the farmer earns that much.", "phrase", "72, in total"),
        ("Answer: She has 42 apples", "phrase", "42 apples"),
        ("Answer: all real numbers except 3", "phrase", "all real numbers except 3"),
        ("The answer is 42. So the answer is correct.", "phrase", "42"),
        ("The answer is 11 5/6.", "phrase", "11 5/6"),
        ("The final answer is:\n$$\n\\frac{1}{2}\n$$", "phrase", "\\frac{1}{2}"),
        ("\u56e0\u6b64\u7b54\u6848\u662f42\u3002", "phrase", "42"),
        ("\u7b54\u6848\uff1a42", "phrase", "42"),
        ("\u6545\u9009\uff1aB", "phrase", "B"),
        ("A: 18", "phrase", "18"),
        ("The line is $y = 3x + 13$.", "formula", "y = 3x + 13"),
        ("The line is y = 3x + 13", "formula", "y = 3x + 13"),
        ("The distance is \\sqrt{17}", "formula", "\\sqrt{17}"),
        ("The area is 25\u03c0.", "formula", "25\u03c0"),
        ("Therefore\n\\[\nx = 5\n\\]", "formula", "x = 5"),
        ("The roots are 2, 3, and 4.", "formula", "2, 3, and 4"),
        ("pick 27,93", "formula", "27,93"),
        ("5-3", "formula", "5-3"),
        ("The total is 4 10/3.", "formula", "4 10/3"),
        ("The correct option is (B).", "formula", "B"),
        ("**Yes**.", "formula", "Yes"),
        ("12 + 30 = 42.", "last_number", "42"),
        ("a profit of $200,000 - $130,000 = $70,000.", "last_number", "70,000"),
        ("so V = 3 * 4 * 5 = 60 in all", "last_number", "60"),
        ("She makes 6 x 7 = $42 for 6 hours.", "last_number", "42"),
        ("That is <<16*3=48>>48 kilograms of flour in 3 bags.", "last_number", "48"),
        ("He has 8 + 5 = 13 left, so he lost 7.", "last_number", "7"),
        ("The share is 4/20 x 100% = 20%.", "last_number", "20%"),
        ("2x = 10", "formula", "2x = 10"),
        ("It costs $1,234.50!", "last_number", "1,234.50"),
        ("The total is 72 clips, altogether.", "last_number", "72"),
        ("The total is 72. That is all.", "last_number", "72"),
        ("down to \u22123 degrees", "last_number", "\u22123 degrees"),
        ("a loss of -$5", "last_number", "-$5"),
        ("- 5", "last_number", "5"),
        ("it is 2 3/4", "last_number", "2 3/4"),
        ("half is \\frac{1}{2}.", "last_number", "\\frac{1}{2}"),
        ("weighs 5kg", "last_number", "5kg"),
        ("at 60 km/h.", "last_number", "60"),
        ("40% of CO2", "last_number", "40%"),
        ("<think>\\boxed{1}</think> so 2<|im_end|>", "last_number", "2"),
    ],
)
def test_extraction_says_rule_and_answer(text: str, rule: str, answer: str) -> None:
    found = grading.extract_answer(text)
    assert found is not None
    assert (found.rule, found.answer, found.ambiguous) == (rule, answer, False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I do not know.",
        "<think>It is \\boxed{42}",
        "</think>7 <think>",
        "\\boxed{}",
        "We obtain \\boxed{\\frac{1}{2",
        "\\boxed{4} and \\boxed{\\frac{1}{2}",
        "The answer is not 42.",
        "The answer isn't 42.",
        "\u7b54\u6848\u4e0d\u662f42\u3002",
        "42 is not right",
        "The answer is not \\boxed{42}.",
        "This problem cannot be solved. 7",
        "I could not solve this. 7",
        "Question: which of 3, 5, 7 is largest?\nI do not know.",
        "Is it 5?",
        "First 12 apples are bought. Then each apple is",
        "Each of the 12 apples is",
        "Each of the 12 apples",
    ],
)
def test_no_answer_is_none(text: str) -> None:
    assert grading.extract_answer(text) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("\\boxed{1} and \\boxed{2} and \\boxed{3}", "1, 2, 3"),
        ("$x=\\boxed{1}$, $y=\\boxed{2}$", "1, 2"),
        ("x = \\boxed{2} or x = \\boxed{-3}", "2, -3"),
        ("\\boxed{1}, \\boxed{2}, \\boxed{1}", "1, 2"),
    ],
)
def test_boxes_side_by_side_are_one_list(text: str, answer: str) -> None:
    found = grading.extract_answer(text)
    assert found is not None
    assert (found.answer, found.ambiguous) == (answer, False)


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 42 or 43.",
        "\\boxed{42} or \\boxed{43}",
        "<answer>A or B or C</answer>",
        "#### 42 or 43",
        "It is 42 or 43",
        "Maybe \\boxed{42}?",
        "The answer is $42$, or maybe $43$.",
        "It could be 42",
        "The answer is 7 if n is odd and 8 otherwise.",
        "\\boxed{7} if n is odd and \\boxed{8} otherwise.",
        "The answer is 7 when n is odd.",
        f"One possible answer is \\boxed{{42}}. {FAR}Another possible answer is \\boxed{{43}}.",
        " ".join(f"\\boxed{{{number}}}" for number in range(980, 1000)),
        "\n".join(f"The answer is {number}." for number in range(980, 1000)),
        ", ".join(f"\\boxed{{{number}}}" for number in range(960, 1000)),
        "<answer>41</answer><answer>42</answer>",
        "\\boxed{41}. The answer is 42.",
        "\\boxed{42}. Wait, that is wrong.",
        "\\boxed{42} is wrong.",
        "The answer is 42. I made a mistake.",
    ],
)
def test_hedges_guesses_and_retractions_are_ambiguous(text: str) -> None:
    found = grading.extract_answer(text)
    assert found is not None
    assert found.ambiguous
    assert {grading.grade_math(text, truth) for truth in ("42", "43", "7", "999", "A")} == {
        "ambiguous"
    }


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("First \\boxed{5}. That is wrong; correcting, the answer is \\boxed{7}.", "7"),
        ("\\boxed{42}\n\nWait, that is wrong: I dropped a factor. The answer is 43.", "43"),
        ("Answer: 5\nWait, I dropped a sign.\nAnswer: 7", "7"),
        ("I first thought \\boxed{C}, but the evidence points to \\boxed{E}", "E"),
        (f"The first part gives \\boxed{{3}}. {FAR}In all that is \\boxed{{8}}.", "8"),
        ("The number is \\boxed{3}, so we double it and have \\boxed{6}", "6"),
        ("\\boxed{42} " * 20, "42"),
        ("\\boxed{42}\n\nActually, let me double check: 6 * 7 = 42. Yes.", "42"),
        ("The answer is $\\boxed{42}$, not $\\boxed{43}$.", "42"),
        ("It isn't \\boxed{43}, it is \\boxed{42}.", "42"),
        ("The largest possible value is \\boxed{42}.", "42"),
        ("The answer is probably 42.", "42"),
        ("\\boxed{\\frac{1}{2}}. The answer is 0.5", "\\frac{1}{2}"),
    ],
)
def test_the_last_committed_answer_wins(text: str, answer: str) -> None:
    found = grading.extract_answer(text)
    assert found is not None
    assert (found.answer, found.ambiguous) == (answer, False)


def test_offsets_are_characters() -> None:
    text = "<think>\u5341\u516b</think>\U0001f600 \u7b54\u6848: \\boxed{\u00e9t\u00e9}"
    found = grading.extract_answer(text)
    assert found is not None
    assert found.answer == "\u00e9t\u00e9" == text[found.start : found.end]


@pytest.mark.parametrize(
    "part",
    [
        *("####", "#### a", "\\boxed{", "\\boxed", "\\boxed{}", "\\boxed{1},", "box", "}", "$"),
        *("answer: ", "answer", "answer is not ", "answer to ", "<answer>", "</answer>", "</a>"),
        *("A:\n", "x1,", "1,000", "1, ", "[1", "|", "<think", "\\", " ", "\n", "\u7b54\u6848"),
    ],
)
def test_extraction_takes_linear_time(part: str) -> None:
    # Quadratic steps would take minutes here.
    text = part * 200_000
    grading.extract_answer(text)
    assert grading.extract_answer(text[:40_000]) == reference.extract_answer(text[:40_000])


def test_cases_of_every_kind() -> None:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    verdicts = grading.grade_math_batch(
        [case["completion"] for case in cases], [case["gold"] for case in cases]
    )
    pairs = list(zip(cases, verdicts, strict=True))
    assert [case for case, verdict in pairs if verdict == "correct" and not case["expected"]] == []
    assert [case for case, verdict in pairs if verdict != "correct" and case["expected"]] == []
    for case in cases:
        completion = case["completion"]
        assert grading.extract_answer(completion) == reference.extract_answer(completion)
