"""What the rules share: a marked answer and where it stands."""

from typing import Literal, NamedTuple

Rule = Literal["gsm8k", "boxed", "tag", "phrase", "formula", "last_number"]

MARKED: tuple[Rule, ...] = ("gsm8k", "boxed", "tag", "phrase")
"""Rules by which the text itself marks its answer; a ground truth may use them too."""

MAX_MARKS = 256
"""Marks of a kind that are looked at, from the end."""


class Mark(NamedTuple):
    """An answer and the mark around it."""

    rule: Rule
    begin: int
    """Where the mark begins."""
    start: int
    """Where the answer begins."""
    end: int
    """Where the answer ends; not after `start` when there is a mark but no answer."""
    stop: int
    """Where the mark ends."""
    is_aside: bool = False
    """Whether it is said of another answer than the one that is given; the span is empty then."""
