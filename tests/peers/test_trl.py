"""A real GRPO step of TRL with our reward function against a real service (seen with 1.16.0)."""

import json

import pytest

from tests.peers.conftest import run_with

STEP = """
import json, sys, torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
from cohort.integrations.trl import reward_function

url, folder, conversational = sys.argv[1], sys.argv[2], sys.argv[3] == "yes"
words = ["<pad>", "<eos>", "####", "What", "is", "9", "+", "?", *map(str, range(1, 9))]
raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<pad>"))
raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>")
tokenizer.chat_template = (
    "{% for m in messages %}{{ m.content }} {% endfor %}"
)
torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=len(words), hidden_size=16, intermediate_size=24, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, pad_token_id=0, eos_token_id=1, bos_token_id=1,
))
text = "What is 9 + 9 ? ####"
prompt = [{"role": "user", "content": text}] if conversational else text
# The last row's ground truth has no answer in it: its completions must come back as None.
rows = Dataset.from_list([{"prompt": prompt, "gold": gold} for gold in ("9", "8", "")])
seen = []
ask = reward_function(url, ground_truth="gold", retry_for_s=30.0)
async def math(**kwargs):
    got = await ask(**kwargs)
    seen.extend(zip(kwargs["gold"], got))
    return got
config = GRPOConfig(
    output_dir=folder, max_steps=2, num_generations=4, per_device_train_batch_size=12,
    max_completion_length=4, use_cpu=True, report_to=[], logging_steps=1, save_strategy="no",
    learning_rate=1e-2, disable_tqdm=True, log_completions=False,
)
trainer = GRPOTrainer(
    model=model, args=config, reward_funcs=math, train_dataset=rows, processing_class=tokenizer
)
before = [p.detach().clone() for p in model.parameters()]
trainer.train()
changed = any(not torch.equal(a, b) for a, b in zip(before, model.parameters()))
losses = [row for row in trainer.state.log_history if "loss" in row]
print(json.dumps({"seen": seen, "changed": changed, "logs": losses}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("conversational", ["no", "yes"])
def test_trl_trains_with_our_rewards(reward_url, tmp_path, conversational):
    out = run_with("trl", STEP, reward_url, str(tmp_path), conversational)
    found = json.loads(out.strip().splitlines()[-1])
    assert len(found["seen"]) == 24  # 2 steps of 3 prompts with 4 completions
    for gold, reward in found["seen"]:
        assert reward is None if gold == "" else reward in (0.0, 1.0), (gold, reward)
    assert {reward for _, reward in found["seen"]} == {None, 0.0, 1.0}
    assert found["changed"], "the step has moved the weights"
    first = found["logs"][0]
    assert 0.0 <= first["rewards/math/mean"] <= 1.0
    assert first["rewards/math/frac_unscored"] == pytest.approx(1 / 3)
