"""`cohort eval` and `cohort score`: accuracy of a model, or of completions in a file."""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cohort.cli.console import (
    Failure,
    UsageError,
    add_command,
    add_json,
    add_url,
    api_key,
    say,
    say_json,
    service_url,
    temporary,
)
from cohort.cli.stack import positive
from cohort.cli.view import number, share
from cohort.clients import AsyncGeneratorClient, RewardClient
from cohort.contracts.generator import GenerateRequest
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreResult
from cohort.tasks import TaskError, TaskRow, make_task, task_names

BATCH = 128
"""Items per request to the reward service."""
IN_FLIGHT = 64
"""Questions that the generator has at a time."""
TIMEOUT_S = 600.0
TASK_VERIFIERS = {"reasoning_gym": "reasoning_gym", "code": "code"}
"""Tasks that `math` cannot grade."""

EVAL_EXAMPLES = """\
  cohort eval runs/RUN/model --task arithmetic --args '{"low": 10, "high": 49}'
  cohort eval bundled:smollm2-135m-instruct --task gsm8k --args '{"path": "data"}' --size 100
  cohort eval my/folder --task reasoning_gym --args '{"dataset": "chain_sum"}' --json

Answers the task's held-out questions greedily, with a generator and a reward service of its own."""

SCORE_EXAMPLES = """\
  cohort score answers.jsonl                       writes answers.scores.jsonl beside it
  cohort score answers.jsonl --verifier format
  cohort score answers.jsonl --json | jq .accuracy

Every row has `completion` and `ground_truth` (or `answer`):
  {"completion": "It is 6 * 7 = 42.", "ground_truth": "42"}"""


def add_commands(commands: Any) -> None:
    """`eval` and `score`."""
    evaluate = add_command(
        commands, "eval", run_eval, "held-out greedy accuracy of a model", EVAL_EXAMPLES
    )
    evaluate.add_argument("model", metavar="MODEL", help="folder, hub name or bundled:NAME")
    evaluate.add_argument("--task", required=True, help=f"one of {', '.join(task_names())}")
    evaluate.add_argument("--args", default="{}", metavar="JSON", help="arguments of the task")
    evaluate.add_argument("--size", type=positive, default=256, metavar="N", help="questions")
    evaluate.add_argument("--max-new-tokens", type=positive, default=256, metavar="N")
    evaluate.add_argument("--verifier", help="default: the one that fits the task")
    score = add_command(
        commands, "score", run_score, "grade the completions in a file", SCORE_EXAMPLES
    )
    score.add_argument("file", metavar="FILE.jsonl", type=Path)
    score.add_argument("--verifier", default="math", help="default: math")
    score.add_argument("--out", type=Path, metavar="FILE", help="default: FILE.scores.jsonl")
    add_url(score, "reward")
    for parser in (evaluate, score):
        parser.add_argument(
            "--kwargs", default="{}", metavar="JSON", help="parameters of the verifier"
        )
        add_json(parser)


def run_eval(args: argparse.Namespace) -> int:
    """Prints the accuracy; questions that could not be graded are counted apart."""
    try:
        task = make_task(args.task, json_object(args.args, "--args"), seed=0)
    except TaskError as error:
        raise UsageError(str(error)) from None
    rows = list(task.eval[: args.size])
    if not rows:
        raise UsageError(f"task {args.task} holds no questions out: see its arguments")
    spec = _spec(args.verifier or TASK_VERIFIERS.get(args.task, "math"), args)
    model = model_folder(args.model, args.state)
    needs = {"generator", "reward"} | ({"sandbox"} if spec.verifier == "code" else set())
    with temporary(args, needs, env={"COHORT_MODEL": model}) as stack:
        texts = anyio.run(_answer, stack.urls["generator"], rows, args.max_new_tokens)
        items = [
            ScoreItem(id=row.id, completion=text, ground_truth=row.ground_truth)
            for row, text in zip(rows, texts, strict=True)
        ]
        results = _score(stack.urls["reward"], items, spec)
    report = {"model": args.model, "task": args.task, **_report(results)}
    _print_report(report, args.json)
    return 0


