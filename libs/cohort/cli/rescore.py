"""`cohort rescore`: what another verifier, or another version, says of a run's completions.

The run is only read. Rows go through in batches, so that a run of any size can be scored again.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cohort.cli.console import Failure, UsageError, add_command, add_json, api_key, say, say_json
from cohort.cli.console import table as show_table
from cohort.cli.scoring import (
    TIMEOUT_S,
    add_rewards,
    asked_rewards,
    batches,
    reward_service,
    word_of,
)
from cohort.cli.view import number, share
from cohort.clients import RewardClient
from cohort.config import RunConfig
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreResult
from cohort.run_folder import Row, RunFolder, read_rows

_SAME = 1e-9
_SHOWN_CHARS = 400

EXAMPLES = """\
  cohort rescore last                            its own verifiers, as the service has them now
  cohort rescore runs/RUN --verifier gsm8k       under another verifier
  cohort rescore RUN --reward math=1 --reward format=0.1 --show 10
  cohort rescore RUN --verifier math --url http://other:8002 --json

Nothing is written. RUN is a folder, an id or its beginning in --runs, or `last`."""


def add_commands(commands: Any) -> None:
    """`rescore`."""
    rescore = add_command(
        commands, "rescore", run_rescore, "score a run's completions again and compare", EXAMPLES
    )
    rescore.add_argument("run_name", metavar="RUN", help="folder, id, its beginning, or `last`")
    rescore.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="default: runs"
    )
    rescore.add_argument("--purpose", choices=("train", "eval"), help="only these (default: all)")
    rescore.add_argument(
        "--show", type=_count, default=3, metavar="N", help="examples of changed scores (default 3)"
    )
    add_rewards(rescore, "the run's own")
    add_json(rescore)


def run_rescore(args: argparse.Namespace) -> int:
    """Prints old against new: means, verdicts, examples of what changed."""
    folder = find_folder(args.run_name, args.runs)
    rewards = asked_rewards(args) or _own_rewards(folder)
    comparison = Comparison(args.show)
    with (
        reward_service(args, rewards) as url,
        RewardClient(url, api_key=api_key(), timeout_s=TIMEOUT_S) as client,
    ):
        for rows in batches(_rows(folder, args.purpose), lambda row: row.get("group_id")):
            items = [_item(folder, row) for row in rows]
            results = client.score(items, rewards, timeout_s=TIMEOUT_S)
            for row, result in zip(rows, results, strict=True):
                comparison.add(row, result)
    if not comparison.num_rows:
        raise Failure(f"run {folder.run_id} has no completions to score")
    report = {
        "run": folder.run_id,
        "rewards": [spec.model_dump() for spec in rewards],
        **comparison.report(),
    }
    say_json(report) if args.json else _show(report)
    return 0


@dataclass
class Comparison:
    """Old against new scores, row by row, in little memory."""

    keep: int
    """Examples of changed scores that are kept."""
    num_rows: int = 0
    num_changed: int = 0
    old: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Sum and number of the old scores; `new` alike."""
    new: list[float] = field(default_factory=lambda: [0.0, 0.0])
    words: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: list[Row] = field(default_factory=list)

    def add(self, row: Row, result: ScoreResult) -> None:
        """Count one row."""
        before = row.get("score")
        self.num_rows += 1
        for sums, score in ((self.old, before), (self.new, result.score)):
            if score is not None:
                sums[0] += score
                sums[1] += 1
        was = row.get("verdict") or ("unscored" if before is None else "-")
        self.words[was, word_of(result)] += 1
        if _differ(before, result.score):
            self.num_changed += 1
            if len(self.examples) < self.keep:
                self.examples.append(_example(row, was, result))

    def report(self) -> dict[str, Any]:
        """All of it as JSON."""
        verdicts: dict[str, dict[str, int]] = {}
        for (was, word), count in sorted(self.words.items()):
            verdicts.setdefault(was, {})[word] = count
        return {
            "num_completions": self.num_rows,
            "num_changed": self.num_changed,
            "old": _mean(self.old),
            "new": _mean(self.new),
            "old_unscored": self.num_rows - int(self.old[1]),
            "new_unscored": self.num_rows - int(self.new[1]),
            "verdicts": verdicts,
            "examples": self.examples,
        }


def _mean(sums: list[float]) -> float | None:
    return sums[0] / sums[1] if sums[1] else None


