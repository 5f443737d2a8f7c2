"""What a text ends in: the number or formula of its last statement, the twin of
`cpp/src/statement.cpp`.

    The total is 72 clips, altogether.   so 12 + 30 = 42   The line is $y = 3x + 13$.

A question, a refusal, a sentence that was cut off and a negated number give no answer.
"""

import re

from cohort.grading.reference.expression import last_expression
from cohort.grading.reference.lines import (
    Span,
    has_any,
    has_operation,
    skip_spaces,
    strip_span,
    window_start,
    words_of,
)
from cohort.grading.reference.marks import Mark
from cohort.grading.reference.normal_form import normal_form
from cohort.grading.reference.spelling import SPACE
from cohort.grading.reference.words import word_set

MAX_STATEMENT = 1000
"""Characters at the end of a text that are looked at."""
MAX_REFUSAL = 300
"""Of these, the ones in which a refusal counts."""
MAX_SENTENCES = 3
MAX_TAGS = 64
"""Tags at the end that are passed over."""
MAX_WORDS_OPEN = 8
"""Words after the number in a sentence without a stop; with more it was cut off."""
MAX_WORDS_LISTED = 2
"""Words before what the sentence before says too."""
MAX_WORDS_BACK = 2
"""Words after the number in a sentence that is not the last."""

_STOPS = ("\n", ". ", "! ", "? ", "\u3002", "\uff01", "\uff1f")
_CLOSING = SPACE + "*_`$\"'"
_FINAL = ".!?\u3002\uff01\uff1f"
DANGLING = word_set(
    "is are was were be the a an of to and or for with then so that has have had gets get costs"
    " each by in at per from but because if when which who as than equals times plus minus we"
)
REFUSALS = (
    *("do not know", "don't know", "not sure", "no idea", "unable to", "give up", "i can't"),
    *("cannot solve", "cannot determine", "cannot answer", "cannot find", "could not solve"),
    *("could not determine", "could not find", "couldn't", "not enough information"),
    *("i cannot", "not possible to determine", "impossible to determine", "can't be determined"),
    *("cannot be determined", "i am unsure", "i'm unsure", "cannot be solved", "can't be solved"),
    *("can't solve", "can't determine", "can't find", "cannot be answered", "cannot be found"),
)
PARTITIVE = word_set("of the these those all both first next last other each every remaining")
"""Words before a number in a sentence that was cut off: it says of what, not how many."""
NEGATIVE = word_set("not never cannot neither nor isn't wasn't aren't can't")
BOUNDS = (
    *("than", "at most", "at least", "is over", "is under", "exceeds", "exceed", "is up to"),
    *("such as", "example", "e g", "near", "between", "chapter", "page", "ends in", "starts with"),
    *("ends with", "begins with", "contains a", "contains", "doubt it is", "doubt it's"),
)
"""Before a number they say something about a value, not which it is."""
READER = (
    *("you", "you'd", "you're", "your", "hope", "thanks", "thank", "luck", "feel free"),
    *("make sense", "enjoy"),
)
"""In a closing sentence, which is passed over."""
DENIED = ("is not", "isn't", "is wrong", "is incorrect", "was wrong", "are not", "cannot be")
_DIGIT = re.compile("[0-9]")
_NUMBER = re.compile("[0-9]+")
_REFUSALS_ZH = ("\u4e0d\u77e5\u9053", "\u4e0d\u786e\u5b9a", "\u65e0\u6cd5")
_IS_NOT_ZH = "\u4e0d\u662f"
_WORD = re.compile("[A-Za-z]{2,}")
_OPTION = re.compile(
    r"(?:^|(?i: is |: |option |choice |it's |choose |pick |select |hence |thus |therefore ))"
    r"[*_$(]*([A-Z])[)*_$]*(?: is correct| is right)?\Z",
    re.ASCII,
)
_OTHER_OPTION = re.compile(r"(?<![A-Za-z])[A-HJ-Z](?![A-Za-z])")


