"""Chat text as models write it: cutting off the prompt and the special tokens.

Special tokens are cut at the end only: what a model writes in the middle of its answer stays.
"""

from services.reward.grader import RequestError

_ENDS = ("</s>", "<eos>", "<pad>", "[PAD]", "<end_of_turn>", "<｜end▁of▁sentence｜>")
_MAX_TOKEN = 40
"""Characters of the longest `<|...|>`."""
_ASSISTANT = (
    "<|im_start|>assistant\n",  # ChatML: Qwen, SmolLM2
    "<|start_header_id|>assistant<|end_header_id|>\n\n",  # Llama 3
    "<start_of_turn>model\n",  # Gemma
    "<|assistant|>\n",  # Phi, Zephyr
    "<｜Assistant｜>",  # DeepSeek
    "[/INST]",  # Mistral, Llama 2
)


def without_special_tokens(text: str) -> str:
    """The text without the run of special tokens at its end, in linear time."""
    end = len(text)
    while True:
        stop = end
        while stop and text[stop - 1].isspace():
            stop -= 1
        start = _token_start(text, stop)
        if start is None:
            return text[:end]
        end = start


def _token_start(text: str, stop: int) -> int | None:
    """Where the special token begins that ends at `stop`."""
    for token in _ENDS:
        if text.endswith(token, 0, stop):
            return stop - len(token)
    if not text.endswith("|>", 0, stop):
        return None
    start = text.rfind("<|", max(0, stop - _MAX_TOKEN), stop - 2)
    inside = text[start + 2 : stop - 2]
    plain = inside.replace("_", "").replace("-", "").isalnum()
    return start if start >= 0 and plain else None


def split_at_assistant(text: str) -> tuple[str, str] | None:
    """Prompt and completion of a chat text, split after the last header of the assistant's turn."""
    ends = [at + len(mark) for mark in _ASSISTANT if (at := text.rfind(mark)) >= 0]
    return (text[: max(ends)], text[max(ends) :]) if ends else None


def completion_of(query: str, prompt: str) -> str:
    """What was sampled: the query without the prompt that it begins with.

    A decoded query may have a token before the prompt, or lack the beginning of a prompt that was
    too long. Raises `RequestError` when no prompt is found: an answer quoted in it would count.
    """
    at = query.find(prompt)
    if at >= 0:
        return without_special_tokens(query[at + len(prompt) :])
    parts = split_at_assistant(query)
    if parts is None:
        raise RequestError(
            "prompt_not_found",
            "query: it does not contain its prompt, so prompt and completion cannot be told apart;"
            " send the prompt as the query begins with it",
        )
    return without_special_tokens(parts[1])


def text_of(prompt: object) -> str:
    """A prompt as text: itself, or the contents of its messages."""
    if isinstance(prompt, str):
        return prompt
    messages = prompt if isinstance(prompt, list) else []
    contents = (m.get("content") for m in messages if isinstance(m, dict))
    return "\n\n".join(content for content in contents if isinstance(content, str))
