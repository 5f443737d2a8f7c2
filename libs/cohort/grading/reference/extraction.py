"""Which answer a text gives: the twin of `cpp/src/extract.cpp`, by the rules in `extract.h`."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from cohort.grading.reference.boxes import boxes, is_part
from cohort.grading.reference.commitment import are_same, is_corrected, is_doubtful
from cohort.grading.reference.lines import window_start
from cohort.grading.reference.marked import hash_lines, is_number, tags
from cohort.grading.reference.marks import Mark, Rule
from cohort.grading.reference.phrases import letter_line, phrases
from cohort.grading.reference.statement import statement

MAX_PARTS = 32
"""Boxes that stand as one list; more are guesses."""
MAX_CONNECTOR = 40
"""Characters between two boxes of a list."""

MAX_GAP = 400
"""Characters before a phrase in which it may correct what was marked before it."""


_CLOSED = re.compile(r"</think(?:ing)?>|<\|end_of_thought\|>")
_OPENED = re.compile(r"<think(?:ing)?>|<\|begin_of_thought\|>")


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
    begin = max((tag.end() for tag in _CLOSED.finditer(text)), default=0)
    if _OPENED.search(text, begin):
        return None
    found = _committed(text[begin:])
    return found and found._replace(start=found.start + begin, end=found.end + begin)


def _committed(text: str) -> Extraction | None:
    last = _last_marked(text)
    if last is None:
        return _unmarked(text, 0)
    if last.start == last.end:  # an unfinished box
        return None
    after = next((mark for mark in phrases(text, last.stop) if not mark.is_aside), None)
    if after and after.start < after.end:
        gap = max(window_start(text, after.begin, MAX_GAP), last.stop)
        if is_corrected(text[gap : after.begin]):
            return _unmarked(text, last.stop)
        if _are_other_numbers(text, last, after):
            return _extraction(text, after, ambiguous=True)
    if last.rule == "boxed":
        return _boxed(text)
    if last.rule == "tag":
        return _tagged(text, last)
    if next(phrases(text[: last.end], last.start), None):
        return _unmarked(text[: last.end], last.start)
    found = hash_lines(text)
    line = text[text.rfind("\n", 0, last.begin) + 1 : last.begin]
    return _trailed(text, next(found), found, ambiguous="####" in line)


def _trailed(text: str, mark: Mark, earlier: Iterator[Mark], ambiguous: bool = False) -> Extraction:
    """The answer of the last mark, in doubt of what the `earlier` ones gave."""
    trail = _trail(text, mark, mark, earlier)
    return _extraction(text, mark, ambiguous or is_doubtful(text, mark, trail))


def _extraction(text: str, mark: Mark, ambiguous: bool) -> Extraction:
    answer = text[mark.start : mark.end]
    return Extraction(answer, mark.rule, mark.start, mark.end, ambiguous)


def _last_marked(text: str) -> Mark | None:
    marks = (next(hash_lines(text), None), next(boxes(text), None), next(tags(text), None))
    return max(filter(None, marks), key=lambda mark: mark.begin, default=None)


def _are_other_numbers(text: str, mark: Mark, other: Mark) -> bool:
    both = all(is_number(text[m.start : m.end]) for m in (mark, other))
    return both and not are_same(text, mark, other)


def _unmarked(text: str, begin: int) -> Extraction | None:
    """What a phrase announces, else what the text ends in."""
    negated = is_aside = False
    found = phrases(text, begin)
    for mark in found:
        if mark.start < mark.end:
            return _trailed(text, mark, found, negated)
        is_aside |= mark.is_aside
        negated |= not mark.is_aside
    if negated or is_aside:
        return None
    last = letter_line(text, begin) or statement(text, begin)
    return last and _extraction(text, last, is_doubtful(text, last, [last]))


def _trail(text: str, last: Mark, first: Mark, earlier: Iterable[Mark]) -> list[Mark]:
    """The first of the marks in a row that give the last answer, and up to two other answers."""
    trail = [first]
    for mark in earlier:
        if mark.start >= mark.end:
            continue
        if _give_same(text, mark, last if len(trail) == 1 else trail[-1]):
            trail[-1] = mark
            continue
        if len(trail) == 2 and _give_same(text, mark, last):
            break
        trail.append(mark)
        if len(trail) == 3:
            break
    return trail


def _give_same(text: str, *marks: Mark) -> bool:
    """Whether two marks give the same, maybe as the result of a calculation."""
    equals = (text.rfind("=", mark.start, mark.end) for mark in marks)
    mark, other = (
        m._replace(start=max(m.start, at + 1)) for m, at in zip(marks, equals, strict=True)
    )
    return are_same(text, mark, other)


def _tagged(text: str, tag: Mark) -> Extraction | None:
    """The answer in a tag: a phrase, its one line, or what its lines end in."""
    inside = text[: tag.end]
    is_line = "\n" not in text[tag.start : tag.end]
    if next(phrases(inside, tag.start), None) or not is_line:
        return _unmarked(inside, tag.start)
    found = tags(text)
    next(found)
    return _trailed(text, tag, found)


# boxes

_LOOSE = re.compile(r"\\(?:text|mbox|quad|qquad)|[ \t\n\v\f\r$*{}()\\\[\]&.]")
_CONNECTOR = re.compile(
    r"(?:[,;\u3001\uff0c\u548c]|[,;]?and)(?:[A-Za-z](?:_?[0-9])?=)?|or[A-Za-z](?:_?[0-9])?="
)


def _boxed(text: str) -> Extraction:
    """The last box, or the list that it closes (`\\boxed{1}, \\boxed{2} and \\boxed{3}`)."""
    found = boxes(text)
    last = first = next(found)
    parts, earlier = [last], []
    for box in found:
        if box.start == box.end or len(parts) > MAX_PARTS:
            break
        if _connects(text[box.stop : first.begin]):
            parts.insert(0, box)
        elif not are_same(text, box, last):
            earlier = [box]
            break
        first = box
    parts = parts if len(parts) > MAX_PARTS else _distinct(text, parts)
    if len(parts) == 1:
        trail = _trail(text, last, first, chain(earlier, found))
        return _extraction(text, last, is_part(text, last) or is_doubtful(text, last, trail))
    ambiguous = len(parts) > MAX_PARTS or is_doubtful(text, last, [first])
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
