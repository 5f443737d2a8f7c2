"""Lines, sentences and words: the twin of `cpp/src/lines.cpp`.

Every window that a rule looks at has a bounded size, so that no text can make it slow.
"""

import re

from cohort.grading.reference.spelling import SPACE

Span = tuple[int, int]

MAX_WINDOW = 8192
"""Characters of a window with its loose signs."""
LOOSE = frozenset(SPACE + ".-_*~$\\\u00a0\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x2010))))
"""Signs that fill space: of a row of them, any number is no distance."""
_COMMAND = re.compile(r"\\[A-Za-z]+")
_OPERATION = re.compile(
    r"[+/\u00d7\u00f7\u00b7]|(?<!\*)\*(?!\*)|\\(?:frac|dfrac|times|cdot|div|sqrt)(?![A-Za-z])"
)
_LINE_END = re.compile(r"\n|</|<\|")
_WORD = re.compile(r"\\[a-z]+|([a-z0-9']+)")
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
    """Words in lower case with one space around each: `words_of("Wait, no!")` is ` wait no `.

    The names of LaTeX commands are no words.
    """
    return f" {' '.join(filter(None, _WORD.findall(text.translate(_LOWER))))} "


def has_any(words: str, phrases: tuple[str, ...]) -> bool:
    """Whether one of `phrases` stands in what `words_of` gave."""
    return any(f" {phrase} " in words for phrase in phrases)


def window_end(text: str, start: int, size: int) -> int:
    """Where a window of `size` characters from `start` ends; loose signs in a row count as one."""
    if len(text) - start <= size:
        return len(text)
    end, was_loose = start, False
    for end in range(start, min(len(text), start + MAX_WINDOW)):
        is_loose = text[end] in LOOSE
        if not (is_loose and was_loose):
            if size == 0:
                return end
            size -= 1
        was_loose = is_loose
    return min(len(text), start + MAX_WINDOW)


def window_start(text: str, end: int, size: int) -> int:
    """Where a window of `size` characters before `end` begins."""
    if end <= size:
        return 0
    was_loose = False
    for start in range(end, max(end - MAX_WINDOW, 0), -1):
        is_loose = text[start - 1] in LOOSE
        if not (is_loose and was_loose):
            if size == 0:
                return start
            size -= 1
        was_loose = is_loose
    return max(end - MAX_WINDOW, 0)


def content_size(text: str) -> int:
    """Characters without loose signs and the names of LaTeX commands."""
    return sum(char not in LOOSE for char in _COMMAND.sub("", text))


def has_operation(text: str) -> bool:
    """Whether something is calculated in `text`."""
    return _OPERATION.search(text) is not None


def sentence_lead(text: str, end: int, size: int) -> str:
    """What stands before `end` in its sentence, at most `size` characters."""
    lead = text[window_start(text, end, size) : end]
    stop = max(lead.rfind(mark) for mark in ("\n", ". ", "\u3002"))
    return lead[stop + 1 :]


def sentence_rest(text: str, start: int, size: int) -> str:
    """What stands from `start` to the end of the sentence, at most `size` characters."""
    rest = text[start : window_end(text, start, size)]
    stops = [stop for mark in ("\n", ". ", "\u3002") if (stop := rest.find(mark)) >= 0]
    return rest[: min(stops, default=len(rest))]


def skip_spaces(text: str, start: int) -> int:
    """Index of the first character from `start` on that is no ASCII space."""
    while start < len(text) and text[start] in SPACE:
        start += 1
    return start
