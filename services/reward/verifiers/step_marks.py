"""How process reward models were taught to see steps: what stands after each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from services.reward.verifiers.base import Answer
from services.reward.verifiers.transcript import Turn, broken_up, turns


@dataclass(frozen=True, slots=True)
class Style:
    """How a model was taught to see steps."""

    mark: str
    chat: bool
    """Prompt and steps are turns in the chat template; else one text."""
    system: str = ""
    after_prompt: str = ""
    positive: int = 1
    """Which of the two labels means that the step is right."""


StyleName = Literal["qwen", "trl", "math_shepherd"]
STYLES: dict[StyleName, Style] = {
    # arXiv 2501.07301, Qwen2.5-Math-PRM: `<extra_0>` after each step of the assistant's turn
    "qwen": Style(
        "<extra_0>",
        chat=True,
        system="Please reason step by step, and put your final answer within \\boxed{}.",
    ),
    # TRL's PRMTrainer: a separator after each step, the label at its last token
    "trl": Style("\n", chat=False),
    # arXiv 2312.08935, Math-Shepherd: the label is `+` or `-`; vLLM must return these two tokens
    "math_shepherd": Style(" ки\n", chat=False, after_prompt=" ", positive=0),
}


def conversation(
    answer: Answer, steps: Sequence[tuple[int, int]], style: Style, marks: Sequence[str]
) -> list[Turn]:
    """The turns that a chat model reads, the last one with a mark after each step."""
    asked = turns(answer, marks, style.system)[:-1]
    return [*asked, {"role": "assistant", "content": marked(answer, steps, style, marks)}]


def marked(
    answer: Answer, steps: Sequence[tuple[int, int]], style: Style, marks: Sequence[str]
) -> str:
    """The steps, each without marks of its own and followed by one of ours."""
    texts = (answer.completion[start:end] for start, end in steps)
    return "".join(broken_up(text, marks) + style.mark for text in texts)
