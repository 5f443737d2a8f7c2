"""The C++ twin of `cohort.grading.reference`; import it through `cohort.grading`."""

from collections.abc import Sequence

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

def answers_equal(answer: str, truth: str) -> bool:
    """Whether `answer` is the same answer as `truth`.

    A missing unit is fine, another unit is wrong. A percentage is its number or its hundredth, but
    a truth below 1 without a percent sign is a share: 25 % is 0.25, 0.25 % is not.
    """

def grade_math(completion: str, ground_truth: str) -> Verdict:
    """`correct`, `wrong`, `no_answer` or `unparsable_gold`.

    `ground_truth` is a bare answer, or a text in which `extract_answer` finds one by another rule
    than `last_number` (`#### 18`, `A: 18`, `\\boxed{18}`). It is unparsable when it is empty, above
    4096 characters, or several lines of prose: every completion would be wrong.
    """

def grade_math_batch(completions: Sequence[str], ground_truths: Sequence[str]) -> list[Verdict]:
    """`grade_math` for each pair, without the GIL and without copies of the texts.

    Raises `ValueError` when the lengths differ. Completions that share a truth are best passed in
    a row: the truth is then read once.
    """

def find_steps_batch(texts: Sequence[str]) -> list[list[tuple[int, bool, str]]]:
    """Fields of `cohort.grading.steps.ArithmeticStep` for each step of each text."""
