"""Is the answer, character by character, one of the accepted texts?

What is compared is what follows the thinking, or the part of it that `extract` names. Two blocks or
boxes that say different things are no answer but two, hence `ambiguous`.
"""

from typing import Literal

from cohort.contracts.base import JsonValue
from services.reward.verifiers.base import Answer, Outcome, Params, final_part
from services.reward.verifiers.rule import (
    RuleVerifier,
    bad_truth,
    boxed_spans,
    plain_text,
    right_or_wrong,
    tagged_spans,
)


class ExactParams(Params):
    """Which part of a completion is compared, and what may differ."""

    part: Literal["final", "whole"] = "final"
    """`final`: what follows the thinking; `whole`: the completion with its thinking."""
    extract: Literal["none", "answer_tag", "boxed", "last_line"] = "none"
    """What is compared of that part: all, the `<answer>` block, the box, the last line."""
    case_sensitive: bool = True
    """Whether `Paris` and `paris` differ."""
    strip: bool = True
    """Whether white space at both ends is ignored."""
    collapse_whitespace: bool = False
    """Whether any run of white space is the same as one blank."""


class ExactVerifier(RuleVerifier[ExactParams]):
    """1 when the answer equals an accepted text, else 0."""

    name = "exact"
    version = "1"
    description = "Compares the answer's text with the ground truth, or with each of a list."
    params = ExactParams

    def judge(self, answer: Answer, params: ExactParams) -> Outcome:
        """Verdicts: correct, wrong, no_answer, ambiguous, unparsable_gold."""
        accepted = _accepted(answer.ground_truth, params)
        if not accepted:
            return bad_truth("ground_truth is no text or list of texts, or one of them is empty")
        text = answer.completion if params.part == "whole" else final_part(answer.completion)
        found = {_spelled(part, params) for part in _parts(text or "", params.extract)}
        found = {part for part in found if part.strip()}
        if not found:
            return Outcome(0.0, verdict="no_answer")
        if len(found) > 1:
            return Outcome(0.0, verdict="ambiguous")
        return right_or_wrong(found <= accepted)


def _accepted(truth: JsonValue, params: ExactParams) -> set[str]:
    """The accepted texts; none of them when one is unusable, for that is a mistake in the data."""
    texts = [plain_text(one) for one in (truth if isinstance(truth, list) else [truth])]
    if any(text is None or not text.strip() for text in texts):
        return set()
    return {_spelled(text, params) for text in texts if text is not None}


def _parts(text: str, extract: str) -> list[str]:
    if extract == "answer_tag":
        return [text[start:end] for start, end in tagged_spans(text, "answer")]
    if extract == "boxed":
        return [text[start:end] for start, end in boxed_spans(text)]
    return [text.rstrip().rpartition("\n")[2]] if extract == "last_line" else [text]


def _spelled(text: str, params: ExactParams) -> str:
    if params.collapse_whitespace:
        text = " ".join(text.split()) if params.strip else _collapsed(text)
    elif params.strip:
        text = text.strip()
    return text if params.case_sensitive else text.casefold()


def _collapsed(text: str) -> str:
    """One blank for any run of white space, at the ends too."""
    words = " ".join(text.split())
    before = " " if text[:1].isspace() else ""
    after = " " if words and text[-1:].isspace() else ""
    return before + words + after
