"""Commands about runs: train, runs, watch, pause, resume, cancel. All of them ask the trainer."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

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
    stoppable,
    table,
)
from cohort.cli.view import View, number, share, view_of
from cohort.clients import TrainerClient
from cohort.config import RunConfig
from cohort.contracts.trainer import RunView

TRAINER_AWAY_S = 120.0
"""A trainer that is started again in this time has not interrupted the watching."""

TRAIN_EXAMPLES = """\
  cohort train configs/arithmetic_grpo.yaml              start, print the run's id
  cohort train configs/arithmetic_grpo.yaml --watch      start and follow it to its end
  cohort train my.yaml --dry-run                         check everything, start nothing
  cat my.yaml | cohort train - --json                    from a script

The same with curl:
  curl -X POST localhost:8000/train -H 'Content-Type: application/yaml' --data-binary @my.yaml"""

RUN_EXAMPLES = """\
  cohort {verb} last                          the newest run
  cohort {verb} arithmetic-grpo-20250101-0a1b2c    or the beginning of its id"""


def add_commands(commands: Any) -> None:
    """All of them."""
    train = add_command(commands, "train", run_train, "start a run from a config", TRAIN_EXAMPLES)
    train.add_argument("config", metavar="CONFIG", help="YAML file of the run; - reads stdin")
    train.add_argument("--watch", action="store_true", help="follow the run until it ends")
    train.add_argument("--dry-run", action="store_true", help="check, but start nothing")
    listing = "  cohort runs\n  cohort runs --json | jq '.[0].state'"
    runs = add_command(commands, "runs", run_list, "list all runs, newest first", listing)
    watch = add_command(
        commands,
        "watch",
        run_watch,
        "follow a run until it ends",
        RUN_EXAMPLES.format(verb="watch"),
    )
    parsers = [train, runs, watch]
    for verb, summary in (
        ("pause", "commit and stop a run, to be resumed later"),
        ("resume", "put a paused run back in line"),
        ("cancel", "stop a run for good"),
    ):
        parsers.append(
            add_command(commands, verb, run_verb, summary, RUN_EXAMPLES.format(verb=verb))
        )
        parsers[-1].set_defaults(verb=verb)
    for parser in parsers[2:]:
        parser.add_argument("run_id", metavar="RUN", help="id, its beginning, or `last`")
    for parser in parsers:
        add_url(parser, "trainer")
        add_json(parser)


def run_train(args: argparse.Namespace) -> int:
    """Exit code 0 when the run was accepted; with --watch, when it succeeded."""
    text = read_config(args.config)
    with trainer(args) as client:
        if args.dry_run:
            return _dry_run(client, text, args.json)
        started = client.start(text)
        if args.json and not args.watch:
            say_json(started.model_dump(mode="json"))
        elif not args.json:
            say(f"run {started.run_id} is {started.state}")
            say(f"  dashboard  {client.url}/")
            say(f"  follow it  cohort watch {started.run_id}")
        if args.watch:
            return finish(follow(client, started.run_id, as_json=args.json), args.json)
    return 0


def _dry_run(client: TrainerClient, text: str, as_json: bool) -> int:
    report = client.dry_run(text)
    if as_json:
        say_json(report.model_dump(mode="json"))
    else:
        words = {True: "ok", False: "FAILED", None: "not checked"}
        table(["check", "", ""], [[c.name, words[c.ok], c.message] for c in report.checks])
        say("it could start" if report.ok else "it could not start")
    return 0 if report.ok else 1


def read_config(name: str) -> str:
    """The text of a run config that parses. Raises `ConfigError` or `UsageError`."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"cannot read config {name}: {why}") from None
    RunConfig.from_yaml(text)
    return text


def run_list(args: argparse.Namespace) -> int:
    """A table, or a JSON list."""
    with trainer(args) as client:
        runs = client.runs().runs
    if args.json:
        say_json([run.model_dump(mode="json") for run in runs])
    elif not runs:
        say("no runs yet: `cohort train CONFIG` starts one")
    else:
        columns = ["run", "state", "step", "reward", "held-out", "age"]
        table(columns, [_row(run) for run in runs])
    return 0


def _row(run: RunView) -> list[str]:
    newest = max(run.eval, key=int, default=None)
    held_out = share(run.eval[newest]) if newest is not None else "-"
    reward = number(run.metrics.get("reward"))
    step = f"{run.step}/{run.steps}"
    return [run.run_id, run.state, step, reward, held_out, _age(time.time() - run.created_at)]


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def run_watch(args: argparse.Namespace) -> int:
    """Exit code 0 when the run succeeded."""
    with trainer(args) as client:
        run = find_run(client, args.run_id)
        return finish(follow(client, run.run_id, as_json=args.json), args.json)


def run_verb(args: argparse.Namespace) -> int:
    """Pause, resume or cancel."""
    with trainer(args) as client:
        run_id = find_run(client, args.run_id).run_id
        verbs = {"pause": client.pause, "resume": client.resume, "cancel": client.cancel}
        run = verbs[args.verb](run_id)
    if args.json:
        say_json(run.model_dump(mode="json"))
    else:
        done = {"pause": "paused", "resume": "queued", "cancel": "cancelled"}[args.verb]
        say(f"run {run.run_id} is {run.state}{'' if run.state == done else f': {args.verb} asked'}")
    return 0


def trainer(args: argparse.Namespace) -> TrainerClient:
    """The trainer that the command means; `Failure` when nothing answers there."""
    client = TrainerClient(service_url(args, "trainer", args.url), api_key=api_key())
    if not client.health():
        raise Failure(f"no trainer answers at {client.url}: start one with `cohort up`")
    return client


def find_run(client: TrainerClient, wanted: str) -> RunView:
    """A run by id, by the beginning of its id, or the newest as `last`."""
    runs = client.runs().runs
    found = runs[:1] if wanted == "last" else [r for r in runs if r.run_id.startswith(wanted)]
    exact = [run for run in found if run.run_id == wanted]
    if len(found) == 1 or exact:
        return (exact or found)[0]
    if found:
        raise UsageError(f"{wanted!r} is the beginning of {len(found)} runs: give more of the id")
    raise UsageError(f"there is no run {wanted!r}: `cohort runs` lists them")


def follow(
    client: TrainerClient, run_id: str, *, as_json: bool = False, view: View | None = None
) -> RunView:
    """Show a run's events until it ends or pauses, also across restarts of the trainer."""
    client.retry_for_s = TRAINER_AWAY_S
    with stoppable(), view or view_of(client.run(run_id).steps) as shown:
        for event in client.events(run_id):
            say_json(event.model_dump(mode="json")) if as_json else shown.show(event)
    return client.run(run_id)


def finish(run: RunView, quiet: bool = False) -> int:
    """The last word on a run, and the exit code."""
    if not quiet and run.summary:
        ends = run.summary.get("eval") or {}
        say(f"held-out accuracy {share(ends.get('before'))} -> {share(ends.get('after'))}")
        say(f"model in {run.summary.get('model')}")
    if run.state == "failed":
        raise Failure(f"run {run.run_id} failed: {run.reason}")
    return 0 if run.state in ("succeeded", "paused") else 1
