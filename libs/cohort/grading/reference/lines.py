"""Lines, sentences and words: the twin of `cpp/src/lines.cpp`.

Every window that a rule looks at has a bounded size, so that no text can make it slow.
"""

import re

from cohort.grading.reference.spelling import SPACE

Span = tuple[int, int]

_LINE_END = re.compile(r"\n|</|<\|")
_WORD = re.compile(r"[a-z0-9']+")
_LOWER = {**{code: code + 32 for code in range(ord("A"), ord("Z") + 1)}, 0x2019: ord("'")}


def at(text: str, index: int) -> str:
    """The character at `index`, empty outside of the text."""
    return text[index] if 0 <= index < len(text) else ""


def line_end(text: str, start: int, stop: int) -> int:
    """End of the line at `start`, or of its part before a closing tag or a special token."""
    found = _LINE_END.search(text, start, stop)
    return found.start() if found else stop


def strip_span(text: str, start: int, end: int, before: str, after: str) -> Span | None:
    """The span without `before` characters at its start and `after` at its end; None if empty."""
    while start < end and text[start] in before:
        start += 1
    while start < end and text[end - 1] in after:
        end -= 1
    return (start, end) if start < end else None


def words_of(text: str) -> str:
    """Words in lower case with one space around each: `words_of("Wait, no!")` is ` wait no `."""
    return f" {' '.join(_WORD.findall(text.translate(_LOWER)))} "


def has_any(words: str, phrases: tuple[str, ...]) -> bool:
    """Whether one of `phrases` stands in what `words_of` gave."""
    return any(f" {phrase} " in words for phrase in phrases)


def sentence_lead(text: str, end: int, size: int) -> str:
    """What stands before `end` in its sentence, at most `size` characters."""
    lead = text[max(end - size, 0) : end]
    stop = max(lead.rfind(mark) for mark in ("\n", ". ", "\u3002"))
    return lead[stop + 1 :]


def sentence_rest(text: str, start: int, size: int) -> str:
    """What stands from `start` to the end of the sentence, at most `size` characters."""
    rest = text[start : start + size]
    stops = [stop for mark in ("\n", ". ", "\u3002") if (stop := rest.find(mark)) >= 0]
    return rest[: min(stops, default=len(rest))]


def skip_spaces(text: str, start: int) -> int:
    """Index of the first character from `start` on that is no ASCII space."""
    while start < len(text) and text[start] in SPACE:
        start += 1
    return start
