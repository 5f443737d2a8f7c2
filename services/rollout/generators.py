"""Which generator to ask: those that are registered in Redis, else the one in the settings."""

import time
from collections import Counter
from collections.abc import Callable, Sequence

import httpx
import trio

from cohort.clients import AsyncGeneratorClient
from cohort.contracts.generator import GenerateRequest, GenerateResponse
from cohort.contracts.queue import GeneratorRecord
from cohort.transport import ServiceError, Unreachable

_REST_S = 2.0
"""A generator that just failed is asked again before that only when there is no other."""
WATCH_S = 5.0
SILENCE_S = 20.0
"""A generator that works answers /health at once; one that is this silent will not answer."""


class Generators:
    """Spreads requests over generators by what this worker has in flight at each."""

    def __init__(self, fallback_url: str, connect: Callable[[str], AsyncGeneratorClient]) -> None:
        self._fallback = GeneratorRecord(
            generator_id="", url=fallback_url, run_id=None, version=-1, fingerprint="", capacity=1
        )
        self._connect = connect
        self._records: Sequence[GeneratorRecord] = ()
        self._clients: dict[str, AsyncGeneratorClient] = {}
        self._rows: Counter[str] = Counter()
        self._rests_until: dict[str, float] = {}
        self._calls: dict[str, set[trio.CancelScope]] = {}

    def update(self, records: Sequence[GeneratorRecord]) -> None:
        """What Redis says now."""
        self._records = records

    async def generate(self, request: GenerateRequest) -> GenerateResponse:
        """Ask the best generator, once. Raises `ServiceError`, and `Unreachable` without answer."""
        record = self._pick(request)
        client = self._client(record.url)
        calls = self._calls.setdefault(record.url, set())
        self._rows[record.url] += request.num_completions
        try:
            with trio.CancelScope() as call:
                calls.add(call)
                try:
                    return await client.generate(request)
                finally:
                    calls.remove(call)
            why = f"it has not answered /health for {SILENCE_S:g} s"
            raise Unreachable("generator", record.url, why)
        except (ServiceError, httpx.HTTPError):
            self._rests_until[record.url] = time.monotonic() + _REST_S
            raise
        finally:
            self._rows[record.url] -= request.num_completions

    async def watch(self) -> None:
        """End calls to a generator that is frozen: their own time is long, since sampling is."""
        while True:
            await trio.sleep(WATCH_S)
            async with trio.open_nursery() as nursery:
                for url, calls in self._calls.items():
                    if calls:
                        nursery.start_soon(self._watch_one, url, frozenset(calls))

    async def _watch_one(self, url: str, calls: frozenset[trio.CancelScope]) -> None:
        with trio.move_on_after(SILENCE_S) as asked:
            await self._client(url).health()
        if asked.cancelled_caught:
            for call in calls & self._calls[url]:
                call.cancel()

    def _pick(self, request: GenerateRequest) -> GeneratorRecord:
        """Not resting, of this run, new enough; among these the one with the most room."""
        now = time.monotonic()

        def order(record: GeneratorRecord) -> tuple[bool, bool, bool, float]:
            return (
                self._rests_until.get(record.url, 0.0) > now,
                record.run_id != request.run_id,
                record.version < request.min_policy_version,
                self._rows[record.url] / max(1, record.capacity),
            )

        return min(self._records or (self._fallback,), key=order)

    def _client(self, url: str) -> AsyncGeneratorClient:
        if url not in self._clients:
            try:
                self._clients[url] = self._connect(url)
            except httpx.InvalidURL as error:
                raise Unreachable("generator", url, str(error)) from None
        return self._clients[url]

    async def close_gone(self) -> None:
        """Close connections to generators that are no longer on offer and not in use."""
        offered = {record.url for record in self._records or (self._fallback,)}
        for url in [u for u in self._clients if u not in offered and not self._rows[u]]:
            self._rests_until.pop(url, None)
            await self._clients.pop(url).aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()
