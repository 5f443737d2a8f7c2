"""Does the completion end in `#### <number>`, and is it the right number? GSM8K's own convention.

Strict: the last line after the thinking is the mark and one number, nothing else. The number may
have a sign, `$`, thousands separators in their places, decimals and a full stop, and is compared
exactly: 18, 18.00 and $18. are the same number, 18.001 is another. Whoever wants `The answer is 18`
to count uses `math`.
"""

import re
from decimal import Decimal

from cohort.contracts.base import JsonValue
from services.reward.verifiers.base import Answer, Outcome, Params, final_part
from services.reward.verifiers.rule import RuleVerifier, bad_truth, plain_text, right_or_wrong

_MARK = "####"
_MAX_LINE = 1_024
_NUMBER = re.compile(r"[+-]?\$?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)\.?", re.ASCII)


class Gsm8kParams(Params):
    """It has no parameters."""


class Gsm8kVerifier(RuleVerifier[Gsm8kParams]):
    """1 when the number on the last line is the truth's, 0 for another one or none."""

    name = "gsm8k"
    version = "1"
    description = "Strict GSM8K: the last line must be `#### <number>`, compared exactly."
    params = Gsm8kParams

    def judge(self, answer: Answer, _: Gsm8kParams) -> Outcome:
        """Verdicts: correct, wrong, no_answer, unparsable_gold."""
        truth = _truth(answer.ground_truth)
        if truth is None:
            return bad_truth("ground_truth is neither a number nor ends in `#### <number>`")
        found = _marked_number(final_part(answer.completion) or "")
        if found is None:
            return Outcome(0.0, verdict="no_answer")
        return right_or_wrong(found == truth)


def _truth(truth: JsonValue) -> Decimal | None:
    """The number of a bare truth or of a whole solution."""
    text = plain_text(truth)
    if text is None:
        return None
    return _marked_number(text) if _MARK in text else _number(text)


def _marked_number(text: str) -> Decimal | None:
    """The number after the mark on the last line that is not blank."""
    text = text.rstrip()
    last = text[max(0, len(text) - _MAX_LINE) :].rpartition("\n")[2].lstrip()
    return _number(last.removeprefix(_MARK)) if last.startswith(_MARK) else None


def _number(text: str) -> Decimal | None:
    text = text.strip().replace("\u2212", "-")
    match = _NUMBER.fullmatch(text) if len(text) <= _MAX_LINE else None
    if match is None:
        return None
    number = Decimal(match[1].replace(",", ""))
    return number.copy_negate() if text.startswith("-") else number
