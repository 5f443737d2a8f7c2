"""Whether a text stands by an answer: the twin of `cpp/src/commitment.cpp`."""

import re

from cohort.grading.reference.lines import (
    content_size,
    has_any,
    has_operation,
    sentence_lead,
    sentence_rest,
    window_end,
    window_start,
    words_of,
)
from cohort.grading.reference.marks import Mark
from cohort.grading.reference.normal_form import normal_form, same
from cohort.grading.reference.spelling import SPACE
from cohort.grading.reference.words import word_set

NEAR = 20
"""Characters between two answers of which none is a step to the other."""
SERIES = 72
"""Characters between three answers that are guesses, without a calculation."""
MAX_LEAD = 100
"""Characters before an answer that may hedge it."""
MAX_REST = 1000
"""Characters after an answer that may take it back."""

HEDGES = (
    "otherwise",
    "maybe",
    "perhaps",
    "possibly",
    "might be",
    "may be",
    "could be",
    "could also be",
)
DOUBTS = (
    *("don't think", "do not think", "don't believe", "do not believe", "doubt", "can't be"),
    *("cannot be", "wrong answer", "incorrect answer", "would write"),
)
CONDITIONS = ("if", "otherwise", "unless", "depending on", "depends on")
ALTERNATIVES = (
    *("another", "alternatively", "alternative", "other possible", "second possible", "or"),
    *("other possibility", "other answer"),
)
CORRECTIONS = (
    *("wait", "wrong", "incorrect", "mistake", "mistaken", "error", "correcting", "correction"),
    *("corrected", "actually", "instead", "however", "sorry", "oops", "rather", "scratch", "fix"),
    *("should", "but", "no", "not"),
)
LAST_RESORTS = ("another possible", "other possible", "second possible", "backup", "if that is not")
"""Before an answer they make it one of several, wherever the others stand."""
REVISIONS = word_set(
    "actually no wait edit correction corrected oops sorry hmm or alternatively kidding thought"
    " hold meant should another possibility rather instead update scratch could might may"
)
FILLERS = word_set(
    "it it's its is be that that's i think the answer final correct to on second just mean so my"
    " would must also a was then well ok okay really in fact perhaps maybe yes"
)
"""Words of a revision: `actually, I think it is 43`."""
CONCLUSIONS = ("so", "thus", "therefore", "hence", "finally", "final", "then", "gives", "which")
RETRACTIONS = (
    *("that is wrong", "that's wrong", "this is wrong", "that was wrong", "it is wrong"),
    *("that is incorrect", "that's incorrect", "this is incorrect", "that was incorrect"),
    *("that is not correct", "this is not correct", "that is not right", "that's not right"),
    *("i made a mistake", "i made an error", "i was wrong", "i am wrong", "scratch that"),
    *("disregard that", "disregard this", "ignore that", "i take that back", "that cannot be"),
    *("that can't be right", "that is not the answer", "is not the answer", "let me correct"),
    *("wait that is", "wait no", "no wait", "my answer is wrong", "the answer is wrong"),
    *("is also possible", "are also possible", "or maybe", "or perhaps", "or possibly"),
    *("doesn't look right", "does not look right", "doesn't seem right", "student is wrong"),
)
_CORRECTIONS_ZH = ("\u4e0d\u5bf9", "\u9519", "\u66f4\u6b63", "\u4fee\u6b63")
_HEDGES_ZH = ("\u53ef\u80fd", "\u4e5f\u8bb8")
_RETRACTIONS_ZH = ("\u4e0d\u5bf9", "\u9519\u4e86", "\u66f4\u6b63")
_WHEN_VARIABLE = re.compile(r" (?:when|for) [b-hj-z] ")
AFTERTHOUGHTS = ("otherwise", "or maybe", "or perhaps", "or possibly")
_OR = re.compile(r"[0-9A-Z)}] (?:or|\u6216) [-0-9A-Z($\\]")
_DENIALS = (
    *(" is wrong ", " is incorrect ", " is not ", " isn't ", " was wrong ", " which is wrong "),
    *(" which is incorrect ", " which was wrong ", " rejected "),
)
FINAL = ("final", "so", "thus", "therefore", "hence")
_BEFORE_WORD = " ,:;-*_\t\r\v\f"
DIGITS = "0123456789"
_VALUE = re.compile(r"[$(\\{]*(-?[0-9]+(?:[.,][0-9]+)*|[A-Z](?![A-Za-z]))")
_OPERATOR = re.compile(r" *[-+*/=^\u00d7]")
_WORD = re.compile(r"[A-Za-z0-9'\u2019]+")
_SENTENCE_END = re.compile(r"[.!?\n\u3002](?![0-9])")


def is_corrected(gap: str) -> bool:
    """Whether words between two answers take the first one back."""
    return has_any(words_of(gap), CORRECTIONS) or any(word in gap for word in _CORRECTIONS_ZH)