def _differ(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is not new
    return abs(old - new) > _SAME * max(1.0, abs(old))


def _example(row: Row, was: str, result: ScoreResult) -> Row:
    return {
        "step": row.get("step"),
        "group_id": row.get("group_id"),
        "prompt": row.get("prompt"),
        "completion": row["completion"],
        "ground_truth": row.get("ground_truth"),
        "old": {"score": row.get("score"), "verdict": was},
        "new": {"score": result.score, "verdict": word_of(result), "reason": result.reason},
    }


def find_folder(name: str, runs_dir: Path) -> RunFolder:
    """The run that is meant. Raises `UsageError`."""
    path = Path(name)
    if (path / "completions.jsonl").is_file():
        path = path.resolve()
        return RunFolder(path.parent, path.name)
    runs = [one for one in runs_dir.glob("*") if (one / "completions.jsonl").is_file()]
    if name == "last":
        runs = sorted(runs, key=lambda one: (one / "completions.jsonl").stat().st_mtime)[-1:]
    else:
        runs = [one for one in runs if one.name.startswith(name)]
        runs = [one for one in runs if one.name == name] or runs
    if not runs:
        raise UsageError(
            f"no run {name!r} with completions in {runs_dir}: give its folder, or --runs"
        )
    if len(runs) > 1:
        raise UsageError(f"{name!r} is the beginning of {len(runs)} runs: give more of the id")
    return RunFolder(runs_dir, runs[0].name)


def _own_rewards(folder: RunFolder) -> tuple[RewardSpec, ...]:
    try:
        return RunConfig.from_yaml(folder.config.read_text(encoding="utf-8")).rewards
    except FileNotFoundError:
        raise UsageError(f"run {folder.run_id} has no config.yaml: give a --verifier") from None


def _rows(folder: RunFolder, purpose: str | None) -> Iterator[Row]:
    try:
        for row in read_rows(folder.completions):
            if not isinstance(row, dict):
                raise ValueError("no object")
            if purpose is None or row.get("purpose") == purpose:
                yield row
    except ValueError:
        raise Failure(f"{folder.completions} has a row that is no JSON object") from None


def _item(folder: RunFolder, row: Row) -> ScoreItem:
    try:
        return ScoreItem(
            prompt=row.get("prompt") or "",
            completion=row["completion"],
            ground_truth=row.get("ground_truth"),
            num_tokens=row.get("num_tokens"),
            finish_reason=row.get("finish_reason"),
            group_id=row.get("group_id"),
        )
    except (ValueError, KeyError):
        raise Failure(f"{folder.completions} has a row that is no completion") from None


def _show(report: dict[str, Any]) -> None:
    total, changed = report["num_completions"], report["num_changed"]
    say(f"run {report['run']}: {total} completions under {_names(report['rewards'])}")
    say(f"mean score {number(report['old'])} -> {number(report['new'])}")
    say(f"{changed} scores changed ({share(changed / total)})")
    for when in ("old", "new"):
        if report[f"{when}_unscored"]:
            say(f"{report[f'{when}_unscored']} have no {when} score and are left out of its mean")
    found = sorted({word for row in report["verdicts"].values() for word in row})
    rows = [
        [was, *(str(row.get(word, 0)) for word in found)] for was, row in report["verdicts"].items()
    ]
    show_table(["old verdict \\ new", *found], rows)
    for example in report["examples"]:
        _show_example(example)


def _names(rewards: list[dict[str, Any]]) -> str:
    return ", ".join(
        f"{spec['weight']:g} {spec['verifier']}"
        + (f" {json.dumps(spec['kwargs'])}" if spec["kwargs"] else "")
        for spec in rewards
    )


def _show_example(example: Row) -> None:
    old, new = example["old"], example["new"]
    say(
        f"step {example['step']}: {number(old['score'])} {old['verdict']}"
        f" -> {number(new['score'])} {new['verdict']}"
    )
    for name in ("prompt", "ground_truth", "completion"):
        say(f"  {name:<13}{_one_line(example[name])}")
    if new["reason"]:
        say(f"  {'reason':<13}{new['reason']}")


def _one_line(value: Any) -> str:
    """The end of a text, where the answer is, without what could steer a terminal."""
    text = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    text = "".join(c if c.isprintable() else "\ufffd" for c in text[-_SHOWN_CHARS:])
    return f"... {text}" if len(text) == _SHOWN_CHARS else text


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
