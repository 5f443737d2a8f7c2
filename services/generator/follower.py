"""Keeps the generator on the current policy, and its offer to rollout workers alive in Redis.

Redis away: what is loaded is served on, and said once. A version that does not load: the old one is
served on, /ready says why, and the folder is tried again, for it may be about to be replaced.
"""

import asyncio
import contextlib
import logging
from pathlib import Path

from cohort.contracts.queue import GeneratorRecord, PolicyRecord
from cohort.models import ModelError
from cohort.rollouts.queue import QueueUnreachable, RolloutQueue
from cohort.weights import WeightsError
from services.generator.sampler import Policy, Sampler, SamplerError

log = logging.getLogger("cohort.generator")
_TTL_S = 10.0
"""The offer disappears this long after a generator dies."""
_BEAT_S = 2.0
_RETRY_S = 1.0


class PathRefused(Exception):
    """A path that leads out of the runs root."""


def inside(root: Path, path: str) -> Path:
    """`path` under `root`, links followed. Raises `PathRefused` when it leads outside."""
    refused = PathRefused(f"{path!r} is not a folder under the runs root")
    try:
        folder = (root / path).resolve()
    except (ValueError, RuntimeError, OSError):  # a zero byte, links in a circle, too long
        raise refused from None
    if Path(path).is_absolute() or not folder.is_relative_to(root.resolve()):
        raise refused
    return folder


class Follower:
    """Follows the policy record of the oldest active run, or of the one it is told."""

    def __init__(
        self,
        sampler: Sampler,
        queue: RolloutQueue,
        runs_dir: Path,
        *,
        generator_id: str,
        url: str,
        run_id: str | None = None,
        poll_s: float = 0.1,
    ) -> None:
        self.sampler, self.queue, self.runs_dir = sampler, queue, runs_dir
        self.generator_id, self.url, self.run_id, self.poll_s = generator_id, url, run_id, poll_s
        self.unreachable: str | None = None
        """A sentence while Redis cannot be reached."""
        self.failed: str | None = None
        """A sentence while the current version cannot be loaded."""
        self._announced: tuple[Policy, float] | None = None

    def missing(self) -> list[str]:
        """For /ready."""
        return [problem for problem in (self.unreachable, self.failed) if problem]

    async def run(self) -> None:
        """Follow until cancelled; then take the offer back."""
        try:
            while True:
                await asyncio.sleep(await self._turn())
        finally:
            with contextlib.suppress(QueueUnreachable):
                self.queue.unregister_generator(self.generator_id)

    async def _turn(self) -> float:
        """Look once; returns how long to wait."""
        try:
            await self.look()
        except QueueUnreachable as error:
            if self.unreachable is None:
                log.warning("%s; serving what is loaded", error)
            self.unreachable = str(error)
            self._announced = None
            return max(self.poll_s, _RETRY_S)
        except Exception as error:  # a follower that dies would leave the policy behind, unseen
            log.exception("the policy record could not be followed")
            self.failed = f"the policy record could not be followed: {error}"
            return max(self.poll_s, _RETRY_S)
        if self.unreachable is not None:
            log.info("Redis can be reached again")
            self.unreachable = None
        return max(self.poll_s, _RETRY_S) if self.failed else self.poll_s

    async def look(self) -> None:
        """Load the current version when it is another, and renew the offer when it is due.

        Raises `QueueUnreachable`.
        """
        record = await asyncio.to_thread(self._current)
        if record is not None and not _is(self.sampler.policy, record):
            await self._load(record)
        else:
            self.failed = None
        await self._announce()

    def _current(self) -> PolicyRecord | None:
        runs = [self.run_id] if self.run_id else self.queue.active_runs()[:1]
        return self.queue.policy(runs[0]) if runs else None

    async def _load(self, record: PolicyRecord) -> None:
        try:
            folder = inside(self.runs_dir, record.path)
            await self.sampler.load_version(
                folder, record.run_id, record.version, record.fingerprint
            )
        except (WeightsError, ModelError, PathRefused, OSError, RuntimeError) as error:
            problem = f"version {record.version} of run {record.run_id} does not load: {error}"
            if problem != self.failed:
                log.error(problem)
            self.failed = problem
        except SamplerError as error:
            log.debug("not loaded: %s", error)
        else:
            self.failed = None

    async def _announce(self) -> None:
        policy, now = self.sampler.policy, asyncio.get_running_loop().time()
        if self._announced and self._announced[0] == policy and now < self._announced[1] + _BEAT_S:
            return
        record = GeneratorRecord(
            generator_id=self.generator_id,
            url=self.url,
            run_id=policy.run_id,
            version=policy.version,
            fingerprint=policy.fingerprint,
            capacity=self.sampler.engine.capacity,
        )
        await asyncio.to_thread(self.queue.register_generator, record, _TTL_S)
        self._announced = (policy, now)


def _is(policy: Policy, record: PolicyRecord) -> bool:
    return (policy.run_id, policy.version, policy.fingerprint) == (
        record.run_id,
        record.version,
        record.fingerprint,
    )