def is_doubtful(text: str, mark: Mark, trail: list[Mark]) -> bool:
    """Whether the text hedges the answer, takes it back or gives another one beside it.

    The answer was given from `trail[0]` to `mark`; the others in `trail` are other answers before.
    """
    if _is_hedged(text, mark, sentence_lead(text, mark.begin, MAX_LEAD)):
        return True
    rest = text[mark.stop : window_end(text, mark.stop, MAX_REST)]
    if has_any(words_of(rest), RETRACTIONS) or any(word in rest for word in _RETRACTIONS_ZH):
        return True
    if _is_revised(text[mark.start : mark.end], rest):
        return True
    if len(trail) == 3 and all(_is_idle(text, trail[i + 1], trail[i]) for i in (0, 1)):
        return True
    return len(trail) > 1 and _is_rivaled(text, trail[1], trail[0])


def _is_idle(text: str, before: Mark, mark: Mark) -> bool:
    """Whether no work lies between two answers."""
    gap = text[before.stop : mark.begin]
    return content_size(gap) <= SERIES and not has_operation(gap)


def _is_rivaled(text: str, before: Mark, mark: Mark) -> bool:
    """Whether an answer before stands beside this one: it is no step, and not taken back."""
    lead = words_of(sentence_lead(text, mark.begin, MAX_LEAD))
    if has_any(lead, ALTERNATIVES):
        return True
    gap = text[before.stop : mark.begin]
    is_line = mark.rule == "gsm8k"
    if not is_line and content_size(gap) > NEAR:
        return False
    start = max(before.start, window_start(text, mark.begin, MAX_REST))
    words = words_of(text[start : mark.begin])
    if has_any(words, CONDITIONS):
        return True
    if is_corrected(text[start : mark.begin]):
        return False
    if is_line or not has_any(words, CONCLUSIONS):
        equals = gap.find("=")
        follows = "\\approx" in gap or (equals >= 0 and content_size(gap[:equals]) > 0)
        return is_line or not follows
    earlier = words_of(sentence_lead(text, before.begin, MAX_LEAD))
    return has_any(words, FINAL) and has_any(earlier, FINAL)


def _is_revised(answer: str, rest: str) -> bool:
    """Whether a sentence behind an answer gives another value: `No, 43`, `It should be 43`."""
    place, armed = 0, False
    while place < len(rest):
        end = _SENTENCE_END.search(rest, place)
        stop = end.start() if end else len(rest)
        revises, value = _revision(rest, place, stop)
        if value and (revises or (armed and not rest[value.end() : stop].strip(SPACE))):
            other = value[1]
            is_kind = other[-1] in DIGITS or len(answer.strip("()*$. ")) == 1
            if is_kind and not _same(answer, other):
                return True
        armed = revises or (armed and not rest[place:stop].strip(SPACE))
        place = stop + 1
    return False


def _revision(rest: str, place: int, stop: int) -> tuple[bool, re.Match[str] | None]:
    """Whether a sentence begins with words of a revision, and the value behind them."""
    revises = False
    while True:
        while place < stop and rest[place] in _BEFORE_WORD:
            place += 1
        if value := _VALUE.match(rest, place, stop):
            is_value = value[1] not in ("A", "I") or value.end() == stop
            if is_value and not _OPERATOR.match(rest, value.end(), stop):
                return revises, value
        word = _WORD.match(rest, place, stop)
        if word is None:
            return revises, None
        lower = word[0].lower().replace("\u2019", "'")
        if lower not in REVISIONS and lower not in FILLERS:
            return revises, None
        revises |= lower in REVISIONS
        place = word.end()


def _is_hedged(text: str, mark: Mark, lead: str) -> bool:
    if any(word in lead for word in _HEDGES_ZH):
        return True
    last_words = f" {' '.join(words_of(lead).split()[-4:])} "
    if has_any(last_words, (*HEDGES, *DOUBTS)) or has_any(words_of(lead), LAST_RESORTS):
        return True
    following = words_of(sentence_rest(text, mark.stop, MAX_LEAD))
    if following.startswith(_DENIALS) or has_any(following, AFTERTHOUGHTS):
        return True
    if has_any(f" {' '.join(following.split()[:4])} ", (*CONDITIONS, *HEDGES)):
        return True
    if mark.rule == "boxed":
        return _WHEN_VARIABLE.match(following) is not None
    answer = text[mark.start : mark.end]
    inner = words_of(answer) + following
    return (
        has_any(inner, (*HEDGES, *CONDITIONS))
        or _WHEN_VARIABLE.search(inner) is not None
        or _OR.search(answer) is not None
    )


def are_same(text: str, mark: Mark, other: Mark) -> bool:
    """Whether two marks give the same answer."""
    return _same(text[mark.start : mark.end], text[other.start : other.end])


def _same(answer: str, other: str) -> bool:
    first, second = normal_form(answer), normal_form(other)
    return same(first, second) or same(second, first)
