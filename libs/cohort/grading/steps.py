"""The arithmetic steps of a worked solution; found and checked in C++ (`cpp/src/steps.cpp`)."""

from collections.abc import Sequence
from typing import NamedTuple

from cohort.grading import _native


class ArithmeticStep(NamedTuple):
    """One `a + b = c` of a solution."""

    end: int
    """Character after it."""
    right: bool
    """Both sides have the same value; a decimal may be rounded to the digits it shows."""
    value: str
    """Exact value of the right side (`24`, `7/2`); empty when it has none."""


def find_steps(text: str) -> list[ArithmeticStep]:
    """The steps of `text` in order, at most 1024 of them.

    Raises `UnicodeEncodeError` for a lone surrogate, as everything in `cohort.grading`.
    """
    return find_steps_batch([text])[0]


def find_steps_batch(texts: Sequence[str]) -> list[list[ArithmeticStep]]:
    """`find_steps` of each text, in one call that releases the GIL."""
    return [[ArithmeticStep(*step) for step in steps] for steps in _native.find_steps_batch(texts)]
