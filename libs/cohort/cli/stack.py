"""`cohort up`, the embedded stack in the foreground, and `cohort down`, its end from elsewhere."""

import argparse
import os
import signal
import time
from pathlib import Path
from typing import Any

from cohort.cli.console import (
    Failure,
    UsageError,
    add_command,
    add_json,
    embedded,
    say,
    say_json,
)
from cohort.launcher import SERVICES, Stack, StackPlan, running_stack

STOP_TIMEOUT_S = 60.0

UP_EXAMPLES = """\
  cohort up                                      everything, on ports 8000 to 8003
  cohort up --port-base 9000 --state /tmp/two    a second stack beside it
  cohort up --only reward,sandbox                a reward service for another trainer
  cohort up --workers 2                          two rollout workers

Runs lie in runs/, everything else in .cohort/. A stack that starts again goes on with the runs that
were not finished."""

DOWN_EXAMPLES = """\
  cohort down                  stops the stack of this folder
  cohort down --state /tmp/two"""


def add_commands(commands: Any) -> None:
    """`up` and `down`."""
    up = add_command(commands, "up", run_up, "start a stack on this machine", UP_EXAMPLES)
    up.add_argument(
        "--port-base",
        type=port_base,
        default=8000,
        metavar="N",
        help="trainer, generator, reward and sandbox get N, N+1, N+2, N+3 (default: 8000)",
    )
    up.add_argument(
        "--only", type=services, default=frozenset(SERVICES), metavar="A,B", help=_only_help()
    )
    up.add_argument("--workers", type=positive, default=1, metavar="N", help="rollout workers")
    up.add_argument(
        "--redis", type=redis_url, metavar="URL", help="use this Redis instead of an own Valkey"
    )
    up.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="folder of all runs"
    )
    down = add_command(commands, "down", run_down, "stop the stack of this folder", DOWN_EXAMPLES)
    add_json(down)


def _only_help() -> str:
    return f"start only some of: {', '.join(SERVICES)}"


def services(text: str) -> frozenset[str]:
    """`reward,sandbox` as a set."""
    chosen = frozenset(part.strip() for part in text.split(",") if part.strip())
    for who in sorted(chosen - set(SERVICES)):
        raise argparse.ArgumentTypeError(f"no service {who!r}: choose from {', '.join(SERVICES)}")
    if not chosen:
        raise argparse.ArgumentTypeError(f"choose from {', '.join(SERVICES)}")
    return chosen


def port_base(text: str) -> int:
    """A port that leaves room for three more."""
    if not text.isdigit() or not 1 <= int(text) <= 65532:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port between 1 and 65532")
    return int(text)


def redis_url(text: str) -> str:
    """An address that the Redis client takes."""
    if not text.startswith(("redis://", "rediss://", "unix://")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a URL like redis://127.0.0.1:6379/0")
    return text


def positive(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def run_up(args: argparse.Namespace) -> int:
    """Until Ctrl-C, SIGTERM or `cohort down`."""
    plan = StackPlan(
        runs_dir=args.runs,
        state_dir=args.state,
        only=args.only,
        port_base=args.port_base,
        workers=args.workers,
        redis_url=args.redis,
    )
    say(f"starting {', '.join(who for who in SERVICES if who in args.only)}; Ctrl-C stops all")
    up = False
    try:
        with embedded(plan, say) as stack:
            up = True
            _greet(stack)
            while True:
                stack.check()
                time.sleep(0.5)
    except KeyboardInterrupt:
        say("stopped; no process is left")
        return 0 if up else 130


def _greet(stack: Stack) -> None:
    for who, url in stack.urls.items():
        hint = "   (dashboard; `cohort train CONFIG` starts a run)" if who == "trainer" else ""
        say(f"  {who:<10}{url}{hint}")
    say(f"the stack is up; logs are in {stack.folder / 'logs'}")


def run_down(args: argparse.Namespace) -> int:
    """Ask the launcher to stop, and wait until it has."""
    stack = running_stack(args.state)
    if stack is None:
        if args.json:
            say_json({"stopped": False})
        else:
            say(f"no stack is running in {args.state.absolute()}")
        return 0
    if stack.pid == os.getpid():
        raise UsageError("a stack cannot stop itself this way")
    try:
        os.kill(stack.pid, signal.SIGTERM)
    except PermissionError:
        raise Failure(f"the stack (process {stack.pid}) belongs to another user") from None
    except ProcessLookupError:
        pass
    until = time.monotonic() + STOP_TIMEOUT_S
    while running_stack(args.state) is not None:
        if time.monotonic() > until:
            raise Failure(
                f"the stack (process {stack.pid}) has not stopped in {STOP_TIMEOUT_S:g} s:"
                f" `kill -9 {stack.pid}` ends it and its processes at once"
            )
        time.sleep(0.1)
    say_json({"stopped": True, "pid": stack.pid}) if args.json else say("stopped")
    return 0
