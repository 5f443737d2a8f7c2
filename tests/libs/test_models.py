"""Names become folders that plain transformers loads, and wrong names become one clear sentence."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from cohort.models import ModelError, load_model, load_tokenizer, resolve_model

TINY = "bundled:tiny-random"


def test_tiny_random_is_made_once_and_always_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: resolve_model(TINY, tmp_path / "a"), range(4)))
    first, second = folders.pop(), resolve_model(TINY, tmp_path / "b")
    assert not folders
    files = {path.name for path in first.iterdir()}
    assert {"config.json", "tokenizer.json", "model.safetensors"} <= files
    assert all((first / f).read_bytes() == (second / f).read_bytes() for f in files)
    assert not [path for path in first.parent.iterdir() if path.name.endswith(".new")]


def test_tiny_random_loads_in_plain_transformers(tmp_path: Path) -> None:
    folder = resolve_model(TINY, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    text = "".join(map(chr, range(32, 127))) + "\n"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "1 + 1?"}], add_generation_prompt=True, return_dict=True
    )["input_ids"]
    assert tokenizer.decode(chat) == ("<|im_start|>user\n1 + 1?<|im_end|>\n<|im_start|>assistant\n")
    assert tokenizer.eos_token_id in chat
    assert model.config.eos_token_id == tokenizer.eos_token_id
    assert model(torch.tensor([chat])).logits.shape == (1, len(chat), len(tokenizer))
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_own_loaders_take_the_folder(tmp_path: Path) -> None:
    folder = resolve_model(TINY, tmp_path)
    model = load_model(folder, torch.bfloat16)
    assert model.dtype is torch.bfloat16
    assert not model.training
    assert load_tokenizer(folder).eos_token == "<|im_end|>"


def test_folders_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        resolve_model(str(tmp_path / "nowhere"), tmp_path)
    with pytest.raises(ModelError, match=r"has no config\.json"):
        resolve_model(str(tmp_path), tmp_path)
    with pytest.raises(ModelError, match="cannot be looked at: File name too long"):
        resolve_model("x" * 5000, tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="is a file, not a model folder"):
        resolve_model(str(tmp_path / "config.json"), tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(ModelError, match="no safetensors"):
        resolve_model(str(tmp_path), tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not that either")
    with pytest.raises(ModelError, match="does not load"):
        load_model(resolve_model(str(tmp_path), tmp_path), torch.float32)


def test_unknown_names_say_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="choose smollm2-135m-instruct or tiny-random"):
        resolve_model("bundled:gpt-5", tmp_path)
    with pytest.raises(ModelError, match="does not exist"):
        resolve_model("not a name", tmp_path)


def test_the_hub_out_of_reach_is_said(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from cohort.models import *\n"
        "try: resolve_model('nobody/no-such-model', Path('.'))\n"
        "except ModelError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "the Hugging Face hub cannot be reached and no copy is cached" in done.stdout


def test_names_resolve_without_torch() -> None:
    code = "import cohort.models, sys; assert not {'torch', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_smollm2_answers(tmp_path: Path) -> None:
    folder = resolve_model("bundled:smollm2-135m-instruct", tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    ids = tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    out = model.generate(**ids, max_new_tokens=16, do_sample=False)[0, ids["input_ids"].shape[1] :]
    assert tokenizer.decode(out) == "The capital of France is Paris.<|im_end|>"
