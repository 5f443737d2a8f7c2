"""What the commands share: output for people and scripts, failures, and which stack is meant."""

import argparse
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cohort.launcher import SERVICES, Stack, StackPlan, StartError, running_stack

Handler = Callable[[argparse.Namespace], int]
DEFAULT_PORTS = {"trainer": 8000, "generator": 8001, "reward": 8002, "sandbox": 8003}


class Failure(Exception):
    """Ends the command with one sentence."""

    exit_code = 1


class UsageError(Failure):
    """The command was called in a way that cannot work."""

    exit_code = 2


def console() -> Console:
    """Standard output: colours and width of the terminal; plain lines of any width elsewhere."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 110)


def say(line: str) -> None:
    """One line for people, at once."""
    console().print(line, markup=False, soft_wrap=True)
    sys.stdout.flush()


def say_json(data: Any) -> None:
    """One JSON value on one line."""
    say(json.dumps(data))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table for people."""
    grid = Table(header_style="bold")
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*map(escape, row))
    console().print(grid)


def add_command(
    commands: Any, name: str, run: Handler, summary: str, examples: str
) -> argparse.ArgumentParser:
    """A command with help that teaches; `--state` says which embedded stack is meant."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--state",
        type=Path,
        default=Path(".cohort"),
        metavar="DIR",
        help="folder of the embedded stack: logs, caches, the queue (default: .cohort)",
    )
    return parser


def add_url(parser: argparse.ArgumentParser, who: str) -> None:
    """`--url` of the service that the command talks to."""
    parser.add_argument(
        "--url",
        help=f"URL of the {who} (default: the stack of --state, then COHORT_{who.upper()}_URL,"
        f" then http://127.0.0.1:{DEFAULT_PORTS[who]})",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json` for scripts."""
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")


def service_url(args: argparse.Namespace, who: str, given: str | None = None) -> str:
    """Where a service is: what was said, else the running stack, the environment, the default."""
    stack = running_stack(args.state)
    here = stack.urls.get(who) if stack else None
    default = f"http://127.0.0.1:{DEFAULT_PORTS[who]}"
    return given or here or os.environ.get(f"COHORT_{who.upper()}_URL") or default


def api_key() -> str | None:
    """The key that the services ask for, if any."""
    key = os.environ.get("COHORT_API_KEY") or None
    if key and not (key.isascii() and key.isprintable()):
        raise UsageError("COHORT_API_KEY must be plain ASCII: it travels in a header")
    return key


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM and a closed terminal end the command as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def embedded(plan: StackPlan, announce: Callable[[str], None]) -> Iterator[Stack]:
    """A stack for the time of the block.

    Only SIGKILL can interrupt its stopping, and then the kernel ends its processes.
    """
    with stoppable():
        stack = Stack(plan, announce)
        try:
            stack.start()
            yield stack
        except KeyboardInterrupt:
            announce("stopping all that was started")
            raise
        finally:
            with _deaf():
                stack.stop()


@contextmanager
def _deaf() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Not SIG_IGN: a process that starts at this moment would inherit it, and never end by SIGTERM.
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def temporary(
    args: argparse.Namespace, only: set[str], env: Mapping[str, str] | None = None
) -> Iterator[Stack]:
    """Some services for the time of the block, on free ports, with a folder that goes away."""
    folder = args.state / f"temporary-{os.getpid()}"
    plan = StackPlan(
        runs_dir=folder / "runs",
        state_dir=args.state,
        folder=folder,
        only=frozenset(only),
        port_base=None,
        env=env or {},
    )
    tell(f"starting {', '.join(who for who in SERVICES if who in only)} for this command")
    try:
        with embedded(plan, tell) as stack:
            yield stack
    except StartError:
        raise  # its message names the log files: keep them
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def tell(line: str) -> None:
    """What is going on, on stderr: standard output is for the result."""
    sys.stderr.write(line + "\n")
