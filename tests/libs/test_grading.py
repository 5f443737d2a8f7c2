"""Grading: exact numbers, verdicts, and GSM8K's gold against itself."""

import itertools
import json
import threading
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohort import grading

CASES = Path(__file__).with_name("cases_math.jsonl")
GSM8K = Path(__file__).parents[3] / "shared" / "data" / "gsm8k"

# normal form


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("+0012.50", "12.5"),
        ("-0", "0"),
        (".5", "0.5"),
        ("$1,234.00", "1234"),
        ("\\$9{,}500", "9500"),
        ("1 234 567", "1234567"),
        ("12,345,678,901,234,567,890", "12345678901234567890"),
        ("\u20ac 18,00", "\\euro 18, 00"),
        ("27,93", "27, 93"),
        ("\\dfrac{-4}{6}", "-2/3"),
        ("-\\frac12", "-0.5"),
        ("3/0", "3/0"),
        ("1 1/4", "1.25"),
        ("4 10/3", "4 10/3"),
        ("1.5/0.5", "3"),
        ("33.50\\%", "33.5%"),
        ("18 dollars a day", "18"),
        ("72 clips, altogether", "72"),
        ("42 or 43", "42 or 43"),
        ("5\\text{ cm}", "5 cm"),
        ("12 square feet", "12 foot^2"),
        ("74^{\\circ}", "74 degree"),
        ("3.5 million", "3500000"),
        ("12 + 33 = 45 apples", "45"),
        ("6 \u00d7 (7 = 42", "42"),
        ("x^2 - 5 = 0", "x^2-5=0"),
        ("2 = x", "2=x"),
        ("3e-2", "0.03"),
        ("$\\boxed{\\text{13}}$.", "13"),
        ("\\textbf{(B)}", "B"),
        ("\\left( 3 , x \\right)", "(3, x)"),
        ("x^{2} + 1", "x^2+1"),
        ("\\text{Yes}", "yes"),
        ("10!", "10!"),
        (" $ ", "$"),
        ("", ""),
    ],
)
def test_normal_form(answer: str, expected: str) -> None:
    assert grading.normalize_answer(answer) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_decimals_keep_their_exact_value(value: Decimal) -> None:
    normal = grading.normalize_answer(f"{value:,f}")
    assert Decimal(normal) == value
    assert grading.normalize_answer(normal) == normal
    assert grading.answers_equal(f"**${value:f}$**.", normal)
    other = f"{value + Decimal('0.000001'):f}"
    assert not grading.answers_equal(other, normal, decimals="exact")


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**9))
def test_fractions_keep_their_exact_value(top: int, bottom: int) -> None:
    normal = grading.normalize_answer(f"\\frac{{{top}}}{{{bottom}}}")
    assert Fraction(normal) == Fraction(top, bottom)
    for same in (f"{top}/{bottom}", f"-\\dfrac{{{-top * 7}}}{{{bottom * 7}}}", normal):
        assert grading.normalize_answer(same) == normal
    assert not grading.answers_equal(f"{top + 1}/{bottom}", normal)


# verdicts


@pytest.mark.parametrize(
    ("answer", "truth", "equal"),
    [
        ("5 cm", "5", True),
        ("5", "5 cm", True),
        ("5 cm", "5 m", False),
        ("12 cm^2", "12 \\text{ cm}^3", False),
        ("25", "25%", True),
        ("0.25", "25%", True),
        ("25%", "0.25", True),
        ("0.25%", "0.25", False),
        ("2.5%", "25%", False),
        ("3m", "3", False),
        ("01", "0,1", False),
        ("ab", "AB", False),
        ("evelyn", "\\text{Evelyn}", True),
        ("0.333", "1/3", False),
        ("5", "5.0000000000000000000000000001", False),
    ],
)
def test_equality(answer: str, truth: str, equal: bool) -> None:
    assert grading.answers_equal(answer, truth) is equal


@pytest.mark.parametrize(
    ("completion", "truth", "verdict"),
    [
        ("So she earns $18.00 a day.", "She earns 9 * 2 = 18.\n#### 18", "correct"),
        ("#### 18", "A: 18", "correct"),
        ("\\boxed{\\frac{2}{4}}", "The area is \\boxed{0.5}.", "correct"),
        ("The answer is not 18", "18", "no_answer"),
        ("The answer is 17 or 18.", "18", "ambiguous"),
        ("", "18", "no_answer"),
        ("<think>18", "18", "no_answer"),
        ("\\boxed{\\,}", "18", "no_answer"),
        ("18", "", "unparsable_gold"),
        ("18", "\\boxed{\\,}", "unparsable_gold"),
        ("18", "He has 9.\nShe has 18.", "unparsable_gold"),
        ("18", "1" * 5000, "unparsable_gold"),
    ],
)
def test_verdicts(completion: str, truth: str, verdict: str) -> None:
    assert grading.grade_math(completion, truth) == verdict


