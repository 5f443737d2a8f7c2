"""Outcomes by content: 20-byte keys, in this process or in Redis.

A cache never makes a request fail: what it cannot find, read or reach is a miss.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic_core import to_json

from services.reward.config import Settings
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = logging.getLogger("cohort.reward")
_DECODER = msgspec.json.Decoder(Outcome)
_COMPLAIN_EVERY_S = 60.0
_LEAVE_ALONE_S = 1.0
_ENTRY_BYTES = 400
"""What an entry takes in memory besides its reason, metrics and steps."""


def content_address(verifier: Verifier[Any], params: Params) -> Callable[[Answer], bytes | None]:
    """The key of an answer: a hash of all that its outcome depends on; None: do not cache it.

    It takes about 2 us, as long as a verdict of `math`, which therefore gains nothing; it is cached
    all the same, so that what the wire promises has no exceptions. `cache: off` saves the time.
    """
    kind = [verifier.name, verifier.version, params.model_dump(mode="json")]
    start = blake2b(to_json(kind, inf_nan_mode="constants") + b"\0", digest_size=20)

    def address(answer: Answer) -> bytes | None:
        content = verifier.cache_key(answer, params)
        if content is None:
            return None
        try:
            spelled = to_json(content, inf_nan_mode="constants")
        except ValueError:  # half a surrogate pair, deep in a ground truth
            return None
        state = start.copy()
        state.update(spelled)
        return state.digest()

    return address


class Cache(ABC):
    """Where outcomes are kept."""

    @abstractmethod
    async def get(self, keys: Sequence[bytes]) -> dict[bytes, Outcome]:
        """What is known, in one look."""

    @abstractmethod
    async def put(self, outcomes: Mapping[bytes, Outcome]) -> None:
        """Keep them."""

    @abstractmethod
    async def aclose(self) -> None:
        """Give up connections."""


class NoCache(Cache):
    """Keeps nothing."""

    async def get(self, _: Sequence[bytes]) -> dict[bytes, Outcome]:
        """Nothing is known."""
        return {}

    async def put(self, outcomes: Mapping[bytes, Outcome]) -> None:
        """Forget them."""

    async def aclose(self) -> None:
        """There is nothing to give up."""


class MemoryCache(Cache):
    """The last used outcomes of this process, bounded by number and by bytes."""

    def __init__(self, max_entries: int = 200_000, max_bytes: int = 128 * 1024 * 1024) -> None:
        self.max_entries, self.max_bytes = max_entries, max_bytes
        self.num_bytes = 0
        self._outcomes: OrderedDict[bytes, Outcome] = OrderedDict()

    def __len__(self) -> int:
        return len(self._outcomes)

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, Outcome]:
        """What is known; it counts as used now."""
        found = {}
        for key in keys:
            if (outcome := self._outcomes.get(key)) is not None:
                self._outcomes.move_to_end(key)
                found[key] = outcome
        return found

    async def put(self, outcomes: Mapping[bytes, Outcome]) -> None:
        """Keep them; what was not used for longest goes."""
        for key, outcome in outcomes.items():
            if (old := self._outcomes.pop(key, None)) is not None:
                self.num_bytes -= _size(old)
            self._outcomes[key] = outcome
            self.num_bytes += _size(outcome)
        while len(self._outcomes) > self.max_entries or self.num_bytes > self.max_bytes:
            _, oldest = self._outcomes.popitem(last=False)
            self.num_bytes -= _size(oldest)

    async def aclose(self) -> None:
        """Forget them all."""
        self._outcomes.clear()
        self.num_bytes = 0


class RedisCache(Cache):
    """Outcomes as JSON in Redis, shared by all workers, for `ttl_s` seconds.

    A Redis in trouble is asked again a second later, and complained about once a minute.
    """

    prefix = b"cohort:reward:outcome:"

    def __init__(self, client: Redis, ttl_s: int = 86_400, max_value: int = 65_536) -> None:
        self.client, self.ttl_s, self.max_value = client, ttl_s, max_value
        self._ask_again, self._complain_again = 0.0, 0.0

    @classmethod
    def from_url(cls, url: str, ttl_s: int = 86_400, timeout_s: float = 0.5) -> RedisCache:
        """Connects when it is first asked. Raises `ValueError` when `url` is no Redis URL."""
        from redis import asyncio as redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        client = redis.Redis.from_url(
            url,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            retry=Retry(NoBackoff(), 1),  # a connection that the server closed while it was idle
        )
        return cls(client, ttl_s)

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, Outcome]:
        """One MGET."""
        if not keys or self._troubled():
            return {}
        try:
            values = await self.client.mget([self.prefix + key for key in keys])
        except Exception as error:
            self._complain(error)
            return {}
        pairs = zip(keys, values, strict=True)
        read = {key: _read(value) for key, value in pairs if value is not None}
        return {key: outcome for key, outcome in read.items() if outcome is not None}

    async def put(self, outcomes: Mapping[bytes, Outcome]) -> None:
        """One round trip; values that are too large stay out."""
        if self._troubled():
            return
        try:
            async with self.client.pipeline(transaction=False) as pipe:
                for key, outcome in outcomes.items():
                    value = msgspec.json.encode(outcome)
                    if len(value) <= self.max_value:
                        pipe.set(self.prefix + key, value, ex=self.ttl_s)
                await pipe.execute()
        except Exception as error:
            self._complain(error)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.aclose()

    def _troubled(self) -> bool:
        return time.monotonic() < self._ask_again

    def _complain(self, error: Exception) -> None:
        now = time.monotonic()
        self._ask_again = now + _LEAVE_ALONE_S
        if now >= self._complain_again:
            self._complain_again = now + _COMPLAIN_EVERY_S
            log.warning("the cache's Redis cannot be used, everything is a miss: %s", error)


def _read(value: bytes | str) -> Outcome | None:
    """Redis is shared: what is not an outcome, or not one that may be cached, is a miss."""
    try:
        outcome = _DECODER.decode(value)
    except ValueError:
        return None
    scored = outcome.status == "scored" and outcome.value is not None
    return outcome if scored or (outcome.status == "unscorable" and outcome.value is None) else None


def _size(outcome: Outcome) -> int:
    variable = 100 * len(outcome.metrics) + 120 * len(outcome.steps)
    return _ENTRY_BYTES + variable + len(outcome.reason or "")


def make_cache(settings: Settings) -> Cache:
    """The cache that the settings ask for. Ends the process when the URL is none."""
    if settings.cache_url is None:
        return MemoryCache(settings.cache_entries, int(settings.cache_mb * 1024 * 1024))
    try:
        return RedisCache.from_url(settings.cache_url, settings.cache_ttl_s)
    except ValueError as error:
        raise SystemExit(f"COHORT_CACHE_URL: is no Redis URL: {error}") from None
    except ImportError:
        raise SystemExit(
            "COHORT_CACHE_URL: needs the package redis: pip install 'cohort[queue]'"
        ) from None
