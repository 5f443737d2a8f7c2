"""Boxes, from the end of a text: the twin of `cpp/src/boxes.cpp`.

`\\boxed{18}`, `\\fbox {18}` and `\\boxed 18` are boxes; an empty one, the bare word and a negated
one (`not \\boxed{18}`) are not. Of boxes within each other the outermost counts.
"""

import re
from collections.abc import Iterator

from cohort.grading.reference.lines import at, sentence_lead, skip_spaces, strip_span, words_of
from cohort.grading.reference.marks import MAX_MARKS, Mark
from cohort.grading.reference.spelling import SPACE

MAX_NESTED = 4
"""Boxes around a box that are looked for, each at most MAX_REACH characters before it."""
MAX_REACH = 1000
MAX_NEGATION = 20
"""Characters before a box that may negate it."""
NEGATIONS = ("not", "isn't", "never", "cannot", "neither", "nor", "rather than")
MAX_BOX = 8192
"""Characters of a box; a longer one is unfinished."""

_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_BEFORE = re.compile(r"(?:[0-9^_]|(?:sqrt|[\^_]|frac\{[^{}]*\})\{)\Z")
_AFTER = re.compile(
    r"[0-9]|\^(?!\\circ|\{\\circ)|\.[0-9]|!\$|[x-z](?![A-Za-z])"
    r"| *(?:\+|\\(?:cdot|times)(?![A-Za-z])|\*(?=[ 0-9]))"
)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE = re.compile(
    r"[-+]?[0-9][0-9.,]*|[A-Z](?=[$.\\\n]|\Z)|\\(?!boxed|fbox)[A-Za-z]+[^ \t\n\v\f\r$]*"
)


def boxes(text: str) -> Iterator[Mark]:
    """Boxes from the last to the first; an unfinished one has an empty span and ends them.

    So does a negated one, when there is no other.
    """
    found, negated = False, None
    begins = [match.start() for match in _BOX.finditer(text)][-MAX_MARKS:]
    while begins:
        box = _read(text, begins.pop())
        if box is None:
            continue
        for begin in begins[: -MAX_NESTED - 1 : -1]:
            outer = _read(text, begin) if box.begin - begin <= MAX_REACH else None
            if outer and outer.stop > box.stop and outer.end > outer.start:
                box = outer
        while begins and begins[-1] >= box.begin:
            begins.pop()
        if box.start < box.end and _is_negated(text, box.begin):
            negated = negated or box._replace(end=box.start)
            continue
        found = True
        yield box
        if box.start == box.end:
            return
    if negated and not found:
        yield negated


def is_part(text: str, box: Mark) -> bool:
    """Whether a box is but a part of a formula: `1\\boxed{8}`, `\\sqrt{\\boxed{18}}`."""
    before = text[max(box.begin - MAX_NEGATION, 0) : box.begin]
    return _BEFORE.search(before) is not None or _AFTER.match(text, box.stop) is not None


def _is_negated(text: str, begin: int) -> bool:
    lead = sentence_lead(text, begin, MAX_NEGATION)
    if lead.rstrip(SPACE + "$({").endswith(("\\ne", "\\neq", "\u2260", "!=")):
        return True
    return words_of(lead).endswith(tuple(f" {negation} " for negation in NEGATIONS))


def _read(text: str, begin: int) -> Mark | None:
    """The box that begins at `begin`; None when it is empty or only mentioned."""
    word_end = begin + (6 if text.startswith("boxed", begin + 1) else 5)
    start = skip_spaces(text, word_end)
    if at(text, start) != "{":
        bare = _BARE.match(text, start)
        if not bare:
            return None
        span = strip_span(text, bare.start(), bare.end(), "", ".,")
        return Mark("boxed", begin, *span, bare.end()) if span else None
    close = _group_end(text, start)
    if close < 0:
        return Mark("boxed", begin, start, start, len(text))
    span = strip_span(text, start + 1, close, SPACE, SPACE)
    return Mark("boxed", begin, *span, close + 1) if span else None


def _group_end(text: str, start: int) -> int:
    """Index of the brace that closes the one at `start`; -1 when none does."""
    depth = 0
    for match in _BRACE.finditer(text, start, start + MAX_BOX):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match[0] == "}":
            return match.start()
    return -1
