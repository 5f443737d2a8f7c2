"""OpenRLHF's own executor asks a real service for the reward of a sample (seen with 0.11.2).

The policy is a stand-in that returns fixed tokens; tokenizing, decoding with special tokens, the
HTTP client and the reading of the reply are OpenRLHF's.
"""

import json

import pytest

from tests.peers.conftest import run_with

SCRIPT = """
import asyncio, json, sys
from types import SimpleNamespace
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from openrlhf.utils.agent import SingleTurnAgentExecutor

words = ["<pad>", "<|im_start|>", "<|im_end|>", "####", "user", "assistant", "9", "+", "18", "17"]
raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<pad>"))
raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<pad>",
    additional_special_tokens=["<|im_start|>"],
)

class Engine:
    def __init__(self, text):
        self.ids = tokenizer(text)["input_ids"]
    async def generate(self, *_, **__):
        out = SimpleNamespace(token_ids=self.ids, logprobs=None, finish_reason="stop", text="")
        return SimpleNamespace(outputs=[out])

async def sample(urls, text, label):
    # The prompt quotes an answer: graded alone it would be right.
    prompt = "<|im_start|> user 9 + 9 #### 18 <|im_end|> <|im_start|> assistant"
    params = SimpleNamespace(max_tokens=8, logprobs=None)
    executor = SingleTurnAgentExecutor(urls)
    return await executor.execute(prompt, label, params, 64, tokenizer, Engine(text))

async def main(url):
    asked = [
        (url, "#### 18 <|im_end|>", "18"),
        (url, "#### 17 <|im_end|>", "18"),
        (url, "<|im_end|>", "18"),
        ([url, url], "#### 18 <|im_end|>", "18"),
        (url, "#### 18 <|im_end|>", ""),
    ]
    outputs = [await sample(*one) for one in asked]
    return [{k: out[k] for k in ("reward", "scores", "extra_logs")} for out in outputs]

print(json.dumps(asyncio.run(main(sys.argv[1]))))
"""


@pytest.mark.slow
def test_openrlhf_reads_our_rewards(reward_url):
    out = run_with("openrlhf", SCRIPT, f"{reward_url}/get_reward")
    found = json.loads(out.strip().splitlines()[-1])
    assert [one["reward"] for one in found] == [[1.0], [0.0], [0.0], [1.0], [0.0]]
    assert [one["scores"] for one in found] == [[1.0], [0.0], [0.0], [1.0], [0.0]]
    assert [one["extra_logs"]["unscorable"] for one in found] == [[0.0]] * 4 + [[1.0]]
