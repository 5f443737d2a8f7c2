"""The verdict on a completion by normal form alone.

C++ goes on where the normal forms differ (`cpp/src/grade.cpp`): it compares expressions. So this
grader is the twin of extraction and normalisation, and what it calls correct is correct.
"""

from typing import Literal

from cohort.grading.reference.extraction import extract_answer
from cohort.grading.reference.marks import MARKED
from cohort.grading.reference.normal_form import MAX_CHARS, NormalForm, normal_form, same
from cohort.grading.reference.spelling import SPACE

Verdict = Literal[
    "correct",
    "wrong",
    "no_answer",
    "ambiguous",
    "unparsable_answer",
    "unparsable_gold",
    "limit",
]


def grade_math(completion: str, ground_truth: str) -> Verdict:
    """Whether the answer that `completion` gives is the one that `ground_truth` states."""
    truth = read_truth(ground_truth)
    if truth is None:
        return "unparsable_gold"
    found = extract_answer(completion)
    answer = normal_form(found.answer) if found else None
    if answer is None or not answer.value:
        return "no_answer"
    if found and found.ambiguous:
        return "ambiguous"
    return "correct" if same(answer, truth) else "wrong"


def read_truth(text: str) -> NormalForm | None:
    """The normal form of a stated answer; a text without a mark is the answer itself.

    None when it is empty, too long, or several lines of prose: such a truth would make every
    completion wrong.
    """
    found = extract_answer(text)
    if found and found.rule in MARKED:
        text = found.answer
    elif len(text) > MAX_CHARS or ("\n" in text.strip(SPACE) and "\\" not in text):
        return None
    truth = normal_form(text)
    return truth if truth.value else None
