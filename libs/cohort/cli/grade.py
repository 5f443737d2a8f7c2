"""`cohort eval`: accuracy of a model on questions that were held out."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cohort.cli.console import UsageError, add_command, add_json, api_key, say, say_json, temporary
from cohort.cli.scoring import (
    TIMEOUT_S,
    json_object,
    needed,
    report_lines,
    report_of,
    score_all,
)
from cohort.cli.stack import positive
from cohort.clients import AsyncGeneratorClient
from cohort.contracts.generator import GenerateRequest
from cohort.contracts.reward import RewardSpec, ScoreItem
from cohort.tasks import TaskError, TaskRow, make_task, task_names

IN_FLIGHT = 64
"""Questions that the generator has at a time."""
TASK_VERIFIERS = {"reasoning_gym": "reasoning_gym", "code": "code"}
"""Tasks that `math` cannot grade."""

EVAL_EXAMPLES = """\
  cohort eval runs/RUN/model --task arithmetic --args '{"low": 10, "high": 49}'
  cohort eval bundled:smollm2-135m-instruct --task gsm8k --args '{"path": "data"}' --size 100
  cohort eval my/folder --task reasoning_gym --args '{"dataset": "chain_sum"}' --json

Answers the task's held-out questions greedily, with a generator and a reward service of its own."""


def add_commands(commands: Any) -> None:
    """`eval`."""
    evaluate = add_command(
        commands, "eval", run_eval, "held-out greedy accuracy of a model", EVAL_EXAMPLES
    )
    evaluate.add_argument("model", metavar="MODEL", help="folder, hub name or bundled:NAME")
    evaluate.add_argument("--task", required=True, help=f"one of {', '.join(task_names())}")
    evaluate.add_argument("--args", default="{}", metavar="JSON", help="arguments of the task")
    evaluate.add_argument("--size", type=positive, default=256, metavar="N", help="questions")
    evaluate.add_argument("--max-new-tokens", type=positive, default=256, metavar="N")
    evaluate.add_argument("--verifier", help="default: the one that fits the task")
    evaluate.add_argument(
        "--kwargs", default="{}", metavar="JSON", help="parameters of the verifier"
    )
    add_json(evaluate)


def run_eval(args: argparse.Namespace) -> int:
    """Prints the accuracy; questions that could not be graded are counted apart."""
    try:
        task = make_task(args.task, json_object(args.args, "--args"), seed=0)
    except TaskError as error:
        raise UsageError(str(error)) from None
    rows = list(task.eval[: args.size])
    if not rows:
        raise UsageError(f"task {args.task} holds no questions out: see its arguments")
    verifier = args.verifier or TASK_VERIFIERS.get(args.task, "math")
    spec = RewardSpec(verifier=verifier, kwargs=json_object(args.kwargs, "--kwargs"))
    model = model_folder(args.model, args.state)
    with temporary(args, {"generator"} | needed([spec]), env={"COHORT_MODEL": model}) as stack:
        texts = anyio.run(_answer, stack.urls["generator"], rows, args.max_new_tokens)
        items = [
            ScoreItem(id=row.id, completion=text, ground_truth=row.ground_truth)
            for row, text in zip(rows, texts, strict=True)
        ]
        results = score_all(stack.urls["reward"], items, [spec])
    report = {"model": args.model, "task": args.task, **report_of(results)}
    if args.json:
        say_json(report)
        return 0
    for line in report_lines(report):
        say(line)
    return 0


def model_folder(name: str, state_dir: Path) -> str:
    """Where the model is; made or downloaded when it is not there yet. Raises `UsageError`."""
    from cohort.models import ModelError, resolve_model

    try:
        return str(resolve_model(name, state_dir).absolute())
    except ModelError as error:
        raise UsageError(str(error)) from None


async def _answer(url: str, rows: Sequence[TaskRow], max_new_tokens: int) -> list[str]:
    """Greedy answers in the order of the rows."""
    client = AsyncGeneratorClient(url, api_key=api_key(), timeout_s=TIMEOUT_S)
    places = anyio.CapacityLimiter(IN_FLIGHT)
    texts = [""] * len(rows)

    async def ask(i: int) -> None:
        prompt = rows[i].prompt
        request = GenerateRequest(
            prompt_ids=prompt.ids,
            prompt=prompt.text,
            messages=prompt.messages,
            max_new_tokens=max_new_tokens,
            temperature=0.0,
            timeout_s=TIMEOUT_S,
        )
        async with places:
            texts[i] = (await client.generate(request)).completions[0].text

    try:
        async with anyio.create_task_group() as tasks:
            for i in range(len(rows)):
                tasks.start_soon(ask, i)
    except* Exception as group:
        raise group.exceptions[0] from None
    finally:
        await client.aclose()
    return texts
