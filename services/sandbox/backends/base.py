"""The interface of all backends: a job in, an outcome out, and self-tests that decide."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from cohort.contracts.sandbox import BackendReport, Language, Level, RunLimits, RunStatus


@dataclass(frozen=True)
class Job:
    """One run of one program. `files` are by relative path; they must have been checked."""

    code: bytes
    language: Language = "python"
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: RunLimits = field(default_factory=RunLimits)


@dataclass(frozen=True)
class Stream:
    """What a program wrote to one stream: all of it, unless it was ended for writing too much."""

    data: bytes = b""
    total: int = 0


@dataclass(frozen=True)
class Outcome:
    """How a run went. Times in ms, memory in bytes."""

    status: RunStatus
    exit_code: int | None = None
    signal: int | None = None
    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    peak: int = 0
    stdout: Stream = Stream()
    stderr: Stream = Stream()
    leftovers: int = 0
    reason: str | None = None


class Backend(ABC):
    """One way to isolate programs.

    `probe` is called once, before any run, and decides; `run` never raises for anything that the
    program does, and a cancelled `run` leaves nothing behind. `slot` is a small number that no
    other run has at the same time.
    """

    name: ClassVar[str]
    level: ClassVar[Level]

    @abstractmethod
    async def probe(self) -> BackendReport:
        """Try to escape; a backend whose report is not ok is never used."""

    @abstractmethod
    async def run(self, job: Job, slot: int) -> Outcome:
        """Run a program."""

    def close(self) -> None:  # noqa: B027 (most backends hold nothing)
        """Give back what the backend holds."""
