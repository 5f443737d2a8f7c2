"""`cohort chat`: a conversation with the policy, through the generator's OpenAI-compatible door."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio

from cohort.cli.console import (
    Failure,
    add_command,
    add_json,
    add_url,
    api_key,
    console,
    say,
    say_json,
    service_url,
    temporary,
)
from cohort.cli.grade import model_folder
from cohort.cli.scoring import TIMEOUT_S
from cohort.cli.stack import positive
from cohort.clients import AsyncGeneratorClient, ServiceError, Unreachable
from cohort.contracts.generator import ChatMessage

EXAMPLES = """\
  cohort chat                                 the policy of the running stack, while it trains
  cohort chat runs/RUN/model                  a model folder, with a generator of its own
  cohort chat --message "What is 17 + 25?"    one question, one answer"""


def add_commands(commands: Any) -> None:
    """`chat`."""
    chat = add_command(commands, "chat", run_chat, "talk to the policy", EXAMPLES)
    chat.add_argument("model", metavar="MODEL", nargs="?", help="default: what is training now")
    chat.add_argument("--message", metavar="TEXT", help="ask this, print the answer, end")
    chat.add_argument("--temperature", type=float, default=0.7)
    chat.add_argument("--max-new-tokens", type=positive, default=256, metavar="N")
    add_url(chat, "generator")
    add_json(chat)


def run_chat(args: argparse.Namespace) -> int:
    """Until the end of the input or an empty line."""
    with _generator(args) as url:
        history: list[ChatMessage] = []
        for question in [args.message] if args.message else _questions():
            history.append(ChatMessage(role="user", content=question))
            answer = anyio.run(_ask, url, history, args.temperature, args.max_new_tokens)
            history.append(ChatMessage(role="assistant", content=answer))
            say_json({"question": question, "answer": answer}) if args.json else say(answer)
    return 0


@contextmanager
def _generator(args: argparse.Namespace) -> Iterator[str]:
    """A generator of our own for a model that is named, the running stack's otherwise."""
    if args.model:
        model = model_folder(args.model, args.state)
        with temporary(args, {"generator"}, env={"COHORT_MODEL": model}) as stack:
            yield stack.urls["generator"]
        return
    url = service_url(args, "generator", args.url)
    policy = anyio.run(_policy, url)
    if policy < 0:
        raise Failure(f"the generator at {url} has no model yet: start a run, or name a MODEL")
    yield url


async def _policy(url: str) -> int:
    client = AsyncGeneratorClient(url, api_key=api_key(), retry_for_s=0.0)
    try:
        return (await client.policy()).version
    except ServiceError as error:
        if error.status == 404:
            raise Failure(f"what answers at {url} is not a generator") from None
        if not isinstance(error, Unreachable):
            raise
        hint = "start a stack with `cohort up`, or name a MODEL"
        raise Failure(f"{error}; {hint}") from None
    finally:
        await client.aclose()


async def _ask(url: str, history: list[ChatMessage], temperature: float, max_tokens: int) -> str:
    client = AsyncGeneratorClient(url, api_key=api_key(), timeout_s=TIMEOUT_S)
    try:
        return await client.chat(history, temperature=temperature, max_tokens=max_tokens)
    finally:
        await client.aclose()


def _questions() -> Iterator[str]:
    terminal = sys.stdin.isatty()
    while True:
        if terminal:
            console().print("[bold]you>[/] ", end="")
        line = sys.stdin.readline()
        if not line.strip():
            return
        yield line.strip()
