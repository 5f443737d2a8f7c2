"""Answers after `####` and in `<answer>` tags: the twin of `cpp/src/marked.cpp`."""

import re
from collections.abc import Iterator

from cohort.grading.reference.lines import line_end, strip_span, window_end
from cohort.grading.reference.marks import MAX_MARKS, Mark
from cohort.grading.reference.normal_form import normal_form
from cohort.grading.reference.spelling import SPACE

MAX_LINE = 400
"""Characters after `####` that are looked at."""
MAX_LINES = 64
"""Marks `####` that are looked at, from the end."""
MAX_TAG = 4096
"""Characters of a tag without its end that are looked at."""

_LETTERS = re.compile("[A-Za-z]{2}")
_TAG = re.compile(r"<answer>")


def is_number(answer: str) -> bool:
    """Whether the whole of `answer` is a number."""
    return normal_form(answer).is_number


def hash_lines(text: str) -> Iterator[Mark]:
    """Lines `#### 18` from the last to the first.

    The last line of the text may hold any answer, the others must read as a number; words in the
    last line may be a title and come after all others.
    """
    stop, title, is_first = len(text), None, True
    for _ in range(MAX_LINES):
        mark = text.rfind("####", 0, stop)
        if mark < 0:
            break
        start = mark + 4
        end = line_end(text, start, min(stop, window_end(text, start, MAX_LINE)))
        span = strip_span(text, start, end, SPACE, SPACE + ".,;:")
        alone = text[start : start + 1] != "#" and (mark == 0 or text[mark - 1] != "#")
        if alone and span:
            is_last = stop == len(text) and (text[end : end + 1] == "<" or _is_blank(text, end))
            found = Mark("gsm8k", mark, *span, end)
            if is_number(text[slice(*span)]) or (is_last and not begins_with_word(text, *span)):
                is_first = False
                yield found
            title = found if is_last else title
        stop = mark
    if title and is_first:
        yield title


def begins_with_word(text: str, start: int, end: int) -> bool:
    """Whether two letters stand first between `start` and `end`."""
    return _LETTERS.match(text, start, end) is not None


def _is_blank(text: str, start: int) -> bool:
    return not text[start:].strip(SPACE)


def tags(text: str) -> Iterator[Mark]:
    """What `<answer>` tags hold, from the last to the first; the last may lack its end."""
    stop = len(text)
    for tag in reversed(list(_TAG.finditer(text))[-MAX_MARKS:]):
        close = text.find("</answer>", tag.end(), stop)
        end = close if close >= 0 else min(len(text), tag.end() + MAX_TAG)
        stop = tag.start()
        if span := strip_span(text, tag.end(), end, SPACE + "*_", SPACE + ".,;:*_"):
            yield Mark("tag", tag.start(), *span, end if close < 0 else close + len("</answer>"))
