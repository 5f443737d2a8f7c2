"""The sandbox's wire: an untrusted program in, what the kernel says of it out.

A program that fails is a result (`status`), never an HTTP error; trouble of the service itself is
`infra_error` and says nothing about the program.
"""

from typing import Literal, Self

from pydantic import Base64Bytes, Field, model_validator

from cohort.contracts.base import Message

Language = Literal["python", "bash"]
Level = Literal["none", "rlimits", "namespace", "gvisor", "microvm"]
"""How strongly programs are kept from the machine and from each other, weakest first."""
RunStatus = Literal[
    "ok",
    "exit_nonzero",
    "signaled",
    "cpu_timeout",
    "wall_timeout",
    "memory",
    "output",
    "procs",
    "files",
    "bad_request",
    "sandbox_killed",
    "infra_error",
]
"""`ok`: exit status 0. `cpu_timeout` is the program's time limit; `wall_timeout` stops what sleeps.
`memory`, `output`, `procs`, `files`: the limit of that name ended the program. `bad_request`: it
was not started, see `reason`. `sandbox_killed`: it took its sandbox down, twice. `infra_error`: the
service failed, never score it; try again."""


class RunLimits(Message):
    """What a program may use: itself and all processes that it starts, together."""

    cpu_ms: int = Field(default=5_000, ge=10, le=120_000)
    """CPU time, the criterion for being too slow: it does not depend on the neighbours."""
    wall_ms: int | None = Field(default=None, ge=10, le=600_000)
    """Elapsed time, a stop for what sleeps. Default: 3 x cpu_ms + 2000."""
    mem_mb: int = Field(default=512, ge=16, le=16_384)
    procs: int = Field(default=32, ge=1, le=1_024)
    """Processes and threads at the same time."""
    fsize_mb: int = Field(default=16, ge=1, le=4_096)
    """Size of one file that the program writes."""
    tmp_mb: int = Field(default=64, ge=1, le=4_096)
    """Room in /tmp, which is the working directory, input files included."""
    nofile: int = Field(default=128, ge=8, le=4_096)
    """Open files of one process."""
    keep_bytes: int = Field(default=65_536, ge=0, le=16_777_216)
    """Of each output stream, the reply holds this much: half from its start, half from its end."""
    kill_bytes: int = Field(default=1_048_576, ge=1, le=16_777_216)
    """A program that writes more than this to one stream is ended with status `output`."""

    @property
    def wall_stop_ms(self) -> int:
        """The elapsed time that applies."""
        return 3 * self.cpu_ms + 2_000 if self.wall_ms is None else self.wall_ms


class RunCase(Message):
    """One test case: what the program reads, and what it should write."""

    stdin: str = ""
    expected_stdout: str | None = None
    """Compared outside; it never enters the sandbox. None: not compared."""


class RunRequest(Message):
    """Run a program once (`script`) or once per case (`cases`), each time in a fresh sandbox."""

    language: Language = "python"
    mode: Literal["script", "cases"] = "script"
    code: str
    stdin: str = ""
    """Of mode `script`."""
    cases: tuple[RunCase, ...] = Field(default=(), max_length=1_000)
    """Of mode `cases`."""
    stop_at_first_failure: bool = False
    """Of mode `cases`: leave out the cases after the first that did not pass."""
    files: dict[str, Base64Bytes] = Field(default={}, max_length=256)
    """Input files by path relative to the working directory; contents in base64."""
    limits: RunLimits = RunLimits()
    """Of one run; every case has them anew."""

    @model_validator(mode="after")
    def _one_mode(self) -> Self:
        if self.mode == "cases" and not self.cases:
            raise ValueError("mode is `cases`, but there are none: give at least one case")
        if self.mode == "cases" and self.stdin:
            raise ValueError("mode is `cases`: give stdin in each case, not in the request")
        if self.mode == "script" and self.cases:
            raise ValueError("mode is `script`, but there are cases: set mode to `cases`")
        return self


class Execution(Message):
    """How one run of the program went."""

    status: RunStatus
    exit_code: int | None = None
    """None when a signal or a limit ended it."""
    signal: int | None = None
    cpu_ms: float = 0.0
    """User and system time of all its processes."""
    wall_ms: float = 0.0
    peak_mb: float = 0.0
    """Resident memory at its highest, MiB."""
    stdout: str = ""
    """UTF-8; bytes that are not are replaced by U+FFFD."""
    stderr: str = ""
    stdout_bytes: int = 0
    """Bytes written, kept or not."""
    stderr_bytes: int = 0
    stdout_truncated: bool = False
    """The middle was left out, and a line in its place says how much."""
    stderr_truncated: bool = False
    leftovers: int = 0
    """Processes that outlived the main one and were killed."""
    reason: str | None = None
    """A sentence, when `status` alone does not say it."""


class CaseResult(Execution):
    """How the program did on one case."""

    passed: bool | None
    """Exit status 0 and the expected output (blanks at the end of lines and blank lines at the end
    aside). None: nothing was expected, or the service failed."""


class RunResponse(Execution):
    """Answer to `POST /v1/run`.

    In mode `cases` the status is that of the first case that was not `ok`, times are sums, memory
    is the highest, and outputs are in `cases`.
    """

    cases: tuple[CaseResult, ...] = ()
    """One for each case, in order; fewer only after `stop_at_first_failure`."""
    backend: str
    level: Level
    attempt: int = 1
    """2 when a sandbox was lost and the run was repeated in a fresh one."""
    queue_ms: float = 0.0


class BackendReport(Message):
    """What a backend's self-tests found."""

    name: str
    level: Level
    ok: bool
    reason: str = ""
    """Why it is refused, and what to do."""
    version: str = ""
    capabilities: tuple[str, ...] = ()
    """What holds here beyond the level: `seccomp`, `procs`, `cgroup`, `own_uid`, ..."""


class BackendsResponse(Message):
    """Every backend tried, in order of preference; `chosen` is None when none is usable."""

    chosen: str | None
    backends: tuple[BackendReport, ...]
