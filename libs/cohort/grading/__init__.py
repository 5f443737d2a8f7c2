"""Comparing answers: which answer a text gives, how it is spelled alike, and whether it is right.

The work is done in C++ (`_native`, sources in `cpp/`); `reference` is its twin in readable Python.
Everything here is pure, deterministic and linear in the length of the text, and never raises for
what a model may write. Only text with a lone surrogate, which is no Unicode, raises
`UnicodeEncodeError`.
"""

from cohort.grading._native import answers_equal, grade_math, grade_math_batch, normalize_answer
from cohort.grading._native import extract_answer as _extract_answer
from cohort.grading.reference import Extraction, Rule, Verdict

__all__ = [
    "Extraction",
    "Rule",
    "Verdict",
    "answers_equal",
    "extract_answer",
    "grade_math",
    "grade_math_batch",
    "normalize_answer",
]


def extract_answer(text: str) -> Extraction | None:
    """The answer that `text` commits to, the rule that found it and where; None when it has none.

    The first rule that finds something wins: `gsm8k` (`#### 18`), `boxed` (`\\boxed{18}`), `phrase`
    (`the answer is 18`), `last_number`. Only text after the last `</think>` counts.
    """
    found = _extract_answer(text)
    return None if found is None else Extraction(*found)
