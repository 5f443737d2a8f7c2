"""The `cohort` command: start a stack, train, look, ask.

`stack` up and down, `demo` the whole thing once, `runs` everything about runs, `grade` eval,
`score`, `rescore`, `chat`, `doctor` what this machine has. Mistakes of the user end as one sentence
on stderr, with exit code 2 for how the command was called, 1 for what went wrong and 130 after
Ctrl-C.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from pydantic import ValidationError

from cohort import __version__
from cohort.clients import ServiceError
from cohort.config import ConfigError, sentence

EXAMPLES = """
first steps:
  cohort doctor                              what this machine has, and what that enables
  cohort demo                                train a small real model from start to end
  cohort up                                  start the whole stack here; Ctrl-C stops it
  cohort train configs/arithmetic_grpo.yaml --watch

later:
  cohort runs                                all runs, newest first
  cohort watch last                          follow the newest run
  cohort eval runs/RUN/model --task arithmetic
  cohort score answers.jsonl                 grade completions in a file
  cohort rescore last --verifier gsm8k       what another verifier says of a run's completions
  cohort chat                                talk to the policy under training

`cohort COMMAND --help` explains each, with examples.
"""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, and where to read more."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        sys.exit(2)


def build_parser() -> argparse.ArgumentParser:
    """All commands."""
    from cohort.cli import chat, demo, doctor, grade, rescore, runs, score, stack

    parser = Parser(
        prog="cohort",
        description="Train language models with reinforcement learning from verifiable rewards.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"cohort {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for room in (stack, demo, runs, grade, score, rescore, chat, doctor):
        room.add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        return _run(argv)
    except BrokenPipeError:  # the reader of our output, `head` for example, has gone
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        return 130


def _run(argv: Sequence[str] | None) -> int:
    try:
        parser = build_parser()
    except ImportError as error:
        return _fail(f"the command needs the package {error.name}: pip install 'cohort[cli]'")
    args = parser.parse_args(argv)
    from cohort.cli.console import Failure
    from cohort.launcher import StackError, StartError

    try:
        code: int = args.run(args)
        return code
    except Failure as error:
        return _fail(str(error), error.exit_code)
    except BrokenPipeError:
        raise
    except (ConfigError, ValidationError) as error:
        return _fail(_what_is_wrong(error), 2)
    except (ServiceError, StackError, StartError, ImportError, OSError) as error:
        return _fail(_what_failed(error))


def _what_is_wrong(error: ConfigError | ValidationError) -> str:
    """`ValidationError`: what an option says does not fit into a request."""
    problems = (
        error.problems
        if isinstance(error, ConfigError)
        else [sentence(dict(item)) for item in error.errors()]
    )
    return "\n".join(problems)


def _what_failed(error: Exception) -> str:
    if isinstance(error, ServiceError) and error.status == 401:
        return f"the {error.service} wants its API key: set COHORT_API_KEY to it"
    if isinstance(error, ImportError):
        return f"this needs the package {error.name}: pip install 'cohort[all]'"
    if isinstance(error, OSError):
        return f"{error.filename or 'the system says'}: {error.strerror or error}"
    return str(error)


def _fail(sentence: str, code: int = 1) -> int:
    sys.stderr.write(f"cohort: {sentence}\n")
    return code
