"""Whether a text stands by an answer: the twin of `cpp/src/commitment.cpp`."""

import re

from cohort.grading.reference.lines import has_any, sentence_lead, sentence_rest, words_of
from cohort.grading.reference.marks import Mark
from cohort.grading.reference.normal_form import normal_form, same

NEAR = 24
"""Characters between two answers of which none is a step to the other."""
MAX_LEAD = 100
"""Characters before an answer that may hedge it."""
MAX_REST = 400
"""Characters after an answer that may take it back."""

HEDGES = ("maybe", "perhaps", "possibly", "might be", "may be", "could be", "could also be")
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
CONCLUSIONS = ("so", "thus", "therefore", "hence", "finally", "final", "then", "gives", "which")
RETRACTIONS = (
    *("that is wrong", "that's wrong", "this is wrong", "that was wrong", "it is wrong"),
    *("that is incorrect", "that's incorrect", "this is incorrect", "that was incorrect"),
    *("that is not correct", "this is not correct", "that is not right", "that's not right"),
    *("i made a mistake", "i made an error", "i was wrong", "i am wrong", "scratch that"),
    *("disregard that", "disregard this", "ignore that", "i take that back", "that cannot be"),
    *("that can't be right", "that is not the answer", "is not the answer", "let me correct"),
    *("wait that is", "wait no", "no wait", "my answer is wrong", "the answer is wrong"),
)
_CORRECTIONS_ZH = ("\u4e0d\u5bf9", "\u9519", "\u66f4\u6b63", "\u4fee\u6b63")
_RETRACTIONS_ZH = ("\u4e0d\u5bf9", "\u9519\u4e86", "\u66f4\u6b63")
_WHEN_VARIABLE = re.compile(r" (?:when|for) [b-hj-z] ")
AFTERTHOUGHTS = ("otherwise", "or maybe", "or perhaps", "or possibly")
_OR = re.compile(r"[0-9A-Z)}] (?:or|\u6216) [-0-9A-Z($\\]")
_DENIALS = (" is wrong ", " is incorrect ", " is not ", " isn't ", " was wrong ")


def is_corrected(gap: str) -> bool:
    """Whether words between two answers take the first one back."""
    return has_any(words_of(gap), CORRECTIONS) or any(word in gap for word in _CORRECTIONS_ZH)


def is_doubtful(text: str, mark: Mark, first: Mark, previous: Mark | None) -> bool:
    """Whether the text hedges the answer, takes it back or gives another one beside it.

    The answer was given from `first` to `mark`; `previous` is another one before.
    """
    lead = sentence_lead(text, mark.begin, MAX_LEAD)
    if _is_hedged(text, mark, lead):
        return True
    rest = text[mark.stop : mark.stop + MAX_REST]
    if has_any(words_of(rest), RETRACTIONS) or any(word in rest for word in _RETRACTIONS_ZH):
        return True
    if previous is None:
        return False
    gap = text[previous.start : first.begin][-MAX_REST:]
    if has_any(words_of(sentence_lead(text, first.begin, MAX_LEAD)), ALTERNATIVES):
        return True
    words = words_of(gap)
    settled = has_any(words, CONCLUSIONS) or is_corrected(gap) or "=" in gap or "\\approx" in gap
    return first.begin - previous.stop <= NEAR and (not settled or has_any(words, CONDITIONS))


def _is_hedged(text: str, mark: Mark, lead: str) -> bool:
    last_words = f" {' '.join(words_of(lead).split()[-4:])} "
    if has_any(last_words, HEDGES):
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
    first, second = (normal_form(text[m.start : m.end]) for m in (mark, other))
    return same(first, second) or same(second, first)
