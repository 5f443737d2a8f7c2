"""Is the completion laid out as asked: each tagged block once, in order, not empty, nothing else?

Strict on purpose. Published format rewards accept a second answer block, text after the last tag or
empty blocks, and policies find that out. Here every spelling of a tag counts as that tag
(`<Answer>`, `</answer >`, `<answer id="2">`), a block needs something that can be seen, and only
white space may stand outside. A part of the layout earns nothing: tags alone are cheap.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from pydantic import Field, field_validator

from services.reward.verifiers.base import Answer, Outcome, Params
from services.reward.verifiers.rule import RuleVerifier

_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
"""Hangul fillers and the empty Braille cell: letters and symbols by category, yet invisible."""
_INVISIBLE = _FILLERS + "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufe0f\ufeff\x00"


class FormatParams(Params):
    """Which blocks are asked for."""

    tags: tuple[str, ...] = Field(default=("think", "answer"), min_length=1, max_length=8)
    """Names of the blocks, in order."""
    opened: bool = False
    """The prompt already ended with the first opening tag, so the completion starts inside it."""
    then_text: bool = False
    """Text must follow the last block, as in `<think>...</think> the answer` with one tag."""

    @field_validator("tags")
    @classmethod
    def _distinct_names(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        for tag in tags:
            if not (tag.isascii() and tag.replace("_", "").replace("-", "").isalnum()):
                raise ValueError(f"{tag!r} is no tag name: use letters, digits, - and _")
        if len({tag.lower() for tag in tags}) != len(tags):
            raise ValueError("the same tag is named twice")
        return tags


class FormatVerifier(RuleVerifier[FormatParams]):
    """1 when the layout is exactly as asked, else 0."""

    name = "format"
    version = "2"
    description = (
        "Checks that each tagged block is there once, in order, not empty, and nothing else."
    )
    params = FormatParams

    def judge(self, answer: Answer, params: FormatParams) -> Outcome:
        """Verdicts: well_formed, malformed."""
        text = f"<{params.tags[0]}>{answer.completion}" if params.opened else answer.completion
        good = well_formed(text, params.tags, then_text=params.then_text)
        return Outcome(float(good), verdict="well_formed" if good else "malformed")


def well_formed(text: str, tags: Sequence[str], *, then_text: bool = False) -> bool:
    """Whether `text` is `<a>...</a> <b>...</b>`, every tag once and something in every block."""
    expected = [part for tag in tags for part in (f"<{tag}>", f"</{tag}>")]
    found = list(islice(_spellings(tuple(tags)).finditer(text), len(expected) + 1))
    if [match[0] for match in found] != expected:
        return False
    at = 0
    for opening, closing in zip(found[::2], found[1::2], strict=True):
        if text[at : opening.start()].strip():
            return False
        if not _visible(text[opening.end() : closing.start()]):
            return False
        at = closing.end()
    return _visible(text[at:]) if then_text else not text[at:].strip()


@lru_cache(maxsize=256)
def _spellings(names: tuple[str, ...]) -> re.Pattern[str]:
    """Everything that some reader may take for one of the tags.

    Each attempt to match ends at the next angle bracket, so that the search is linear.
    """
    either = "|".join(map(re.escape, names))
    return re.compile(rf"<[\s/]*(?:{either})(?![\w-])[^<>]*>", re.ASCII | re.IGNORECASE)


def _visible(text: str) -> bool:
    """Whether anything can be seen: not blanks, lone marks, control or zero-width characters."""
    return any(
        unicodedata.category(character)[0] not in "CZM" and character not in _FILLERS
        for character in text.strip().strip(_INVISIBLE)
    )
