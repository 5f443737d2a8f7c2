"""`cohort demo`: starts a stack, trains a real model, shows what changed, stops it all."""

import argparse
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import cohort
from cohort.cli.console import (
    UsageError,
    add_command,
    api_key,
    console,
    embedded,
    say,
    table,
)
from cohort.cli.runs import finish, follow, read_config
from cohort.cli.view import share
from cohort.clients import ServiceError, TrainerClient
from cohort.config import RunConfig
from cohort.contracts.trainer import ENDED, RunView
from cohort.launcher import Stack, StackPlan, running_stack

CONFIG = "configs/arithmetic_grpo.yaml"
NUM_SAMPLES = 4

EXAMPLES = """\
  cohort demo                                 a 135M model learns to add, in a few minutes
  cohort demo --config configs/tiny.yaml      a tiny random model: only to see the parts move

Ports are 8000 to 8003, or the next free ones. Ctrl-C stops everything that was started."""


def add_commands(commands: Any) -> None:
    """`demo`."""
    demo = add_command(commands, "demo", run_demo, "train a small real model here, now", EXAMPLES)
    demo.add_argument("--config", metavar="FILE", help=f"another run config than {CONFIG}")
    demo.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="folder of all runs"
    )


def run_demo(args: argparse.Namespace) -> int:
    """Exit code 0 only when the run succeeded."""
    text = read_config(args.config or str(_bundled_config()))
    config = RunConfig.from_yaml(text)
    say(f"cohort {cohort.__version__}: {config.name}, {config.steps} steps of {config.model.path}")
    _announce(config, args.state)
    with embedded(_plan(args), say) as stack:
        say(f"the stack is up; dashboard at {stack.urls['trainer']}/ while the demo runs")
        with TrainerClient(stack.urls["trainer"], api_key=api_key()) as client:
            run = _train(client, text, stack.plan.runs_dir)
            _show_result(client, config, run, stack)
    say("everything that the demo started is stopped")
    return finish(run, quiet=True)


def _bundled_config() -> Path:
    """The config in the current folder, or in the checkout that this package was installed from."""
    for folder in (Path.cwd(), Path(cohort.__file__).resolve().parents[2]):
        if (folder / CONFIG).is_file():
            return folder / CONFIG
    raise UsageError(
        f"there is no {CONFIG} here: run the demo in a checkout, or give --config FILE"
    )


def _announce(config: RunConfig, state_dir: Path) -> None:
    name = config.model.path.removeprefix("bundled:")
    if name.startswith("smollm2") and not (state_dir / "models" / name).exists():
        say(f"the first run converts the bundled model {name} once, which takes about 20 s")


def _plan(args: argparse.Namespace) -> StackPlan:
    """Beside a stack that runs here, the demo keeps everything but the models to itself."""
    running = running_stack(args.state)
    if running is None:
        return StackPlan(runs_dir=args.runs, state_dir=args.state, port_base=None)
    folder = args.state / "demo"
    say(f"a stack already runs here (process {running.pid}): the demo uses {folder}")
    return StackPlan(folder / "runs", args.state, folder, port_base=None)


def _train(client: TrainerClient, text: str, runs_dir: Path) -> RunView:
    unfinished = [run for run in client.runs().runs if run.state not in {*ENDED, "paused"}]
    for run in unfinished:
        say(f"run {run.run_id} was not finished and goes first: `cohort cancel` stops it")
    run_id = client.start(text).run_id
    say(f"run {run_id}: its files are in {runs_dir / run_id}")
    try:
        return follow(client, run_id)
    except BaseException:
        _abandon(client, run_id)
        raise


def _abandon(client: TrainerClient, run_id: str) -> None:
    """Cancel, so that the next stack does not go on with a run that nobody waits for."""
    with suppress(ServiceError, KeyboardInterrupt):
        client.retry_for_s = 1.0
        client.cancel(run_id)
        until = time.monotonic() + 10.0
        while client.run(run_id).state not in ENDED and time.monotonic() < until:
            time.sleep(0.1)


def _show_result(client: TrainerClient, config: RunConfig, run: RunView, stack: Stack) -> None:
    summary = run.summary or {}
    if run.state == "succeeded":
        _show_samples(client, run.run_id, config.steps)
    ends = summary.get("eval") or {}
    folder = stack.plan.runs_dir / run.run_id
    rows = [
        ("held-out greedy accuracy before", share(ends.get("before"))),
        ("held-out greedy accuracy after", share(ends.get("after"))),
        ("questions", str(ends.get("num_questions", config.eval.final_size))),
        ("steps, seconds", f"{summary.get('steps', run.step)}, {summary.get('seconds', '-')}"),
        ("completions per second", str(summary.get("completions_per_s", "-"))),
        ("model (loads in transformers)", str(folder / "model")),
        ("metrics", str(folder / "metrics.jsonl")),
        ("all completions", str(folder / "completions.jsonl")),
        ("dashboard", f"`cohort up --runs {stack.plan.runs_dir}`, then http://127.0.0.1:8000/"),
    ]
    console().print()
    table([f"run {run.run_id}", run.state], rows)


def _show_samples(client: TrainerClient, run_id: str, last_step: int) -> None:
    """The same held-out questions, answered by the first and by the last version."""
    before, after = (_answers(client, run_id, step) for step in (0, last_step))
    asked = [prompt for prompt in after if prompt in before][:NUM_SAMPLES]
    rows = [(prompt, before[prompt], after[prompt]) for prompt in asked]
    if rows:
        console().print()
        table(["held-out question", "before", "after"], rows)


def _answers(client: TrainerClient, run_id: str, step: int) -> dict[str, str]:
    rows = client.completions(run_id, step=step, purpose="eval").rows
    return {str(r["prompt"]): f"{str(r['completion']).strip()} ({r['verdict']})" for r in rows}
