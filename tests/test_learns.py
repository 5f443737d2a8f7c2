"""The demo keeps its word: a real model learns, and the saved folder is as good as the run said."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from cohort.cli import main
from cohort.config import RunConfig
from cohort.grading import grade_math
from cohort.tasks import Task, make_task

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "configs" / "arithmetic_grpo.yaml"
BATCH = 64


def accuracy_in_transformers(model_dir: Path, task: Task, max_new_tokens: int) -> float:
    """Greedy accuracy on the held-out questions, with nothing of ours but the grading."""
    tokenizer = AutoTokenizer.from_pretrained(model_dir, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32)
    right = 0
    for start in range(0, len(task.eval), BATCH):
        rows = [task.eval[i] for i in range(start, min(start + BATCH, len(task.eval)))]
        chats = [[turn.model_dump() for turn in row.prompt.messages or ()] for row in rows]
        inputs = tokenizer.apply_chat_template(
            chats, add_generation_prompt=True, padding=True, return_tensors="pt", return_dict=True
        )
        with torch.inference_mode():
            ids = model.generate(**inputs, max_new_tokens=max_new_tokens, do_sample=False)
        texts = tokenizer.batch_decode(
            ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True
        )
        verdicts = [grade_math(t, str(r.ground_truth)) for t, r in zip(texts, rows, strict=True)]
        right += verdicts.count("correct")
    return right / len(task.eval)


def operands(question: str) -> frozenset[str]:
    return frozenset(word.strip("?") for word in question.split() if word.strip("?").isdigit())


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_demo_learns(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    state = ROOT / ".cohort"  # the converted model is kept there
    assert main(["demo", "--runs", str(runs), "--state", str(state)]) == 0
    [run] = runs.iterdir()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["steps"] <= 20
    assert summary["eval"]["num_questions"] == 256
    assert summary["eval"]["before"] <= 0.30
    assert summary["eval"]["after"] >= 0.80

    config = RunConfig.from_yaml(CONFIG.read_text())
    task = make_task(config.task.name, config.task.args, config.seed)
    found = accuracy_in_transformers(run / "model", task, config.rollout.max_new_tokens)
    assert found == pytest.approx(summary["eval"]["after"], abs=0.03)

    rows = [json.loads(line) for line in (run / "completions.jsonl").read_text().splitlines()]
    asked = {purpose: set() for purpose in ("train", "eval")}
    for row in rows:
        asked[row["purpose"]].add(operands(row["prompt"]))
    assert len(asked["eval"]) == 256
    assert not asked["train"] & asked["eval"]
