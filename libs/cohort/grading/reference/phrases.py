"""Answers that words announce, from the end of a text: the twin of `cpp/src/phrases.cpp`.

    The answer is 18.   **Final Answer: 18**   ## Answer (18 below)   18 is the answer   答案是18

What follows ends with the sentence or at words that explain it (`18, because`). It must read like a
value; a negated phrase (`the answer is not 18`) has no answer of its own.
"""

import re
from collections.abc import Iterator

from cohort.grading.reference.expression import remark_start
from cohort.grading.reference.lines import (
    has_any,
    line_end,
    sentence_lead,
    skip_spaces,
    strip_span,
    window_end,
    words_of,
)
from cohort.grading.reference.marked import begins_with_word, is_number
from cohort.grading.reference.marks import MAX_MARKS, Mark
from cohort.grading.reference.spelling import SPACE
from cohort.grading.reference.statement import stated_value
from cohort.grading.reference.words import word_set

MAX_PHRASE = 400
"""Characters after a mark that are looked at."""
MIN_SENTENCE = 4
"""Words of an answer that is a sentence."""
MAX_LEAD = 100
"""Characters before a mark that are looked at."""

_FLAGS = re.IGNORECASE | re.ASCII
_NOUN = re.compile(r"(?<![A-Za-z])answer|\u7b54\u6848|\u6545\u9009", _FLAGS)
_VERB = re.compile(
    r"s?(?: (?:to|for|of) [^.:=?!\n]{1,60}?(?=:| is | are ))?[*_ ]*"
    r"(?:[:=\uff1a]|(?:(?:would|will|must|should) be|is|are|was|equals)(?![A-Za-z]))",
    _FLAGS,
)
_VERB_ZH = re.compile(r"[*_ ]*(?:[:=\uff1a]|\u5e94\u8be5\u662f|\u5e94\u4e3a|[\u662f\u4e3a\u9009])")
_NEGATION = re.compile(
    r"(?:s?[*_ ]+(?:is|are|was|would|will|must|should|could|does|can|ca|wo)"
    r"(?:n['\u2019]t| not| never| neither|not)|\u5e76?\u4e0d)(?![A-Za-z])",
    _FLAGS,
)
OTHERS = word_set(
    "wrong incorrect naive old previous common expected reference student's false tempting"
)
"""Before `answer`: it is another one than the one that is given."""
DOUBTS = (
    *("whether", "suppose", "assume", "assuming", "doubt", "wish", "claims", "claim", "claimed"),
    *("don't think", "do not think", "don't believe", "do not believe", "false that"),
    *("not true that", "not the case that", "who says", "might say", "may say", "would say"),
    *("my first", "mistake is to", "mistake to", "test if"),
)
_FILLER = re.compile(
    r"(?:therefore|thus|then|hence|simply|just|indeed|clearly|exactly|probably|likely|definitely|"
    r"certainly|finally|actually|most likely|equal to|given by|option|choice)"
    r"(?![A-Za-z])[,:]?[*_ ]*",
    _FLAGS,
)
_NOT = re.compile(r"not(?![A-Za-z])", _FLAGS)
_HEADING = re.compile(r"[#*_ ]*(?:(?:the|my|our) )?(?:(?:final|correct) )?", _FLAGS)
_HEADING_END = re.compile(r"s?[*_ ]*\n", _FLAGS)
_STATED = re.compile(r" (?:is|are) (?:the|our|my) (?:final |correct |right )?$", _FLAGS)
_OPENING = re.compile(
    r"(?:so|thus|therefore|hence|then|and|that|means|clearly|option|choice|finally)"
    r"(?![A-Za-z]),? *",
    _FLAGS,
)
_STOP = re.compile(r"\.[ \t\v\f\r]|\u3002")
_EXPLAINED = re.compile(
    r",? (?:because|since|rather than|instead of|where|for (?:all|every|any))(?![A-Za-z])"
    r"|, (?:as|so|which|obtained|(?:but |and )?not)(?![A-Za-z])",
    _FLAGS,
)
_STRUCK = re.compile(r"~~[^~]*~~")
_NOUN_BEHIND = re.compile(r"(?<=[0-9]) [A-Za-z ]*\Z")
"""What is counted, behind the result of a calculation: `48 + 24 = 72 clips`."""
_PROSE = re.compile(r"[-A-Za-z ,.;:'\"()*_]*")
_NO_VALUES = word_set(
    "correct right wrong incorrect unknown unclear clear obvious simple as found obtained below"
    " above here what that this not same"
)
_CHOICE = re.compile("[A-Z](?![A-Za-z])")
_SINGLE = re.compile(r"[*_(]*[A-Z][)*_]*")
_VALUE_AFTER_VERB = re.compile(
    r".*(?<![A-Za-z])(?:is|are|was|were|be|has|have|had|gets?|gives?|makes?|made|takes?|took|costs?"
    r"|earns?|earned|needs?|equals?|totals?) (?=[-+$\\0-9])",
    _FLAGS | re.DOTALL,
)
_EXCLUDED = re.compile(
    r"(?<![A-Za-z])(?:except|not|unless|or|no|never|between)(?![A-Za-z])", _FLAGS
)


