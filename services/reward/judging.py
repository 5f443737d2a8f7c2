"""Gets jobs judged: what the cache knows is not judged again, identical work in flight only once.

    answers --keys--> in the cache? --yes--> hit
                          | no
                      in flight?    --yes--> follow the leader; it gave up, or is slow? lead
                          | no
                      lead: verifier.score, then into the cache

Nobody inherits a leader's deadline, and no verifier holds a reply: one that ignores cancellation is
left to itself. Needs asyncio.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeAlias

import anyio
from prometheus_client import CollectorRegistry, Counter, Histogram

from cohort.contracts.reward import CacheMode
from services.reward.cache import Cache, content_address
from services.reward.plan import Job
from services.reward.verifiers.base import Outcome

log = logging.getLogger("cohort.reward")
Said: TypeAlias = list[Outcome | None]
"""A verifier's outcomes, while it fills them in."""
Keyed: TypeAlias = dict[bytes, list[int]]
"""Places of a job by the content of their answers."""
LASTING = frozenset({"scored", "unscorable"})
"""What the next request would be told as well; trouble and time-outs pass."""


class Flight:
    """Work of one leader, for all who need the same."""

    __slots__ = ("_at", "landed", "said")

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._at = {key: at for at, key in enumerate(keys)}
        self.said: Said = [None] * len(self._at)
        self.landed = asyncio.Event()

    def outcome(self, key: bytes) -> Outcome | None:
        """What is known by now."""
        at = self._at.get(key)
        return self.said[at] if at is not None and at < len(self.said) else None


class Judging:
    """Fills the outcomes of jobs."""

    def __init__(self, cache: Cache, registry: CollectorRegistry) -> None:
        self.cache = cache
        self._flights: dict[bytes, Flight] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._seconds = Histogram(
            "cohort_reward_verifier_seconds",
            "Time of a batch in a verifier",
            ["verifier"],
            registry=registry,
        )
        self._asked = Counter(
            "cohort_reward_cache_requests",
            "Outcomes by where they come from: hit, miss, or shared with identical work",
            ["result"],
            registry=registry,
        )

    async def judge(self, job: Job, mode: CacheMode) -> None:
        """Fill `job.outcomes`; what is there at cancellation counts."""
        places = _judgeable(job)
        verifier = job.verifier
        if mode == "off" or not verifier.deterministic or verifier.compares_group:
            await self._score(job, places, [None] * len(places))
            return
        keyed, loose = _by_content(job, places)
        if mode == "use":
            await self._look_up(job, keyed)
        self._asked.labels("shared").inc(sum(len(same) - 1 for same in keyed.values()))
        while keyed or loose:
            flights = {key: self._flights[key] for key in keyed if key in self._flights}
            mine = {key: same for key, same in keyed.items() if key not in flights}
            await self._lead(job, mine, loose)
            keyed, loose = {key: keyed[key] for key in flights}, []
            if not await self._follow(job, keyed, flights):
                await self._lead(job, keyed, [])
                return

    async def _look_up(self, job: Job, keyed: Keyed) -> None:
        """One look for all keys; what is found is done."""
        found = await self.cache.get(list(keyed))
        for key, outcome in found.items():
            same = keyed.pop(key)
            _fill(job, same, outcome)
            job.hits.update(same)
        self._asked.labels("hit").inc(len(job.hits))

    async def _lead(self, job: Job, keyed: Keyed, loose: Sequence[int]) -> None:
        """Judge one answer of each content for all, and those that are not comparable."""
        if not keyed and not loose:
            return
        flight = Flight(keyed)
        self._flights.update(dict.fromkeys(keyed, flight))
        self._asked.labels("miss").inc(len(keyed))
        flight.said.extend([None] * len(loose))
        try:
            await self._score(job, [*(same[0] for same in keyed.values()), *loose], flight.said)
        finally:
            for key, same in keyed.items():
                if self._flights.get(key) is flight:
                    del self._flights[key]
                _fill(job, same, flight.outcome(key))
            flight.landed.set()
            saving = self._save({key: flight.outcome(key) for key in keyed})
        await asyncio.shield(saving)

    async def _follow(self, job: Job, keyed: Keyed, flights: dict[bytes, Flight]) -> bool:
        """Take from `keyed` what leaders have found; False when they take half the time left."""
        left_s = anyio.current_effective_deadline() - anyio.current_time()
        try:
            with anyio.move_on_after(left_s / 2) as patience:
                for flight in set(flights.values()):
                    await flight.landed.wait()
        finally:
            for key, flight in flights.items():
                if (outcome := flight.outcome(key)) is not None:
                    _fill(job, keyed.pop(key), outcome)
                    self._asked.labels("shared").inc()
        return not patience.cancelled_caught

    def _save(self, outcomes: dict[bytes, Outcome | None]) -> asyncio.Task[None]:
        """Put what lasts into the cache, also when the request that asked for it has gone."""
        lasting = {key: o for key, o in outcomes.items() if o and o.status in LASTING}
        return self._start(self.cache.put(lasting))

    async def _score(self, job: Job, places: Sequence[int], said: Said) -> None:
        """Ask the verifier about some places; a range is all of them.

        Its failure is `infra_error`, and so is its silence.
        """
        name, answers = job.verifier.name, job.answers
        if not isinstance(places, range):
            answers = [job.answers[place] for place in places]
        started = time.perf_counter()
        trouble: str | None = "has no outcome for this answer"
        try:
            await self._not_held_by(job.verifier.score(answers, job.params, said))
        except Exception as error:
            log.error("verifier %s failed", name, exc_info=error)
            trouble = f"failed: {type(error).__name__}"
        except asyncio.CancelledError:
            trouble = None
            raise
        finally:
            self._seconds.labels(name).observe(time.perf_counter() - started)
            if len(said) != len(answers):
                said[:] = [None] * len(answers)
            if trouble is not None and None in said:
                broken = Outcome.unscored("infra_error", f"{name} {trouble}")
                said[:] = [outcome or broken for outcome in said]
            if isinstance(places, range):
                job.outcomes[:] = said
            else:
                for place, outcome in zip(places, said, strict=True):
                    job.outcomes[place] = outcome

    async def _not_held_by(self, work: Coroutine[Any, Any, None]) -> None:
        """Await work. When cancelled, cancel it too, but do not wait until it obeys."""
        task = self._start(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            raise

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _fill(job: Job, same: Sequence[int], outcome: Outcome | None) -> None:
    for place in same:
        job.outcomes[place] = outcome


def _judgeable(job: Job) -> Sequence[int]:
    """All places, but those that a verifier of groups cannot judge: of items in no group."""
    places = range(len(job.answers))
    if not job.verifier.compares_group:
        return places
    alone = [place for place in places if not job.answers[place].group_id]
    _fill(job, alone, Outcome.unscored("unscorable", "the item has no group_id"))
    return [place for place in places if job.outcomes[place] is None]


def _by_content(job: Job, places: Sequence[int]) -> tuple[Keyed, list[int]]:
    """Places by content address, and those that must not be cached."""
    keyed: Keyed = {}
    loose: list[int] = []
    address = content_address(job.verifier, job.params)
    for place in places:
        key = address(job.answers[place])
        if key is None:
            loose.append(place)
        else:
            keyed.setdefault(key, []).append(place)
    return keyed, loose
