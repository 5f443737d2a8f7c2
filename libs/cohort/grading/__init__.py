"""Comparing answers: which answer a text gives, how it is spelled alike, and whether it is right.

The work is done in C++ (`_native`, sources in `cpp/`); `reference` is the twin of extraction and
normal forms in readable Python. Everything here is pure, deterministic and linear in the length of
the text, with a budget of steps for comparing, and never raises for what a model may write. Only
text with a lone surrogate, which is no Unicode, raises `UnicodeEncodeError`. What counts as right,
and the policies for what public graders disagree about: docs/verifier.md.
"""

from cohort.grading._native import (
    answers_equal,
    grade_answer,
    grade_math,
    grade_math_batch,
    normalize_answer,
)
from cohort.grading._native import extract_answer as _extract_answer
from cohort.grading.policy import Policy
from cohort.grading.reference import Extraction, Rule, Verdict

__all__ = [
    "Extraction",
    "Policy",
    "Rule",
    "Verdict",
    "answers_equal",
    "extract_answer",
    "grade_answer",
    "grade_math",
    "grade_math_batch",
    "normalize_answer",
]


def extract_answer(text: str) -> Extraction | None:
    """The answer that `text` commits to, the rule that found it and where; None when it has none.

    Only text after the last `</think>` counts. An `ambiguous` one is never right: it is hedged,
    taken back, or one of several. The rules: `cpp/include/cohort/extract.h`.
    """
    found = _extract_answer(text)
    return None if found is None else Extraction(*found)