def phrases(text: str, begin: int) -> Iterator[Mark]:
    """Announced answers from the last to the first; a negated one has an empty span."""
    for noun in reversed(list(_NOUN.finditer(text, begin))[-MAX_MARKS:]):
        if mark := _read(text, begin, noun.start(), noun.end()):
            yield mark


def _read(text: str, begin: int, noun: int, end: int) -> Mark | None:
    window = window_end(text, end, MAX_PHRASE)
    english = text[noun] in "aA"
    if _NEGATION.match(text, end, window):
        return Mark("phrase", noun, noun, noun, end)
    lead = sentence_lead(text, noun, MAX_LEAD)[-(noun - begin) :] if noun > begin else ""
    if english and _is_aside(lead, text[end : end + 6]):
        return Mark("phrase", noun, noun, noun, end, is_aside=True)
    if text.startswith("\u6545\u9009", noun) and _CHOICE.match(text, end, window):
        return _after(text, noun, end, window)
    if verb := (_VERB if english else _VERB_ZH).match(text, end, window):
        return _after(text, noun, verb.end(), window)
    if english and _HEADING.fullmatch(lead) and (heading := _HEADING_END.match(text, end, window)):
        return _after(text, noun, heading.end(), window)
    if english and (stated := _STATED.search(lead)):
        return _before(text, noun - len(lead), noun - len(lead) + stated.start(), end)
    return None


def _is_aside(lead: str, following: str) -> bool:
    """Whether words before `answer` say that it is not the one that is given."""
    words = words_of(lead)
    last = words.split()[-6:]
    if last and (last[-1] in OTHERS or last[-1].endswith("'s")):
        return True
    if has_any(f" {' '.join(last)} ", DOUBTS) or "if" in last[-3:]:
        return True
    return " if " in words and following == " would"


def _after(text: str, noun: int, start: int, window: int) -> Mark | None:
    """The rest of the sentence or line; the next line when a mark ends its own."""
    while start < window and text[start] in SPACE + "*_:\uff1a":
        start += 1
    while filler := _FILLER.match(text, start, window):
        start = filler.end()
    if _NOT.match(text, start, window):
        return Mark("phrase", noun, noun, noun, start)
    for opening, closing in (("$$", "$$"), ("\\[", "\\]")):
        if text.startswith(opening, start, window):
            close = text.find(closing, start + 2, window)
            span = strip_span(text, start + 2, close, SPACE, SPACE) if close >= 0 else None
            return Mark("phrase", noun, *span, close + 2) if span else None
    end = line_end(text, start, window)
    if stop := _STOP.search(text, start, end):
        end = stop.start()
    return _valued(text, noun, start, end)


def _valued(text: str, noun: int, start: int, end: int) -> Mark | None:
    explained = _EXPLAINED.search(text, start, end)
    span = strip_span(text, start, explained.start() if explained else end, SPACE, SPACE + ".,;:*_")
    if span is None:
        return None
    if struck := _STRUCK.match(text, *span):
        span = strip_span(text, struck.end(), span[1], SPACE, "")
        if span is None:
            return Mark("phrase", noun, noun, noun, end)
    span = (span[0], remark_start(text, *span))
    answer = text[slice(*span)]
    if _PROSE.fullmatch(answer):
        words = words_of(answer).split()
        if not 1 <= len(words) <= 4 or not _NO_VALUES.isdisjoint(words[:2]):
            return None
    elif begins_with_word(answer, 0, len(answer)) and not _EXCLUDED.search(answer):
        verb = _VALUE_AFTER_VERB.match(answer)
        if verb:
            span = (span[0] + verb.end(), span[1])
        elif answer[0].isupper() and len(words_of(answer).split()) >= MIN_SENTENCE:
            span = stated_value(text, span) or span
    elif "=" in answer and (noun_behind := _NOUN_BEHIND.search(answer)):
        span = (span[0], span[0] + noun_behind.start())
    return Mark("phrase", noun, *span, end)


def _before(text: str, start: int, end: int, stop: int) -> Mark | None:
    """The subject of `18 is the answer`."""
    start = skip_spaces(text, start)
    while opening := _OPENING.match(text, start, end):
        start = opening.end()
    if begins_with_word(text, start, end):
        start = text.rfind(" ", start, end) + 1 or end
    span = strip_span(text, start, end, SPACE, SPACE)
    if span is None:
        return None
    answer = text[slice(*span)]
    if _PROSE.fullmatch(answer) and not _SINGLE.fullmatch(answer):
        return None
    return Mark("phrase", span[0], *span, stop)


MAX_LETTER_LINES = 64
_LETTER = re.compile(r"[ *]{0,40}A\*{0,40}:")


def letter_line(text: str, begin: int) -> Mark | None:
    """`A: 18`, a line that gives a number, among the last MAX_LETTER_LINES lines."""
    end = len(text)
    for _ in range(MAX_LETTER_LINES):
        if end < begin:
            break
        line = text.rfind("\n", begin, end) + 1 or begin
        if letter := _LETTER.match(text, line):
            mark = _after(text, line, letter.end(), window_end(text, line, MAX_PHRASE))
            if mark and mark.end > mark.start and is_number(text[mark.start : mark.end]):
                return mark
        end = line - 1
    return None
