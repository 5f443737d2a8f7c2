"""What a process tree uses, read from /proc: it needs no privilege and works in any container.

Samples, not events: between two looks a program can overshoot. Rlimits and, where allowed, cgroups
hold in between.
"""

import os
from dataclasses import dataclass
from pathlib import Path

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    """Of all processes below one: CPU seconds (dead ones included), resident bytes, tasks."""

    cpu_s: float
    memory: int
    """Resident bytes without shared files; pages shared by a fork count once per process."""
    tasks: int
    """Processes and threads."""


def available() -> bool:
    """Whether this kernel lists the children of a process."""
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def children(pid: int) -> list[int]:
    """Pids of the living children; empty when the process is gone."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_bytes().split())
    except OSError:
        pass
    return found


def descendants(pid: int) -> list[int]:
    """All living processes below one."""
    found = children(pid)
    for child in found:  # grows while it is walked
        found += children(child)
    return found


def usage(pid: int) -> Usage:
    """What all processes below `pid` use, those it has reaped included; itself not."""
    own = _stat(pid)
    cpu_ticks = own[13] + own[14] if own else 0
    memory = tasks = 0
    for child in descendants(pid):
        stat = _stat(child)
        if stat:
            cpu_ticks += sum(stat[11:15])
            tasks += stat[17]
            memory += _private(child)
    return Usage(cpu_ticks * _TICK_S, memory, tasks)


def _stat(pid: int) -> list[int]:
    """Fields of /proc/<pid>/stat after the name; empty when the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return []
    return [0, *map(int, text.rpartition(b")")[2].split()[1:])]


def _private(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/statm").read_bytes().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE
