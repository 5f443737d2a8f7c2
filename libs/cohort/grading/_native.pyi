"""The C++ side of `cohort.grading`; import it through `cohort.grading`.

Every function releases no reference and keeps no state; text with a lone surrogate raises
`UnicodeEncodeError`. `policy` are the settings of `cohort.grading.Policy`: an unknown name raises
`TypeError`, an unknown value `ValueError`.
"""

from collections.abc import Sequence
from typing import Unpack

from cohort.grading.policy import Policy
from cohort.grading.reference import Rule, Verdict

def extract_answer(text: str) -> tuple[str, Rule, int, int, bool] | None:
    """Fields of `Extraction`: answer, rule, start and end in characters, ambiguous; or None."""

def normalize_answer(answer: str) -> str:
    """The one spelling of an answer.

    A number becomes an exact decimal (`-12.5`, any length) or, where no decimal ends, a fraction in
    lowest terms (`1/3`), with its unit if it has one (`25%`, `5 cm^2`); currency and plain words
    after it go. Fractions whose parts have more than 18 digits, and everything else, stay text
    without LaTeX and spacing variants. Answers above 4096 characters only lose spaces at the ends.
    """

def answers_equal(answer: str, truth: str, **policy: Unpack[Policy]) -> bool:
    """Whether the verdict of `grade_answer` is `correct`."""

def grade_answer(answer: str, truth: str, **policy: Unpack[Policy]) -> Verdict:
    """The verdict on an answer as it was extracted: never `ambiguous`."""

def grade_math(completion: str, ground_truth: str, **policy: Unpack[Policy]) -> Verdict:
    """The verdict on the answer that a completion gives.

    `ground_truth` is a bare answer, or a text that marks one as `extract_answer` finds it
    (`#### 18`, `A: 18`, `\\boxed{18}`). It is unparsable when it is empty, above 4096 characters,
    or prose: every completion would be wrong.
    """

def grade_math_batch(
    completions: Sequence[str], ground_truths: Sequence[str], **policy: Unpack[Policy]
) -> list[Verdict]:
    """`grade_math` for each pair, without the GIL and without copies of the texts.

    Raises `ValueError` when the lengths differ. Completions that share a truth are best passed in
    a row: the truth is then read once.
    """

def find_steps_batch(texts: Sequence[str]) -> list[list[tuple[int, bool, str]]]:
    """Fields of `ArithmeticStep` for each text."""
