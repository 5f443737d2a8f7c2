r"""Which option does the completion choose, and is it the right one?

The truth is a letter or an option's text, or both the truth and the options of its question:

    "B"      "(B)"      {"answer": "B", "options": ["a virus", "a gene", "a cell"]}

With the options known, `The answer is a gene.` is B too. The choice is read from boxes, answer
blocks, sentences, bold letters or a letter alone, as `commitment` says. Who names two, taking none
back, gets 0 and `ambiguous`; `The answer is not B` is no answer.
"""

import string
from functools import lru_cache

from pydantic import Field, field_validator

from cohort.contracts.base import JsonValue
from services.reward.verifiers.base import Answer, Outcome, Params, final_part
from services.reward.verifiers.commitment import Options, committed, read, spelled
from services.reward.verifiers.rule import RuleVerifier, bad_truth, plain_text, right_or_wrong


class MultipleChoiceParams(Params):
    """What may be chosen, unless the ground truth brings its own options."""

    choices: str = Field(default="ABCDE", min_length=2, max_length=26)
    """The letters, without anything between them."""
    options: tuple[str, ...] = Field(default=(), max_length=26)
    """What the options say, in the order of the letters, where all questions have the same ones."""

    @field_validator("choices")
    @classmethod
    def _distinct_letters(cls, choices: str) -> str:
        if not set(choices) <= set(string.ascii_uppercase) or len(set(choices)) != len(choices):
            raise ValueError("choices are different capital letters, for example ABCD")
        return choices

    @field_validator("options")
    @classmethod
    def _distinct_options(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        if options and (len(options) < 2 or len({spelled(one) for one in options}) != len(options)):
            raise ValueError("options are two or more texts, no two of them alike")
        return options


class MultipleChoiceVerifier(RuleVerifier[MultipleChoiceParams]):
    """1 when the one option that the completion commits to is the right one, else 0."""

    name = "multiple_choice"
    version = "1"
    description = "Compares the letter (or option) that the completion commits to with the truth."
    params = MultipleChoiceParams

    def judge(self, answer: Answer, params: MultipleChoiceParams) -> Outcome:
        """Verdicts: correct, wrong, no_answer, ambiguous, unparsable_gold."""
        truth, texts = _split(answer.ground_truth, params)
        if truth is None or (texts and not 2 <= len(texts) <= 26):
            return bad_truth("ground_truth is no letter, no text and no object with an answer")
        options = _options(params.choices, texts)
        if options is None:
            return bad_truth("two options of the ground truth read the same")
        right = read(truth, options)
        if len(right.letters) != 1:
            return bad_truth(f"ground_truth names none of the choices {', '.join(options.letters)}")
        chosen = committed(final_part(answer.completion) or "", options)
        if len(chosen) != 1:
            return Outcome(0.0, verdict="ambiguous" if chosen else "no_answer")
        return right_or_wrong(chosen == right.letters)


def _split(truth: JsonValue, params: MultipleChoiceParams) -> tuple[str | None, tuple[str, ...]]:
    """The truth as text and the texts of the options."""
    if not isinstance(truth, dict):
        return plain_text(truth), params.options
    texts = truth.get("options", list(params.options))
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return None, ()
    return plain_text(truth.get("answer")), tuple(str(text) for text in texts)


@lru_cache(maxsize=1_024)
def _options(choices: str, texts: tuple[str, ...]) -> Options | None:
    """None when two texts read the same."""
    letters = string.ascii_uppercase[: len(texts)] if len(texts) > len(choices) else choices
    if texts:
        letters = letters[: len(texts)]
    by_text = {spelled(text): letter for text, letter in zip(texts, letters, strict=False)}
    return Options(letters, by_text) if len(by_text) == len(texts) else None
