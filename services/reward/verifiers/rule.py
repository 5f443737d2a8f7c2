"""What verifiers that are plain rules share: one answer at a time, and where an answer stands.

A rule needs no model and no other process. Whatever it does is linear in the completion's length,
so that the loop only has to give way now and then for deadlines to hold.
"""

import re
from abc import abstractmethod
from collections.abc import Sequence

from anyio.lowlevel import checkpoint

from cohort.contracts.base import JsonValue
from services.reward.verifiers.base import Answer, Outcome, P, Verifier

_TURN = 65_536
"""Characters that are judged before others get their turn."""
_BRACE = re.compile(r"[\\{}]")
_BOX = ("\\boxed", "\\fbox")


class RuleVerifier(Verifier[P]):
    """Judges each answer by itself."""

    @abstractmethod
    def judge(self, answer: Answer, params: P) -> Outcome:
        """The outcome of one answer; must not raise for anything that a model may write."""

    async def score(
        self, answers: Sequence[Answer], params: P, outcomes: list[Outcome | None]
    ) -> None:
        """One after the other; what is done at the deadline counts."""
        judged = 0
        for place, answer in enumerate(answers):
            outcomes[place] = self.judge(answer, params)
            judged += len(answer.completion)
            if judged >= _TURN:
                judged = 0
                await checkpoint()


def right_or_wrong(right: bool) -> Outcome:
    """1 and `correct`, or 0 and `wrong`."""
    return Outcome(1.0, verdict="correct") if right else Outcome(0.0, verdict="wrong")


def bad_truth(why: str) -> Outcome:
    """The ground truth cannot be used; `why` is a sentence."""
    return Outcome.unscored("unscorable", why, "unparsable_gold")


def plain_text(truth: JsonValue) -> str | None:
    """A ground truth that is a text or a number, as text; None when it is anything else."""
    if isinstance(truth, bool) or not isinstance(truth, str | int | float):
        return None
    return str(truth)


def boxed_spans(text: str) -> list[tuple[int, int]]:
    r"""Where the contents of complete `\boxed{}` and `\fbox{}` stand, by their ends."""
    if not any(box in text for box in _BOX):
        return []
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    escaped = -1
    for match in _BRACE.finditer(text):
        at = match.start()
        if at == escaped:
            continue
        if match[0] == "\\":
            escaped = at + 1
        elif match[0] == "{":
            opened.append(at)
        elif opened:
            brace = opened.pop()
            if text[max(0, brace - 16) : brace].rstrip(" ").endswith(_BOX):
                found.append((brace + 1, at))
    return found


def tagged_spans(text: str, tag: str) -> list[tuple[int, int]]:
    """Where the contents of closed `<tag>` blocks stand; an opening tag in a block starts anew."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    found: list[tuple[int, int]] = []
    end = text.find(closing)
    floor = 0
    while end >= 0:
        start = text.rfind(opening, floor, end)
        if start >= 0:
            found.append((start + len(opening), end))
        floor = end + len(closing)
        end = text.find(closing, floor)
    return found
