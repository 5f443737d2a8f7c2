"""verl's own loader, reward managers and reward-model client with our function and service.

Seen with 0.9.1. What is verl's: loading the function by file and by package, `naive` and `dapo`
managers, and the HTTP client of a discriminative reward model. Ray's processes and GPUs are not.
"""

import json

import pytest

from cohort.integrations import verl as ours
from tests.peers.conftest import run_with

TOKENIZER = """
import asyncio, json, sys
import numpy as np, torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl import DataProto

words = ["<pad>", "<eos>", "####", "18", "17", "9", "+", "<think>", "</think>"]
words += ["<answer>", "</answer>"]
raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<pad>"))
raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<eos>", pad_token="<pad>")
tokenizer.chat_template = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\\n{{ m.content }}<|im_end|>\\n{% endfor %}"
)

def row(text, truth):
    ids = tokenizer(text)["input_ids"] + [1]
    mask = [1] * 3 + [1] * len(ids) + [0] * (12 - len(ids))
    batch = TensorDict({
        "prompts": torch.zeros(1, 3, dtype=torch.long),
        "responses": torch.tensor([ids + [0] * (12 - len(ids))]),
        "attention_mask": torch.tensor([mask]),
    }, batch_size=[1])
    extra = np.array([{"question": "9 + 9?"}], dtype=object)
    chat = np.empty(1, dtype=object)
    chat[0] = [{"role": "user", "content": "9 + 9"}]
    return DataProto(batch=batch, non_tensor_batch={
        "data_source": np.array(["gsm8k"], dtype=object),
        "reward_model": np.array([{"ground_truth": truth}], dtype=object),
        "extra_info": extra, "raw_prompt": chat,
    })
"""

MANAGERS = (
    TOKENIZER
    + """
from verl.trainer.ppo.reward import load_reward_manager

def config(path, url, manager):
    return OmegaConf.create({"reward": {
        "custom_reward_function": {"path": path, "name": "compute_score",
                                   "reward_kwargs": {"url": url, "retry_for_s": 0.2}},
        "reward_manager": {"source": "register", "name": manager},
        "reward_kwargs": {"max_resp_len": 12, "overlong_buffer_cfg": {"enable": False}},
    }})

async def main(url, file):
    found = []
    for path, manager in ((file, "naive"), ("pkg://cohort.integrations.verl", "dapo")):
        judge = load_reward_manager(config(path, url, manager), tokenizer)
        for text, truth in (("#### 18", "18"), ("#### 17", "18"), ("#### 18", "")):
            got = await judge.run_single(row(text, truth))
            extra = {k: float(v) for k, v in got["reward_extra_info"].items()}
            found.append([got["reward_score"], extra])
    try:
        judge = load_reward_manager(config(file, "http://127.0.0.1:9", "naive"), tokenizer)
        await judge.run_single(row("#### 18", "18"))
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")
    print(json.dumps(found))

asyncio.run(main(*sys.argv[1:]))
"""
)

REWARD_MODEL = (
    TOKENIZER
    + """
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

async def main(address):
    found = []
    for engine in ("vllm", "sglang"):
        worker = object.__new__(RewardLoopWorker)
        worker.config = OmegaConf.create({"reward": {"reward_model": {
            "model_path": "a/model", "rollout": {"name": engine}}}})
        worker.reward_router_address = address
        worker.input_tokenizer = worker.reward_model_tokenizer = tokenizer
        for text in ("<think> 9 + 9 </think> <answer> 18 </answer>", "18"):
            found.append(await worker.compute_score_disrm(row(text, None)))
    print(json.dumps(found))

asyncio.run(main(sys.argv[1]))
"""
)


@pytest.mark.slow
def test_verl_managers_call_our_function(reward_url):
    out = run_with("verl", MANAGERS, reward_url, str(ours.__file__))
    *found, failure = json.loads(out.strip().splitlines()[-1])
    right = [1.0, {"score": 1.0, "acc": 1.0, "unscorable": 0.0}]
    wrong = [0.0, {"score": 0.0, "acc": 0.0, "unscorable": 0.0}]
    unread = [0.0, {"score": 0.0, "acc": 0.0, "unscorable": 1.0}]
    assert found == [right, wrong, unread] * 2
    assert failure.startswith("Unreachable: reward: cannot reach http://127.0.0.1:9")


@pytest.mark.slow
def test_verl_takes_us_for_its_reward_model(reward_url):
    out = run_with("verl", REWARD_MODEL, reward_url.removeprefix("http://"))
    found = json.loads(out.strip().splitlines()[-1])
    assert [one["reward_score"] for one in found] == [1.0, 0.0] * 2