def test_cases_of_every_kind() -> None:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    verdicts = grading.grade_math_batch(
        [case["completion"] for case in cases], [case["gold"] for case in cases]
    )
    pairs = list(zip(cases, verdicts, strict=True))
    assert [case for case, verdict in pairs if verdict == "correct" and not case["expected"]] == []
    assert [case for case, verdict in pairs if verdict != "correct" and case["expected"]] == []


@pytest.mark.parametrize(
    ("policy", "answer", "truth", "right_under_it"),
    [
        ({"percent": "exact"}, "25", "25\\%", False),
        ({"units": "same"}, "500 \\text{ cm}", "5 \\text{ m}", False),
        ({"units": "required"}, "5", "5 \\text{ m}", False),
        ({"decimals": "exact"}, "0.2902", "0.29", False),
        ({"digits": 3}, "1.41", "\\sqrt{2}", True),
        ({"unsolved": "accept"}, "|2x-12.5| < 12.5", "(0, 12.5)", True),
        ({"open_forms": "refuse"}, "\\sum_{k=1}^{10} k", "55", False),
        ({"assignments": "exact"}, "x=5", "5", False),
        ({"lists": "ordered"}, "2, 1", "1, 2", False),
        ({"inequalities": "exact"}, "x<3", "(-\\infty,3)", False),
        ({"roots": "principal"}, "-2", "\\sqrt[3]{-8}", False),
        ({"log": "e"}, "\\log 2", "\\ln 2", True),
    ],
)
def test_a_policy_changes_the_verdict(
    policy: grading.Policy, answer: str, truth: str, right_under_it: bool
) -> None:
    assert grading.answers_equal(answer, truth, **policy) is right_under_it
    assert grading.answers_equal(answer, truth) is not right_under_it


def test_the_last_commitment_counts_when_asked() -> None:
    text = "Candidates:\nThe answer is 41.\nThe answer is 42."
    assert grading.grade_math(text, "42") == "ambiguous"
    assert grading.grade_math(text, "42", commitment="last") == "correct"
    assert grading.grade_math(text, "41", commitment="last") == "wrong"


def test_policies_are_checked() -> None:
    with pytest.raises(TypeError, match="there is no policy unit"):
        grading.grade_math("1", "1", unit="same")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="units is one of convert, same, required, not none"):
        grading.grade_math("1", "1", units="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="digits is 1 to 100"):
        grading.grade_math_batch(["1"], ["1"], digits=0)


def test_batch_is_each_pair_in_order() -> None:
    completions, truths = ["#### 1", "2", "", "4"] * 3, ["1", "1", "1", ""] * 3
    pairs = zip(completions, truths, strict=True)
    assert grading.grade_math_batch(completions, truths) == [grading.grade_math(*p) for p in pairs]
    assert grading.grade_math_batch([], []) == []


def test_misuse_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="got 1 completions and 2 truths"):
        grading.grade_math_batch(["1"], ["1", "2"])
    with pytest.raises(TypeError, match="expected str, got int"):
        grading.grade_math_batch(["1"], [1])  # type: ignore[list-item]
    with pytest.raises(UnicodeEncodeError):
        grading.grade_math("\ud800", "1")


def test_batch_releases_the_interpreter() -> None:
    completions, truths = ["x " * 2000 + "#### 18"] * 20_000, ["18"] * 20_000

    def num_sleeps_meanwhile() -> int:
        entered, left = threading.Event(), threading.Event()

        def grade() -> None:
            entered.set()
            grading.grade_math_batch(completions, truths)
            left.set()

        worker = threading.Thread(target=grade)
        worker.start()
        entered.wait()
        num_sleeps = 0
        while num_sleeps < 10 and not left.is_set():
            time.sleep(0.001)
            num_sleeps += 1
        worker.join()
        assert left.is_set()
        return num_sleeps

    # While a batch holds the interpreter, the first sleep ends after the batch. On a busy machine
    # either may be late now and then, hence a few times out of many.
    times = (num_sleeps_meanwhile() for _ in range(40))
    assert len(list(itertools.islice((num for num in times if num == 10), 4))) == 4


# data


@pytest.mark.skipif(not GSM8K.is_dir(), reason="GSM8K is not in ../shared/data")
@pytest.mark.parametrize("split", ["train", "test"])
def test_gsm8k_gold_is_right_for_itself_only(split: str) -> None:
    lines = (GSM8K / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    solutions = [json.loads(line)["answer"] for line in lines]
    numbers = [int(text.rpartition("####")[2].replace(",", "")) for text in solutions]
    assert set(grading.grade_math_batch(solutions, solutions)) == {"correct"}
    others, other_numbers = solutions[1:] + solutions[:1], numbers[1:] + numbers[:1]
    expected = [
        "correct" if mine == theirs else "wrong"
        for mine, theirs in zip(numbers, other_numbers, strict=True)
    ]
    assert grading.grade_math_batch(solutions, others) == expected
