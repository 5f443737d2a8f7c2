"""From an answer to its normal form, in which equal answers are spelled alike: the twin of
`cpp/src/normal_form.cpp`. A number has an exact value; everything else stays text."""

import re
from typing import NamedTuple

from cohort.grading.reference.exact import shift
from cohort.grading.reference.labels import is_silent, same_label
from cohort.grading.reference.number import read_number
from cohort.grading.reference.spelling import SPACE, fold, peel, text_form
from cohort.grading.reference.words import CURRENCIES

MAX_CHARS = 4096
"""Longer answers are compared as they are."""


class NormalForm(NamedTuple):
    """An answer in its one spelling."""

    is_number: bool
    value: str
    """A decimal, a fraction in lowest terms that no decimal equals, or text."""
    unit: str = ""
    """`%`, a name such as `cm^2`, or nothing."""
    label: str = ""
    """What is counted, in the words of `labels.py`."""

    def __str__(self) -> str:
        unit = "" if self.unit in CURRENCIES else self.unit
        return f"{self.value}{'' if unit in ('', '%') else ' '}{unit}"


def normal_form(answer: str) -> NormalForm:
    """The normal form of `answer`; its value is empty when nothing is left of the answer."""
    if len(answer) > MAX_CHARS:
        return NormalForm(False, answer.strip(SPACE))
    text = peel(fold(answer))
    number = read_number(result(text))
    return NormalForm(True, *number) if number else NormalForm(False, text_form(text))


_ARITHMETIC = re.compile(r"(?:[-0-9+*/.,$()= ]|\\times|\\cdot)*=")


def result(text: str) -> str:
    """What stands after the last `=` of a calculation (`12 + 33 = 45`); other text as it is."""
    calculation = _ARITHMETIC.match(text)
    return (
        text[calculation.end() :] if calculation and "=" not in text[calculation.end() :] else text
    )


def same(answer: NormalForm, truth: NormalForm) -> bool:
    """Whether two normal forms are the same answer, the second one being right.

    A missing unit is fine; another unit, and other words in its place, are wrong. A percentage is
    its number or its hundredth; a truth below 1 without a percent sign is read as a share, so
    0.25 % is not 0.25.
    """
    if answer.is_number != truth.is_number:
        return False
    if answer.unit and truth.unit and answer.unit != truth.unit:
        return False
    if not same_label(answer.label, truth.label):
        return False
    for one, other in ((answer, truth), (truth, answer)):
        if other.unit and not one.unit and not is_silent(one.label):
            return False  # 5 points are not 5 cm
    if (answer.unit == "%") != (truth.unit == "%"):
        percent, plain = (answer, truth) if answer.unit == "%" else (truth, answer)
        below_one = truth.value.lstrip("-").startswith("0.") or "/" in truth.value
        is_share = answer.unit == "%" and below_one
        return (percent.value == plain.value and not is_share) or (
            shift(percent.value, "-2") == plain.value
        )
    return answer.value == truth.value
