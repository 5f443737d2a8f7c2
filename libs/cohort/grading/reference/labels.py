"""What is counted, in words behind a number: the twin of `cpp/src/labels.cpp`.

5 red apples   5 apples         the same
5 km north     5 km to go       the same, as one of them is silent about the other's words
5% increase    5% decrease      not the same
"""

import re

from cohort.grading.reference.words import word_set

MAX_WORDS = 8
"""Of a label; a longer text behind a number is an explanation."""

FILLERS = word_set(
    "a an the of it is he we per each every total altogether overall exactly only just about its"
    " different distinct possible unique such these those his her their whole full"
)
"""Words that say nothing about what is counted."""

CLAUSES = word_set(
    "because since so which that who whose for from with in on at by as after before while when"
    " where"
)
"""Words with which something else begins."""

PLURALS = {
    "children": "child",
    "kids": "child",
    "kid": "child",
    "men": "man",
    "people": "person",
    "women": "woman",
}

_WORD = re.compile(r"[A-Za-z]+")


def label(text: str) -> str:
    """The words that say what is counted, in singular; fillers only when there is nothing else."""
    content: list[str] = []
    fillers: list[str] = []
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if word in CLAUSES or len(content) + len(fillers) == MAX_WORDS:
            break
        if word in FILLERS:
            fillers.append(word)
        else:
            content.append(_singular(word))
    return " ".join(content or fillers)


def _singular(word: str) -> str:
    if word in PLURALS:
        return PLURALS[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word


def is_silent(text: str) -> bool:
    """Whether a label says nothing: only fillers."""
    return all(word in FILLERS for word in text.split())


def same_label(one: str, other: str) -> bool:
    """Whether one of two labels has all words of the other, or only one of them says anything."""
    if is_silent(one) and is_silent(other):
        return not one or not other or one == other
    if is_silent(one) or is_silent(other):
        return True
    first, second = one.split(), other.split()
    return all(word in second for word in first) or all(word in first for word in second)
