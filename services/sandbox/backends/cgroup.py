"""Kernel limits of memory and tasks for a whole process tree, where this process may make cgroups.

As root on the machine itself that is the rule, in a container the exception. Version 2 is used
where it has the controllers, else version 1. Each slot has one group, which is used again.
"""

import atexit
import contextlib
import itertools
import os
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
NAME = "cohort-sandbox"
_numbers = itertools.count()


class Group:
    """The group of one slot: one folder (version 2) or one per controller (version 1)."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = folders
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        self.kills = 0

    def limit(self, memory: int, tasks: int) -> None:
        """Set the limits of the next run: bytes, and processes and threads."""
        folder = self.folders["memory"]
        if (folder / "memory.max").exists():
            (folder / "memory.max").write_text(str(memory))
            with contextlib.suppress(OSError):
                (folder / "memory.swap.max").write_text("0")
        else:
            both = folder / "memory.memsw.limit_in_bytes"  # must never be below the other
            if both.exists():
                both.write_text("-1")
            (folder / "memory.limit_in_bytes").write_text(str(memory))
            if both.exists():
                both.write_text(str(memory))
        (self.folders["pids"] / "pids.max").write_text(str(tasks))
        self.kills = self._kills()

    def add(self, pid: int) -> None:
        """Move a process in; its children follow."""
        for folder in set(self.folders.values()):
            with contextlib.suppress(OSError):  # it may be gone already
                (folder / "cgroup.procs").write_text(str(pid))

    def out_of_memory(self) -> bool:
        """Whether the kernel killed for memory since the limits were set."""
        return self._kills() > self.kills

    def _kills(self) -> int:
        folder = self.folders["memory"]
        events = folder / "memory.events"
        text = (events if events.exists() else folder / "memory.oom_control").read_text()
        counts = dict(line.split() for line in text.splitlines())
        return int(counts.get("oom_kill", 0))


class Cgroups:
    """The groups of one backend. `find` returns None where there can be none."""

    def __init__(self, parents: Mapping[str, Path]) -> None:
        name = f"{NAME}-{os.getpid()}-{next(_numbers)}"
        self.folders = {controller: parent / name for controller, parent in parents.items()}
        self.groups: dict[int, Group] = {}
        atexit.register(self.close)

    @classmethod
    def find(cls, root: Path = ROOT) -> "Cgroups | None":
        """Try to make a group and to limit it."""
        parents = _version_2(root) or _version_1(root)
        if parents is None or not all(os.access(path, os.W_OK) for path in parents.values()):
            return None
        _remove_stale(parents)
        found = cls(parents)
        try:
            found.group(0).limit(memory=64 << 20, tasks=16)
        except (OSError, ValueError):
            found.close()
            return None
        return found

    def group(self, slot: int) -> Group:
        """The slot's group."""
        if slot not in self.groups:
            for folder in set(self.folders.values()):
                folder.mkdir(exist_ok=True)
                if (folder / "cgroup.subtree_control").exists():
                    (folder / "cgroup.subtree_control").write_text("+memory +pids")
            paths = {name: folder / f"slot-{slot}" for name, folder in self.folders.items()}
            self.groups[slot] = Group(paths)
        return self.groups[slot]

    def close(self) -> None:
        """Remove all groups; they must be empty."""
        atexit.unregister(self.close)
        for folder in set(self.folders.values()):
            _remove(folder)


def _version_2(root: Path) -> dict[str, Path] | None:
    controllers = root / "cgroup.controllers"
    if not controllers.exists() or not {"memory", "pids"} <= set(controllers.read_text().split()):
        return None
    try:
        (root / "cgroup.subtree_control").write_text("+memory +pids")
    except OSError:
        return None
    return {"memory": root, "pids": root}


def _version_1(root: Path) -> dict[str, Path] | None:
    """Below this process's own groups."""
    parents = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in {"memory", "pids"} & set(names.split(",")):
            parents[name] = root / name / path.lstrip("/")
    return parents if len(parents) == 2 else None


def _remove_stale(parents: Mapping[str, Path]) -> None:
    """Groups of services that were killed."""
    for parent in set(parents.values()):
        for folder in parent.glob(f"{NAME}-*"):
            pid = folder.name.removeprefix(f"{NAME}-").split("-")[0]
            if not Path(f"/proc/{pid}").exists():
                _remove(folder)


def _remove(folder: Path) -> None:
    for path in (*folder.glob("slot-*"), folder):
        for _ in range(10):  # the kernel lets go of what has just died a moment later
            try:
                path.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)
