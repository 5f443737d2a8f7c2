"""Which answer a text gives: the twin of `cpp/src/extract.cpp`, by the rules in `extract.h`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cohort.grading.reference.boxes import boxes
from cohort.grading.reference.commitment import are_same, is_corrected, is_doubtful
from cohort.grading.reference.marked import hash_line, is_number, tags
from cohort.grading.reference.marks import Mark, Rule
from cohort.grading.reference.phrases import letter_line, phrases
from cohort.grading.reference.statement import statement

MAX_PARTS = 32
"""Boxes that stand as one list; more are guesses."""
MAX_CONNECTOR = 40
"""Characters between two boxes of a list."""

MAX_GAP = 400
"""Characters before a phrase in which it may correct what was marked before it."""


class Extraction(NamedTuple):
    """The answer that a text gives, the rule that found it, and where it stands."""

    answer: str
    rule: Rule
    start: int
    """Offsets are characters of the whole text: `answer == text[start:end]`, unless several boxes
    stand as one list: then the answer is their texts joined by ", ", from the first to the last."""
    end: int
    ambiguous: bool = False
    """Hedged, retracted or one of several answers: never right."""


def extract_answer(text: str) -> Extraction | None:
    """The answer that `text` commits to, or None."""
    closed = text.rfind("</think>")
    begin = 0 if closed < 0 else closed + len("</think>")
    if text.find("<think>", begin) >= 0:
        return None
    found = _committed(text[begin:])
    return found and found._replace(start=found.start + begin, end=found.end + begin)


def _committed(text: str) -> Extraction | None:
    last = _last_marked(text)
    if last is None:
        return _unmarked(text, 0)
    if last.start == last.end:  # an unfinished box
        return None
    after = next(phrases(text, last.stop), None)
    if after and after.start < after.end:
        if is_corrected(text[last.stop : after.begin][-MAX_GAP:]):
            return _unmarked(text, last.stop)
        if _are_other_numbers(text, last, after):
            return _extraction(text, after, ambiguous=True)
    if last.rule == "boxed":
        return _boxed(text)
    if last.rule == "tag":
        return _tagged(text, last)
    if next(phrases(text[: last.end], last.start), None):
        return _unmarked(text[: last.end], last.start)
    return _extraction(text, last, is_doubtful(text, last, last, None))


def _extraction(text: str, mark: Mark, ambiguous: bool) -> Extraction:
    answer = text[mark.start : mark.end]
    return Extraction(answer, mark.rule, mark.start, mark.end, ambiguous)


def _last_marked(text: str) -> Mark | None:
    marks = (hash_line(text), next(boxes(text), None), next(tags(text), None))
    return max(filter(None, marks), key=lambda mark: mark.begin, default=None)


def _are_other_numbers(text: str, mark: Mark, other: Mark) -> bool:
    both = all(is_number(text[m.start : m.end]) for m in (mark, other))
    return both and not are_same(text, mark, other)


def _unmarked(text: str, begin: int) -> Extraction | None:
    """What a phrase announces, else what the text ends in."""
    negated = False
    found = phrases(text, begin)
    for mark in found:
        if mark.start < mark.end:
            first, previous = _repeated(text, mark, found)
            return _extraction(text, mark, negated or is_doubtful(text, mark, first, previous))
        negated = True
    if negated:
        return None
    last = letter_line(text, begin) or statement(text, begin)
    return last and _extraction(text, last, is_doubtful(text, last, last, None))


def _repeated(text: str, mark: Mark, earlier: Iterator[Mark]) -> tuple[Mark, Mark | None]:
    """The first of the marks in a row that give the same answer, and the one before them."""
    first = mark
    for other in earlier:
        if other.start < other.end:
            if not are_same(text, other, mark):
                return first, other
            first = other
    return first, None


def _tagged(text: str, tag: Mark) -> Extraction | None:
    """The answer in a tag: a phrase, its one line, or what its lines end in."""
    inside = text[: tag.end]
    is_line = "\n" not in text[tag.start : tag.end]
    if next(phrases(inside, tag.start), None) or not is_line:
        return _unmarked(inside, tag.start)
    found = tags(text)
    first, previous = _repeated(text, next(found), found)
    return _extraction(text, tag, is_doubtful(text, tag, first, previous))


# boxes

_LOOSE = re.compile(r"\\(?:text|mbox|quad|qquad)|[ \t\n\v\f\r$*{}()\\\[\]&.]")
_CONNECTOR = re.compile(
    r"(?:[,;\u3001\uff0c\u548c]|[,;]?and)(?:[A-Za-z](?:_?[0-9])?=)?|or[A-Za-z](?:_?[0-9])?="
)


def _boxed(text: str) -> Extraction:
    """The last box, or the list that it closes (`\\boxed{1}, \\boxed{2} and \\boxed{3}`)."""
    found = boxes(text)
    last = first = next(found)
    parts, previous = [last], None
    for box in found:
        if box.start == box.end or len(parts) > MAX_PARTS:
            break
        if _connects(text[box.stop : first.begin]):
            parts.insert(0, box)
        elif not are_same(text, box, last):
            previous = box
            break
        first = box
    parts = parts if len(parts) > MAX_PARTS else _distinct(text, parts)
    if len(parts) == 1:
        return _extraction(text, last, is_doubtful(text, last, first, previous))
    ambiguous = len(parts) > MAX_PARTS or is_doubtful(text, last, first, None)
    answer = ", ".join(text[part.start : part.end] for part in parts)
    return Extraction(answer, "boxed", parts[0].start, parts[-1].end, ambiguous)


def _connects(gap: str) -> bool:
    if len(gap) > MAX_CONNECTOR:
        return False
    return _CONNECTOR.fullmatch(_LOOSE.sub("", gap)) is not None


def _distinct(text: str, boxes: list[Mark]) -> list[Mark]:
    kept: list[Mark] = []
    for box in boxes:
        if not any(are_same(text, box, other) for other in kept):
            kept.append(box)
    return kept
