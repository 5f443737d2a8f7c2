"""Limits without isolation: for tests and laptops, and only with `allow_insecure`.

A program can read what the user (as root: an account without rights) can read, use the network, and
leave files in shared places such as /dev/shm. Time, memory, output and tasks are limited as in the
other backends.
"""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

from cohort.contracts.sandbox import BackendReport, Level
from services.sandbox.backends.base import Backend, Job, Outcome
from services.sandbox.backends.namespace import FIRST_UID, find_python
from services.sandbox.backends.process import Launch, Run

REFUSAL = (
    "It limits programs but isolates nothing: set COHORT_SANDBOX_ALLOW_INSECURE=true to use it"
    " for programs that you trust."
)


class Rlimits(Backend):
    """The backend of last resort."""

    name: ClassVar[str] = "rlimits"
    level: ClassVar[Level] = "rlimits"

    def __init__(self, allow_insecure: bool, python: str | None = None) -> None:
        self.allow_insecure = allow_insecure
        self.python = find_python(python)
        self.drop_uid = os.geteuid() == 0

    async def probe(self) -> BackendReport:
        """Refused unless allowed; then a program must run."""
        ok, reason = self.allow_insecure, "" if self.allow_insecure else REFUSAL
        if ok:
            outcome = await self.run(Job(code=b"print(1)"), 0)
            ok = outcome.status == "ok"
            reason = outcome.reason or "" if not ok else ""
        capabilities = ("own_uid", "procs") if self.drop_uid else ()
        return BackendReport(
            name=self.name, level=self.level, ok=ok, reason=reason, capabilities=capabilities
        )

    async def run(self, job: Job, slot: int) -> Outcome:
        """Run a program in a directory of its own, which is removed afterwards."""
        uid = FIRST_UID + slot if self.drop_uid else None
        folder = Path(tempfile.mkdtemp(prefix="cohort-run-"))
        try:
            if uid is not None:
                os.chown(folder, uid, uid)
            launch = Launch(
                prefix=[],
                python=self.python,
                depth=0,
                own_uid=uid,
                cwd=str(folder),
                home=str(folder),
                # Without a uid of its own the limit would count all of the user's processes.
                limit_procs=self.drop_uid,
            )
            return await Run(job, launch).run()
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
