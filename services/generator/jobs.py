"""What the sampler is given and what it answers: jobs, loads, the policy, and refusals."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any

from services.generator.engines.base import GroupRequest, Sampled

log = logging.getLogger("cohort.generator")


class SamplerError(Exception):
    """A request that is not answered with completions: a stable code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Policy:
    """What is served; version -1 is nothing."""

    run_id: str | None = None
    model: str | None = None
    version: int = -1
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Completions and the policy that every token of them was sampled with."""

    policy: Policy
    completions: list[Sampled]


@dataclass(slots=True)
class Job:
    """A request that waits, and where its answer goes: the engine's `Ticket`."""

    request: GroupRequest
    run_id: str | None
    min_version: int
    deadline: float
    on_token: Callable[[int, int], None] | None
    policy: Policy = field(default_factory=Policy)
    """What it is sampled with."""
    answer: "Future[Answer]" = field(default_factory=Future)
    num_tokens: int = 0
    stopped: bool = False

    def alive(self) -> bool:
        """Whether somebody waits for the answer still."""
        late = time.monotonic() >= self.deadline
        return not (self.stopped or late or self.answer.cancelled())

    def token(self, completion: int, token: int) -> None:
        """A token was sampled."""
        self.num_tokens += 1
        if self.on_token is not None:
            self.on_token(completion, token)

    def done(self, completions: list[Sampled]) -> None:
        """Everything was sampled, or what there was when nobody waited any more."""
        if any(sampled.finish_reason == "abort" for sampled in completions):
            late = SamplerError("timeout", "the request was not done in time")
            fail(self.answer, stopping() if self.stopped else late)
        else:
            fulfil(self.answer, Answer(self.policy, completions))


@dataclass(slots=True)
class Load:
    """A policy to be read between batches, and where it is announced."""

    read: Callable[[], Policy]
    done: "Future[Policy]" = field(default_factory=Future)


def serves(policy: Policy, run_id: str | None, min_version: int) -> bool:
    """Whether the policy is of the run and new enough; False means that waiting may help."""
    if policy.version < 0 and run_id is None:
        raise SamplerError("no_policy", "no policy is loaded: start a run, or set COHORT_MODEL")
    if policy.version >= 0 and run_id not in (None, policy.run_id):
        served = "no run" if policy.run_id is None else f"run {policy.run_id}"
        raise SamplerError("wrong_policy", f"this generator serves {served}, not run {run_id}")
    return policy.version >= max(min_version, 0)


def stopping() -> SamplerError:
    """The generator is on its way out."""
    return SamplerError("stopping", "the generator is being stopped")


def stale(policy: Policy, min_version: int) -> SamplerError:
    """The version did not come in time."""
    return SamplerError(
        "stale_policy",
        f"version {policy.version} is served, but {min_version} is the oldest allowed",
    )


def fulfil(future: "Future[Any]", value: Any) -> None:
    """Give the result, unless nobody waits for it any more."""
    try:
        future.set_result(value)
    except InvalidStateError:
        log.debug("an answer came after its request was abandoned")


def fail(future: "Future[Any]", error: Exception) -> None:
    """Give the error, unless nobody waits any more."""
    try:
        future.set_exception(error)
    except InvalidStateError:
        log.debug("an error came after its request was abandoned")