def run_score(args: argparse.Namespace) -> int:
    """Prints the accuracy and writes one result per row."""
    items = read_items(args.file)
    spec = _spec(args.verifier, args)
    out = args.out or args.file.with_suffix(".scores.jsonl")
    check_writable(out)
    url = service_url(args, "reward", args.url)
    with RewardClient(url, api_key=api_key()) as client:
        reachable = client.health()
    if args.url and not reachable:
        raise Failure(f"no reward service answers at {args.url}")
    if reachable:
        results = _score(url, items, spec)
    else:
        needs = {"reward"} | ({"sandbox"} if spec.verifier == "code" else set())
        with temporary(args, needs) as stack:
            results = _score(stack.urls["reward"], items, spec)
    out.write_text("".join(result.model_dump_json() + "\n" for result in results))
    _print_report({"file": str(args.file), "scores": str(out), **_report(results)}, args.json)
    return 0


def json_object(text: str, option: str) -> dict[str, Any]:
    """The object that an option holds."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{option} must be a JSON object, for example '{{\"low\": 10}}'")
    return data


def read_items(path: Path) -> list[ScoreItem]:
    """Rows of a JSON Lines file as items. Raises `UsageError` with the line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"cannot read {path}: {why}") from None
    items = [_item(path, i, line) for i, line in enumerate(lines, 1) if line.strip()]
    if not items:
        raise UsageError(f"{path} has no rows")
    return items


def check_writable(path: Path) -> None:
    """Raise `UsageError` before the work is done, not after it."""
    try:
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _item(path: Path, line_number: int, line: str) -> ScoreItem:
    place = f"{path}, line {line_number}"
    try:
        row = json.loads(line)
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UsageError(f"{place} has half of a surrogate pair, which is no character") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{place} is not JSON") from None
    if not isinstance(row, dict) or not isinstance(row.get("completion"), str):
        raise UsageError(f"{place} has no text in `completion`")
    key = next((key for key in ("ground_truth", "answer") if key in row), None)
    if key is None:
        raise UsageError(f"{place} has neither `ground_truth` nor `answer`")
    prompt = row.get("prompt")
    return ScoreItem(
        id=str(row.get("id", line_number)),
        prompt=prompt if isinstance(prompt, str) else "",
        completion=row["completion"],
        ground_truth=row[key],
    )


def _spec(verifier: str, args: argparse.Namespace) -> RewardSpec:
    return RewardSpec(verifier=verifier, kwargs=json_object(args.kwargs, "--kwargs"))


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


def _score(url: str, items: Sequence[ScoreItem], spec: RewardSpec) -> list[ScoreResult]:
    with RewardClient(url, api_key=api_key(), timeout_s=TIMEOUT_S) as client:
        return [
            result
            for start in range(0, len(items), BATCH)
            for result in client.score(items[start : start + BATCH], [spec], timeout_s=TIMEOUT_S)
        ]


def _report(results: Sequence[ScoreResult]) -> dict[str, Any]:
    """Accuracy and mean score over what was scored; trouble is counted, never a 0."""
    scores = [result.score for result in results if result.score is not None]
    if not scores:
        raise Failure(f"nothing could be scored: {next((r.reason for r in results), None)}")
    correct = sum(result.verdict == "correct" for result in results)
    return {
        "accuracy": correct / len(scores),
        "score": sum(scores) / len(scores),
        "num_questions": len(results),
        "num_unscored": len(results) - len(scores),
        "verdicts": dict(Counter(result.verdict or result.status for result in results)),
    }


def _print_report(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say_json(report)
        return
    say(f"accuracy {share(report['accuracy'])}, mean score {number(report['score'])}")
    verdicts = ", ".join(f"{word} {count}" for word, count in report["verdicts"].items())
    say(f"{report['num_questions']} questions: {verdicts}")
    if report["num_unscored"]:
        say(f"{report['num_unscored']} could not be scored and are left out of the accuracy")
    if "scores" in report:
        say(f"one result per row in {report['scores']}")
