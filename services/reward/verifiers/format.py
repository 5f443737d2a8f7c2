"""Is the completion laid out as asked: each tagged block once, in order, not empty, nothing else?

Strict on purpose. Published format rewards accept a second answer block, text after the last tag or
empty blocks, and policies find that out. It counts tags and looks at what lies between them: linear
time, no regular expressions.
"""

import string
import unicodedata
from collections.abc import Sequence

from pydantic import Field, field_validator

from services.reward.verifiers.base import Answer, Outcome, Params, Verifier

# Of ASCII letters only, so that every character keeps its place.
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class FormatParams(Params):
    """Which blocks are asked for."""

    tags: tuple[str, ...] = Field(default=("think", "answer"), min_length=1, max_length=8)
    """Names of the blocks, in order."""
    opened: bool = False
    """The prompt already ended with the first opening tag, so the completion starts inside it."""

    @field_validator("tags")
    @classmethod
    def _distinct_names(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        for tag in tags:
            if not (tag.isascii() and tag.replace("_", "").replace("-", "").isalnum()):
                raise ValueError(f"{tag!r} is no tag name: use letters, digits, - and _")
        if len({tag.lower() for tag in tags}) != len(tags):
            raise ValueError("the same tag is named twice")
        return tags


class FormatVerifier(Verifier[FormatParams]):
    """1 when the layout is exactly as asked, else 0."""

    name = "format"
    version = "1"
    description = (
        "Checks that each tagged block is there once, in order, not empty, and nothing else."
    )
    params = FormatParams

    async def score(
        self, answers: Sequence[Answer], params: FormatParams, outcomes: list[Outcome | None]
    ) -> None:
        """Judge the layout of each completion."""
        for place, answer in enumerate(answers):
            text = f"<{params.tags[0]}>{answer.completion}" if params.opened else answer.completion
            good = well_formed(text, params.tags)
            verdict = "well_formed" if good else "malformed"
            outcomes[place] = Outcome(float(good), verdict=verdict)


def well_formed(text: str, tags: Sequence[str]) -> bool:
    """Whether `text` is `<a>...</a> <b>...</b>`, every tag once and something in every block."""
    lowered = text.translate(_LOWER)  # <Answer> must not smuggle in a second block
    at = 0
    for tag in (name.translate(_LOWER) for name in tags):
        opening, closing = f"<{tag}>", f"</{tag}>"
        if lowered.count(opening) != 1 or lowered.count(closing) != 1:
            return False
        start, end = lowered.index(opening), lowered.index(closing)
        if start < at or text[at:start].strip() or end < start:
            return False
        if not _visible(text[start + len(opening) : end]):
            return False
        at = end + len(closing)
    return not text[at:].strip()


def _visible(text: str) -> bool:
    """Whether anything in it can be seen: blanks, control and zero-width characters cannot."""
    return any(unicodedata.category(character)[0] not in "CZ" for character in text)