def statement(text: str, first: int) -> Mark | None:
    """The answer that the last statement from `first` on gives."""
    text_end = _end(text)
    begin = max(window_start(text, text_end, MAX_STATEMENT), first)
    refusal = max(window_start(text, text_end, MAX_REFUSAL), first)
    tail = text[refusal:text_end]
    if has_any(words_of(tail), REFUSALS) or any(word in tail for word in _REFUSALS_ZH):
        return None
    end, seen, below, is_back = text_end, 0, text_end, False
    while end > begin and seen < MAX_SENTENCES:
        cut = max(text.rfind(stop, begin, end - 1) for stop in _STOPS)
        start = cut + 1 if cut >= 0 else begin
        if sentence := strip_span(text, start, end, SPACE, _CLOSING):
            body = strip_span(text, *sentence, "", _FINAL + _CLOSING)
            to_reader = has_any(words_of(text[slice(*sentence)]), READER)
            if body is None or (text[sentence[1] - 1] in "?\uff1f" and not to_reader):
                return None
            is_back = is_back and "\n" not in text[sentence[1] : below]
            finished = _is_finished(text[slice(*sentence)])
            if found := last_expression(text, *body):
                if _is_listed(text, begin, sentence):
                    return None
                return _checked(text, body, found, finished, is_back)
            if body[0] == skip_spaces(text, first) and (word := _only_word(text, body)):
                return Mark("formula", word[0], *word, word[1])
            if seen == 0 and (option := _option(text[slice(*body)])):
                start, end = (body[0] + index for index in option)
                return Mark("formula", start, start, end, end)
            if not finished:
                return None
            seen, below = seen + 1, sentence[0]
            is_back = is_back or not to_reader
        end = start
    return None


def _is_finished(sentence: str) -> bool:
    """Whether a sentence ends as one, with a sign such as an emoji, or is but a line."""
    last = sentence[-1]
    is_sign = "\u2000" <= last < "\u3000" or last >= "\U00010000"
    return last in _FINAL + ")" or is_sign or not sentence.strip("-=_#~\\[]$")


def _is_listed(text: str, begin: int, sentence: Span) -> bool:
    """Whether the sentence before says the same of another value: a list of guesses."""
    if has_operation(text[slice(*sentence)]):
        return False
    lines = strip_span(text, begin, sentence[0], SPACE, _CLOSING + "-")
    if lines is None:
        return False
    cut = max(text.rfind(stop, lines[0], lines[1] - 1) for stop in _STOPS)
    other = strip_span(text, max(cut + 1, lines[0]), lines[1], SPACE, "")
    if other is None or not _DIGIT.search(text[slice(*other)]):
        return False
    mine, shape = (_NUMBER.sub("0", text[slice(*s)].rstrip(_FINAL)) for s in (sentence, other))
    lead = words_of(mine[: len(mine) - len(shape)]).split()
    return mine.endswith(shape) and len(lead) <= MAX_WORDS_LISTED


def stated_value(text: str, sentence: Span) -> Span | None:
    """The value that a finished sentence states."""
    found = last_expression(text, *sentence)
    mark = _checked(text, sentence, found, finished=True, back=False) if found else None
    return (mark.start, mark.end) if mark else None


def _option(sentence: str) -> Span | None:
    """A multiple choice: the letter that a sentence ends in, or of which it says it is correct."""
    option = _OPTION.search(sentence)
    if option is None or _OTHER_OPTION.search(sentence[: option.start(1)]):
        return None
    return option.span(1)


def _only_word(text: str, body: Span) -> Span | None:
    """The one word of a sentence without emphasis, if it has no more."""
    word = strip_span(text, *body, _CLOSING, _CLOSING)
    return word if word and _WORD.fullmatch(text, *word) else None


def _end(text: str) -> int:
    """End of the text before closing tags, special tokens and the ends of display formulas."""
    end = len(text)
    for _ in range(MAX_TAGS):
        before = end
        while end and text[end - 1] in _CLOSING:
            end -= 1
        if text.endswith(("\\]", "\\)"), 0, end):
            end -= 2
        if text.endswith(">", 0, end):
            tag = text.rfind("<", max(end - 40, 0), end)
            if tag >= 0 and text.startswith(("</", "<|"), tag):
                end = tag
        if end == before:
            break
    return end


def _checked(
    text: str, body: tuple[int, int], found: tuple[int, int], finished: bool, back: bool
) -> Mark | None:
    """The mark, unless its sentence takes it back or was cut off."""
    start, end = found
    before = words_of(text[body[0] : start]).split()[-3:]
    after = words_of(text[end : body[1]])
    following = after.split()
    if not NEGATIVE.isdisjoint(before) or has_any(f" {' '.join(following[:2])} ", DENIED):
        return None
    if has_any(f" {' '.join(before[-2:])} ", BOUNDS):
        return None
    if text.endswith(_IS_NOT_ZH, body[0], start) or text.startswith(_IS_NOT_ZH, end, body[1]):
        return None
    rest = text[end : body[1]].strip(" $")
    if rest and not rest.strip("=+-/\u00d7 $"):  # an operator: the calculation was cut off
        return None
    if back and len(following) > MAX_WORDS_BACK:
        return None
    is_cut_off = bool(following) and (
        len(following) > MAX_WORDS_OPEN
        or following[-1] in DANGLING
        or not PARTITIVE.isdisjoint(before[-1:])
    )
    if is_cut_off and not finished:
        return None
    is_number = normal_form(text[start:end]).is_number
    return Mark("last_number" if is_number else "formula", start, start, end, end)
