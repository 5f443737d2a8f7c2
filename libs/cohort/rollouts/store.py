"""The connection to Redis (or Valkey): its errors in the queue's words, scripts, time limits."""

import functools
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Store")

SOCKET_TIMEOUT_S = 10.0
"""A Redis that hangs for longer counts as unreachable."""
MAX_BLOCK_S = SOCKET_TIMEOUT_S / 2
_SCRIPTS = (
    *("resume", "dispatch", "push", "acknowledge", "renew", "bury"),
    *("fenced_set", "raise_fence"),
)
_DOWN = (
    exceptions.ConnectionError,  # loading, out of connections and wrong password included
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.OutOfMemoryError,
)


class QueueUnreachable(Exception):
    """Redis cannot be reached or cannot write now: try again later, nothing is lost."""


class Fenced(Exception):
    """A newer learner of the run has started: this one may not change anything any more."""


class QueueLost(Exception):
    """The run's keys are not in Redis: it was closed, or Redis came back without its data."""


def reachable(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Turns what redis-py raises when the server is in trouble into `QueueUnreachable`."""

    @functools.wraps(method)
    def call(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except _DOWN as error:
            raise QueueUnreachable(f"Redis at {self.place} cannot be used: {error}") from error
        except exceptions.ResponseError as error:
            if "MISCONF" in str(error):  # it cannot write its append-only file
                raise QueueUnreachable(f"Redis at {self.place} cannot write: {error}") from error
            raise

    return cast(Callable[Concatenate[S, P], R], call)


class Store:
    """A thread-safe client. Nothing is retried here: a repeated read would lose the first reply."""

    def __init__(self, client: "redis.Redis") -> None:
        self.redis = client
        where = client.connection_pool.connection_kwargs
        self.place = f"{where.get('host', where.get('path', '?'))}:{where.get('port', '')}"
        folder = files("cohort.rollouts")
        self._scripts: dict[str, Script] = {
            name: client.register_script((folder / f"{name}.lua").read_text()) for name in _SCRIPTS
        }

    @staticmethod
    def connect(url: str) -> "redis.Redis":
        """A client of the server at `url`; connects on first use."""
        return redis.Redis.from_url(
            url,
            protocol=2,
            socket_timeout=SOCKET_TIMEOUT_S,
            socket_connect_timeout=SOCKET_TIMEOUT_S / 2,
            retry=Retry(NoBackoff(), 0),
        )

    @reachable
    def ping(self) -> None:
        """Raises `QueueUnreachable` unless Redis answers."""
        self.redis.ping()

    def close(self) -> None:
        """Close the connections."""
        self.redis.close()

    def run_script(
        self, name: str, keys: Sequence[str], args: Sequence[str | bytes | int | float]
    ) -> Any:
        """Run an atomic script; "fenced" and "lost" become exceptions, other words are returned."""
        reply: Any = self._scripts[name](keys=list(keys), args=list(args))
        word = reply.decode() if isinstance(reply, bytes) else reply
        if word == "fenced":
            raise Fenced(f"a newer learner owns {keys[0].partition(':')[2]}")
        if word == "lost":
            run_id = keys[0].partition(":")[2]
            raise QueueLost(f"the queue of run {run_id} is not in Redis any more")
        return word
