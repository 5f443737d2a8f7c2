"""`cohort score`: completions in a file, scored by one verifier or by several with weights."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cohort.cli.console import UsageError, add_command, add_json, say, say_json, tell
from cohort.cli.scoring import (
    add_rewards,
    asked_rewards,
    report_lines,
    report_of,
    reward_service,
    score_all,
)
from cohort.config import sentence
from cohort.contracts.reward import ScoreItem

NO_TRUTH = frozenset({"format", "length", "repetition", "reward_model", "prm", "judge"})
"""Verifiers that can do without a ground truth."""
_OPTIONAL = ("num_tokens", "finish_reason", "group_id")

EXAMPLES = """\
  cohort score answers.jsonl                       writes answers.scores.jsonl beside it
  cohort score answers.jsonl --verifier length --kwargs '{"max_tokens": 512}'
  cohort score answers.jsonl --reward math=1 --reward format=0.1 \\
      --kwargs 'format={"tags": ["think", "answer"]}'
  cohort score answers.jsonl --out - | jq .score   results to standard output, the rest to stderr
  cohort score answers.jsonl --json | jq .accuracy

Every row has `completion` and, where a verifier needs it, `ground_truth` (or `answer`); `id`,
`prompt`, `num_tokens`, `finish_reason` and `group_id` are passed on:
  {"completion": "It is 6 * 7 = 42.", "ground_truth": "42"}

Without a running reward service it starts one for itself."""


def add_commands(commands: Any) -> None:
    """`score`."""
    score = add_command(commands, "score", run_score, "score the completions in a file", EXAMPLES)
    score.add_argument("file", metavar="FILE.jsonl", type=Path)
    score.add_argument(
        "--out",
        "--output",
        metavar="FILE",
        help="where the results go, - is standard output (default: FILE.scores.jsonl)",
    )
    add_rewards(score, "math")
    add_json(score)


def run_score(args: argparse.Namespace) -> int:
    """Writes one result per row, prints what they come to."""
    if not args.reward:
        args.verifier = args.verifier or "math"
    rewards = asked_rewards(args)
    items = read_items(args.file, needs_truth=not {r.verifier for r in rewards} <= NO_TRUTH)
    to_stdout = args.out == "-"
    if to_stdout and args.json:
        raise UsageError("--out - and --json both want standard output: give one of them")
    out = Path(args.out) if args.out else args.file.with_suffix(".scores.jsonl")
    if not to_stdout:
        check_writable(out)
    with reward_service(args, rewards) as url:
        results = score_all(url, items, rewards)
    lines = "".join(result.model_dump_json() + "\n" for result in results)
    if to_stdout:
        sys.stdout.write(lines)
        sys.stdout.flush()
    else:
        out.write_text(lines, encoding="utf-8")
    report = {"file": str(args.file), "scores": str(out), **report_of(results)}
    if args.json:
        say_json(report)
    else:
        _show(report, tell if to_stdout else say)
    return 0


def _show(report: dict[str, Any], show: Callable[[str], None]) -> None:
    for line in report_lines(report):
        show(line)
    if report["scores"] != "-":
        show(f"one result per row in {report['scores']}")


def read_items(path: Path, *, needs_truth: bool = True) -> list[ScoreItem]:
    """Rows of a JSON Lines file as items. Raises `UsageError` with the line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"cannot read {path}: {why}") from None
    items = [_item(path, i, line, needs_truth) for i, line in enumerate(lines, 1) if line.strip()]
    if not items:
        raise UsageError(f"{path} has no rows")
    return items


def check_writable(path: Path) -> None:
    """Raise `UsageError` before the work is done, not after it."""
    try:
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _item(path: Path, line_number: int, line: str, needs_truth: bool) -> ScoreItem:
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
    if key is None and needs_truth:
        raise UsageError(f"{place} has neither `ground_truth` nor `answer`")
    prompt = row.get("prompt")
    try:
        return ScoreItem(
            id=str(row.get("id", line_number)),
            prompt=prompt if isinstance(prompt, str) else "",
            completion=row["completion"],
            ground_truth=row[key] if key else None,
            **{name: row.get(name) for name in _OPTIONAL},
        )
    except ValidationError as error:
        raise UsageError(f"{place}: {sentence(dict(error.errors()[0]))}") from None
