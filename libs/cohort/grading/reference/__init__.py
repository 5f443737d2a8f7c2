"""The readable twin of the native grader: same names, same results, written to be read.

Differences are bugs: a property test compares both on any text.
"""

from cohort.grading.reference.extraction import Extraction, extract_answer
from cohort.grading.reference.grade import Verdict, grade_math
from cohort.grading.reference.marks import Rule
from cohort.grading.reference.normal_form import normal_form, same

__all__ = [
    "Extraction",
    "Rule",
    "Verdict",
    "answers_equal",
    "extract_answer",
    "grade_math",
    "normalize_answer",
]


def normalize_answer(answer: str) -> str:
    """The one spelling of `answer`."""
    return str(normal_form(answer))


def answers_equal(answer: str, truth: str) -> bool:
    """Whether `answer` is the same answer as `truth`."""
    return same(normal_form(answer), normal_form(truth))
