"""The tokenizer of the policy: text to ids, ids back to text with the end of each token in it."""

from collections.abc import Sequence
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from cohort.models import load_tokenizer
from services.generator.engines.base import EngineError

_INCOMPLETE = "�"
"""What a decoder writes for bytes that do not make a character yet."""


class Tokens:
    """A tokenizer with a chat template, and the ids that end a completion."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, eos_ids: frozenset[int]) -> None:
        self.tokenizer, self.eos_ids = tokenizer, eos_ids

    @classmethod
    def of(cls, folder: Path, more_eos: int | Sequence[int] | None) -> "Tokens":
        """Of a model folder; `more_eos` is the generation config's list. Raises `ModelError`."""
        tokenizer = load_tokenizer(folder)
        more = [more_eos] if isinstance(more_eos, int) else list(more_eos or ())
        eos = tokenizer.eos_token_id
        assert isinstance(eos, int)
        return cls(tokenizer, frozenset({eos, *more}))

    def render(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """Ids of a conversation, up to where the assistant begins to speak."""
        if not self.tokenizer.chat_template:
            raise EngineError("this model has no chat template: send `prompt` instead of messages")
        try:
            text = self.tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, tokenize=False
            )
        except Exception as error:  # a template is a program of the model's author
            raise EngineError(f"the chat template refuses these messages: {error}") from None
        return self.encode(str(text), special=False)

    def encode(self, text: str, special: bool) -> list[int]:
        """Ids of text; `special` lets the tokenizer add its start token, if it has one."""
        return list(self.tokenizer(text, add_special_tokens=special)["input_ids"])

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens left out."""
        return str(
            self.tokenizer.decode(
                list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )

    def spell(self, ids: Sequence[int]) -> tuple[str, list[int]]:
        """Text of ids and the end character of each token in it.

        Offsets never decrease and the last is the text's length. A token that ends inside a
        character ends before it; the token that completes the character ends after it.
        """
        text, offsets = self.decode(ids), []
        done = start = end = 0  # characters before `end` are spelled; `start` gives them context
        for i in range(len(ids)):
            before = self.decode(ids[start:end])
            piece = self.decode(ids[start : i + 1])
            whole = piece.rstrip(_INCOMPLETE)
            offsets.append(min(done + max(len(whole) - len(before), 0), len(text)))
            if whole == piece:
                done, start, end = offsets[-1], end, i + 1
        if offsets:
            offsets[-1] = len(text)
        return text, offsets
