"""What a model that judges gets to read: turns in which a completion can forge nothing.

Models take marks like `<|im_end|>` or `<extra_0>` for structure wherever they stand. In a
completion they could end the turn, add one that praises it, or add a step: they are broken up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from services.reward.verifiers.base import Answer

MARKS = (
    *("<|", "<｜", "<extra_", "<s>", "</s>", "<pad>", "<bos>", "<eos>", "<unk>", "<mask>"),
    *("<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
    *("[CLS]", "[SEP]", "[PAD]", "[MASK]"),
)
"""How structure begins in the chat templates and vocabularies of common models."""

_ROLES = frozenset({"system", "user", "assistant"})
Turn = dict[str, str]


def broken_up(text: str, marks: Iterable[str] = ()) -> str:
    """The text without `MARKS` and `marks`: a space after a mark's first character ends it."""
    for mark in (*MARKS, *marks):
        bare = mark.strip() or mark.strip(" ")
        instead = f"{bare[0]} {bare[1:]}" if len(bare) > 1 and not bare.isspace() else " "
        while bare and bare in text:  # ends: a first character that was cut off starts none again
            text = text.replace(bare, instead)
    return text


def turns(answer: Answer, marks: Iterable[str] = (), system: str = "") -> list[Turn]:
    """The conversation: a prompt that is a JSON list of messages, or one user turn; the answer."""
    marks = tuple(marks)
    messages = _messages(answer.prompt) or [{"role": "user", "content": answer.prompt}]
    if system and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": system})
    spoken = [{**turn, "content": broken_up(turn["content"], marks)} for turn in messages]
    return [*spoken, {"role": "assistant", "content": broken_up(answer.completion, marks)}]


def _messages(prompt: str) -> list[Turn] | None:
    if not prompt.lstrip().startswith("["):
        return None
    try:
        found = json.loads(prompt)
    except (ValueError, RecursionError):
        return None
    good = all(
        isinstance(turn, dict)
        and turn.keys() == {"role", "content"}
        and turn["role"] in _ROLES
        and isinstance(turn["content"], str)
        for turn in found
    )
    return found if good else None


def split_steps(completion: str, at: Literal["blank_line", "line"]) -> list[tuple[int, int]]:
    """Start and end of each step, without the white space around it; none for an empty text."""
    spans: list[tuple[int, int]] = []
    position, joins = 0, False
    for line in completion.split("\n"):
        text = line.strip()
        if text:
            start = position + line.index(text)
            end = start + len(text)
            if joins and at == "blank_line":
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        joins = bool(text)
        position += len(line) + 1
    return spans
