"""What can be known before a run starts: mistakes that refuse it, and the dry run's report.

`problems` is quick and certain; a service that cannot be asked refuses nothing. `report` looks
further: services, memory, disk, and whether a few sampled groups differ in reward at all.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import httpx

from cohort.clients import (
    AsyncGeneratorClient,
    AsyncRewardClient,
    AsyncSandboxClient,
    ServiceError,
)
from cohort.config import RunConfig, num_cores
from cohort.contracts.reward import RewardSpec, VerifierInfo
from cohort.contracts.trainer import DryRunResponse, PreflightCheck
from cohort.rollouts.queue import QueueUnreachable, RolloutQueue
from cohort.tasks import Task, TaskError, make_task
from services.trainer.config import Settings
from services.trainer.estimates import disk_check, memory_check
from services.trainer.models import ModelFacts, ModelProblem, look_up
from services.trainer.probe import left_out, probe_rewards

_QUICK_S = 3.0
Check = PreflightCheck
Client = AsyncGeneratorClient | AsyncRewardClient | AsyncSandboxClient
C = TypeVar("C", bound=Client)


@dataclass(frozen=True)
class Findings:
    """What looking at a config gave; a string is the sentence why there is nothing."""

    task: Task | str | None
    """None: still being read when the time was up."""
    model: ModelFacts | str
    verifiers: Sequence[VerifierInfo] | str


class Preflight:
    """Asks each service once, without retries. `transport` replaces the network in tests."""

    def __init__(
        self,
        settings: Settings,
        queue: RolloutQueue,
        is_busy: Callable[[], bool],
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings, self.queue, self.is_busy = settings, queue, is_busy
        self.transport = transport

    async def problems(self, config: RunConfig) -> list[str]:
        """One sentence for each mistake that no waiting would cure; empty: the run can start."""
        return _problems(config, await self._look(config))

    async def report(self, config: RunConfig) -> DryRunResponse:
        """Every check with a sentence. Starts nothing."""
        found = await self._look(config)
        problems = _problems(config, found)
        checks = [Check(name="config", ok=False, message=f"{what}.") for what in problems]
        checks = checks or [_about_task(config, found.task)]
        checks += await self._services(config)
        if isinstance(found.model, ModelFacts):
            checks.append(Check(name="model", ok=True, message=f"{found.model.where}."))
            checks.append(memory_check(config, found.model))
            checks.append(disk_check(config, found.model, self.settings.runs_dir))
        checks.append(await self._variance(config, found.task))
        ok = all(check.ok is not False for check in checks)
        return DryRunResponse(config=config.model_dump(mode="json"), ok=ok, checks=tuple(checks))

    async def _look(self, config: RunConfig) -> Findings:
        return Findings(
            *await asyncio.gather(self._task(config), self._model(config), self._verifiers())
        )

    @asynccontextmanager
    async def _client(
        self, kind: type[C], url: str, timeout_s: float = _QUICK_S
    ) -> AsyncIterator[C]:
        client = kind(
            url,
            api_key=self.settings.api_key,
            transport=self.transport,
            timeout_s=timeout_s,
            retry_for_s=0.0,
        )
        try:
            yield client
        finally:
            await client.aclose()

    async def _task(self, config: RunConfig) -> Task | str | None:
        """The task, or the sentence why there is none; None when it takes too long to know."""
        args = (config.task.name, config.task.args, config.seed)
        try:
            async with asyncio.timeout(self.settings.check_timeout_s):
                return await asyncio.to_thread(make_task, *args)
        except TaskError as error:
            return str(error)
        except TimeoutError:
            return None

    async def _model(self, config: RunConfig) -> ModelFacts | str:
        try:
            return await asyncio.to_thread(look_up, config.model.path, self.settings)
        except ModelProblem as error:
            return str(error)

    async def _verifiers(self) -> Sequence[VerifierInfo] | str:
        async with self._client(AsyncRewardClient, self.settings.reward_url) as reward:
            try:
                return (await reward.verifiers()).verifiers
            except (ServiceError, ValueError) as error:
                return str(error)

    async def _generators(self) -> list[str]:
        """URLs of those that registered in Redis, else the one that the settings name."""
        try:
            registered = [record.url for record in await asyncio.to_thread(self.queue.generators)]
        except QueueUnreachable:
            registered = []
        return registered or [self.settings.generator_url]

    async def _services(self, config: RunConfig) -> list[Check]:
        asks = [
            self._service("generator", AsyncGeneratorClient, url)
            for url in await self._generators()
        ]
        asks.append(self._service("reward", AsyncRewardClient, self.settings.reward_url))
        if any(spec.verifier == "code" for spec in config.rewards):
            asks.append(self._service("sandbox", AsyncSandboxClient, self.settings.sandbox_url))
        return [await self._redis(), *await asyncio.gather(*asks)]

    async def _service(self, name: str, kind: type[Client], url: str) -> Check:
        async with self._client(kind, url) as client:
            try:
                missing = await client.ready()
            except (ServiceError, ValueError) as error:
                return Check(name=name, ok=False, message=f"{error}.")
        if missing:
            return Check(name=name, ok=False, message=f"{url} answers: {'; '.join(missing)}")
        return Check(name=name, ok=True, message=f"{url} is ready.")

    async def _redis(self) -> Check:
        try:
            number = len(await asyncio.to_thread(self.queue.workers))
        except QueueUnreachable as error:
            return Check(name="redis", ok=False, message=f"{error}.")
        if not number:
            return Check(name="redis", ok=False, message="Reachable, but no rollout worker lives.")
        return Check(name="redis", ok=True, message=f"Reachable; rollout workers: {number}.")

    async def _variance(self, config: RunConfig, task: Task | str | None) -> Check:
        if not isinstance(task, Task):
            return left_out("there is no task to draw prompts from")
        if self.is_busy():
            return left_out("a run is training and needs the generator")
        url = (await self._generators())[0]
        async with (
            self._client(AsyncGeneratorClient, url) as generator,
            self._client(AsyncRewardClient, self.settings.reward_url) as reward,
        ):
            return await probe_rewards(config, task, generator, reward)


def _about_task(config: RunConfig, task: Task | str | None) -> Check:
    if not isinstance(task, Task):
        late = f"Task {config.task.name} could not be read in time: the learner will see."
        return Check(name="config", ok=None, message=late)
    notes = "".join(f" {note.rstrip('.')}." for note in task.notes)
    counts = f"{len(task.train)} training and {len(task.eval)} held-out questions"
    return Check(name="config", ok=True, message=f"Task {config.task.name}: {counts}.{notes}")


def _problems(config: RunConfig, found: Findings) -> list[str]:
    problems = [what for what in (found.task, found.model) if isinstance(what, str)]
    world_size, cores = config.learner.world_size, num_cores()
    if world_size > cores:
        problems.append(
            f"learner.world_size is {world_size}, but this machine has {cores} cores:"
            f" use {cores} or fewer"
        )
    if not isinstance(found.verifiers, str):
        problems += verifier_problems(config.rewards, found.verifiers)
    return problems


def verifier_problems(
    rewards: Sequence[RewardSpec], verifiers: Sequence[VerifierInfo]
) -> list[str]:
    """Unknown verifiers, and arguments that a verifier does not have."""
    known = {verifier.name: verifier for verifier in verifiers}
    found = []
    for spec in rewards:
        verifier = known.get(spec.verifier)
        if verifier is None:
            names = ", ".join(sorted(known)) or "none"
            found.append(
                f"rewards: the reward service has no verifier {spec.verifier!r}; it has {names}"
            )
        elif verifier.parameters.get("additionalProperties") is False:
            accepted = verifier.parameters.get("properties", {})
            found += [
                f"rewards: verifier {spec.verifier} has no argument {name!r};"
                f" it has {', '.join(accepted) or 'none'}"
                for name in spec.kwargs
                if name not in accepted
            ]
    return found
