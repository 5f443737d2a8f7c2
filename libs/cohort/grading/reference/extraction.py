"""Which answer a text gives: the twin of `cpp/src/extract.cpp`.

Only what stands after the last `</think>` counts; an unfinished `<think>` gives no answer. Then the
first rule that finds something wins, and each rule looks from the end of the text:

    gsm8k        #### 18           the last of them that is the last line or reads as a number
    boxed        \\boxed{18}        the last complete, non-empty \\boxed{} or \\fbox{}
    phrase       answer is 18      also `answer:`, `answer =`, and `A:` before a number
    last_number  ... makes 18 a day
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from cohort.grading.reference.last_number import last_number
from cohort.grading.reference.normal_form import normal_form
from cohort.grading.reference.spelling import SPACE

Rule = Literal["gsm8k", "boxed", "tag", "phrase", "formula", "last_number"]
Span = tuple[int, int]


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
    begin = _visible_start(text)
    if begin is None:
        return None
    visible = text[begin:]
    for name, rule in _RULES:
        if span := rule(visible):
            start, end = span[0] + begin, span[1] + begin
            return Extraction(text[start:end], name, start, end)
    return None


def _visible_start(text: str) -> int | None:
    closed = text.rfind("</think>")
    begin = 0 if closed < 0 else closed + len("</think>")
    return None if text.find("<think>", begin) >= 0 else begin


# gsm8k


def _hash_line(text: str) -> Span | None:
    stop = len(text)
    while (mark := text.rfind("####", 0, stop)) >= 0:
        start = mark + 4
        end = min(_line_end(text, start), stop)
        span = _strip(text, start, end, SPACE, SPACE + ".,;:")
        alone = text[start : start + 1] != "#" and (mark == 0 or text[mark - 1] != "#")
        if alone and span and (_is_last(text, end, stop) or _is_number(text, span)):
            return span
        stop = mark
    return None


def _is_last(text: str, end: int, stop: int) -> bool:
    """Whether nothing but a closing tag follows; `stop` tells whether a later mark was refused."""
    return stop == len(text) and (text[end : end + 1] == "<" or not text[end:].strip(SPACE))


def _is_number(text: str, span: Span) -> bool:
    return normal_form(text[span[0] : span[1]]).is_number


# boxed

_BRACE = re.compile(r"[{}]")


def _last_box(text: str) -> Span | None:
    closers: list[int] = []
    for match in reversed(list(_BRACE.finditer(text))):
        brace = match.start()
        if _is_escaped(text, brace):
            continue
        if match[0] == "}":
            closers.append(brace)
        elif closers:
            span = _strip(text, brace + 1, closers.pop(), SPACE, SPACE)
            if span and _is_box(text, brace):
                return span
    return None


def _is_escaped(text: str, at: int) -> bool:
    start = at
    while start and text[start - 1] == "\\":
        start -= 1
    return (at - start) % 2 == 1


def _is_box(text: str, brace: int) -> bool:
    end = brace
    while end and text[end - 1] == " ":
        end -= 1
    return text.endswith(("\\boxed", "\\fbox"), 0, end)


# phrase

_ANSWER = re.compile(r"(?<![a-z])answer[*_ ]*(?::|=|is(?![a-z]))", re.IGNORECASE | re.ASCII)
_LETTER = re.compile(r"^[ *]*A\**:", re.MULTILINE)
_STOP = re.compile(r"\.[ \t\v\f\r]|\u3002")


def _phrase(text: str) -> Span | None:
    for mark in reversed(list(_ANSWER.finditer(text))):
        if span := _after_mark(text, mark.end()):
            return span
    for mark in reversed(list(_LETTER.finditer(text))):
        if (span := _after_mark(text, mark.end())) and _is_number(text, span):
            return span
    return None


def _after_mark(text: str, start: int) -> Span | None:
    """The rest of the sentence or line; the next line when a mark ends its own."""
    while start < len(text) and text[start] in SPACE + "*_:":
        start += 1
    end = _line_end(text, start)
    if stop := _STOP.search(text, start, end):
        end = stop.start()
    return _strip(text, start, end, SPACE, SPACE + ".,;:*_")


# lines


def _line_end(text: str, start: int) -> int:
    """End of the line at `start`, or of its part before a closing tag or a special token."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    for tag in ("</", "<|"):
        at = text.find(tag, start, end)
        end = end if at < 0 else at
    return end


def _strip(text: str, start: int, end: int, before: str, after: str) -> Span | None:
    """The span without `before` characters at its start and `after` at its end; None if empty."""
    while start < end and text[start] in before:
        start += 1
    while start < end and text[end - 1] in after:
        end -= 1
    return (start, end) if start < end else None


_RULES: tuple[tuple[Rule, Callable[[str], Span | None]], ...] = (
    ("gsm8k", _hash_line),
    ("boxed", _last_box),
    ("phrase", _phrase),
    ("last_number", last_number),
)
