"""How the worker waits: typed failures, what is waited for and since when, growing pauses."""

import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx
import trio
from pydantic import ValidationError

from cohort.transport import RETRIED, ServiceError, Unreachable

log = logging.getLogger("cohort.rollout")
T = TypeVar("T")

_WAITS = RETRIED | {409}
"""Answers that mean "later", or "ask another generator"; anything else is the request's fault."""
_MAX_BREAKDOWNS = 3
"""So often may a service fail with an error of its own (500) before the group does."""


class Failure(Exception):
    """Why a prompt has no group: a stable word and a sentence."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(f"{kind}: {sentence}")
        self.kind, self.sentence = kind, sentence


class Backoff:
    """Pauses that double from `first_s` to `most_s`, with jitter."""

    def __init__(self, first_s: float = 0.1, most_s: float = 5.0) -> None:
        self.wait_s, self.most_s = first_s, most_s

    async def sleep(self) -> None:
        """Pause, longer each time."""
        await trio.sleep(self.wait_s * random.uniform(0.5, 1.0))
        self.wait_s = min(self.wait_s * 2, self.most_s)


class Waiting:
    """Which services do not answer, for the heartbeat and, once each time, for the log."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[float, str]] = {}

    def note(self, service: str, sentence: str) -> None:
        """The service is waited for; the time counts from the first note."""
        if service not in self._since:
            log.warning("waiting for %s: %s", service, sentence)
        since = self._since.get(service, (time.time(), ""))[0]
        self._since[service] = (since, f"{service}: {sentence}")

    def clear(self, service: str) -> None:
        """The service answered."""
        entry = self._since.pop(service, None)
        if entry is not None:
            log.info("%s answers again after %.1f s", service, time.time() - entry[0])

    def forget(self) -> None:
        """Nothing is in flight: the next wait counts from its own start."""
        self._since.clear()

    def longest(self) -> tuple[float, str] | None:
        """What has been waited for longest: since when (Unix time), and the sentence."""
        return min(self._since.values(), default=None)


async def insist(
    service: str,
    call: Callable[[], Awaitable[T]],
    note: Callable[[Failure | None], None],
) -> T:
    """Call until there is an answer; the caller's deadline ends it.

    `note` hears of each reason to wait, and None when the call succeeds. Raises `Failure` when
    asking again cannot help.
    """
    backoff, breakdowns = Backoff(), 0
    while True:
        try:
            reply = await call()
        except ServiceError as error:
            breakdowns += error.status == 500
            if not _may_pass(error, breakdowns):
                raise Failure(f"{service}_error", error.message) from error
            note(_why(service, error))
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in problem["loc"]) or "the whole"
            sentence = f"the {service}'s answer: {place}: {problem['msg']}"
            raise Failure("malformed", sentence) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            note(Failure(f"{service}_unreachable", str(error) or type(error).__name__))
        else:
            note(None)
            return reply
        await backoff.sleep()


def _may_pass(error: ServiceError, breakdowns: int) -> bool:
    if isinstance(error, Unreachable) or error.status in _WAITS:
        return True
    return error.status == 500 and breakdowns < _MAX_BREAKDOWNS


def _why(service: str, error: ServiceError) -> Failure:
    kind = "deadline" if error.status == 409 else f"{service}_unreachable"
    return Failure(kind, error.message)
