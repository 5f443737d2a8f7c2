"""Pid 1 of a run, started in the jail: `python -I -S -c <this file> CTL LIMITS... -- COMMAND...`.

    outside                        inside (this program)               the untrusted program
    ------- "ready" <------------- closes what it should not hold
    files -----------------------> writes them to the working directory
                                   fork, rlimits, exec --------------> runs on fds 0, 1, 2 only
    stop (any byte, or closed) --> kills everything
    "done STATUS CPU RSS LEFT" <-- reaps everything, exits             (the namespace dies with it)

It imports nothing of this project, needs a bare interpreter only, and holds nothing to steal.
As pid 1 of its namespace it ignores every signal that the program could send.
"""

import os
import resource
import select
import signal
import sys
import time

KILL_FOR_S = 2.0
INFINITE = resource.RLIM_INFINITY


def read_exactly(fd: int, size: int) -> bytes:
    """Bytes from the outside; ends the process when the outside is gone."""
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            os._exit(3)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def receive_files(fd: int) -> None:
    """Write the files of the run: (path length, path, data length, data)*, then a path of length 0.

    All are read before a failure is reported, so that the outside never blocks.
    """
    problem = None
    while size := int.from_bytes(read_exactly(fd, 8), "big"):
        path = os.fsdecode(read_exactly(fd, size))
        data = read_exactly(fd, int.from_bytes(read_exactly(fd, 8), "big"))
        try:
            if os.path.dirname(path):  # noqa: PTH120
                os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
            with open(path, "xb") as file:  # noqa: PTH123
                file.write(data)
        except OSError as error:
            problem = problem or f"cannot write {path}: {error.strerror}"
    if problem:
        say(fd, f"error files {problem}")
        os._exit(0)


def say(fd: int, text: str) -> None:
    """One line to the outside."""
    os.write(fd, text.replace("\n", " ").encode(errors="replace") + b"\n")


def set_limits(limits: "dict[str, int]") -> None:
    """Set rlimits by name; a hard limit that is lower already stays."""
    for name, value in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        extra = 1 if name == "CPU" else 0  # SIGXCPU at the soft limit, SIGKILL at the hard one
        hard = resource.getrlimit(which)[1]
        top = value + extra if hard == INFINITE else min(value + extra, hard)
        resource.setrlimit(which, (min(value, top), top))


def start(ctl: int, limits: "dict[str, int]", command: "list[str]") -> int:
    """Fork and execute the program; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        set_limits(limits)
        os.execv(command[0], command)
    except BaseException as error:
        say(ctl, f"error exec cannot start {command[0]}: {error}")
    os._exit(127)


def children() -> "list[int]":
    """Own children, orphans that came here included; used only where this is not pid 1."""
    path = f"/proc/self/task/{os.getpid()}/children"
    try:
        with open(path) as file:  # noqa: PTH123
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def kill_rest(main: int) -> int:
    """Kill and reap until nothing is left: a single pass can miss a process that forks."""
    killed, until = 0, time.monotonic() + KILL_FOR_S
    while time.monotonic() < until:
        # -1 means "all that I may": only as pid 1 is that the namespace and not the machine.
        for pid in (-1,) if os.getpid() == 1 else (-main, *children()):
            try:  # noqa: SIM105 (contextlib would double the start-up time)
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if os.WIFSIGNALED(found[1]) and os.WTERMSIG(found[1]) == signal.SIGKILL:
                    killed += found[0] != main
        except ChildProcessError:
            break
        time.sleep(0.001)
    return killed


def wait_for(main: int, ctl: int) -> "tuple[int, bool]":
    """Reap until the program ends or the outside says stop; (wait status, whether stopped)."""
    poll = select.poll()
    poll.register(ctl, select.POLLIN)
    interval_ms = 5
    try:
        poll.register(os.pidfd_open(main), select.POLLIN)
        interval_ms = 100  # only orphans need the interval
    except (AttributeError, OSError):
        pass
    while True:
        stopped = any(fd == ctl for fd, _ in poll.poll(interval_ms))
        if stopped:
            os.kill(main, signal.SIGKILL)
            return os.waitpid(main, 0)[1], True
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == main:
                return status, False
            if not pid:
                break


def become_reaper() -> None:
    """Without a pid namespace: orphans of the program become children of this process."""
    import ctypes

    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def main() -> None:
    """Serve one run."""
    split = sys.argv.index("--")
    ctl, command = int(sys.argv[1]), sys.argv[split + 1 :]
    limits = {name: int(value) for name, value in (a.split("=") for a in sys.argv[2:split])}
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.closerange(3, ctl)
    os.closerange(ctl + 1, 1024)
    os.set_inheritable(ctl, False)
    if os.getpid() != 1:
        become_reaper()
    say(ctl, "ready")
    receive_files(ctl)
    pid = start(ctl, limits, command)
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):  # so that the program alone holds its pipes
        os.dup2(nothing, fd)
    status, stopped = wait_for(pid, ctl)
    left = kill_rest(pid)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_us = round((used.ru_utime + used.ru_stime) * 1e6)
    say(ctl, f"done {status} {cpu_us} {used.ru_maxrss} {0 if stopped else left}")


if __name__ == "__main__":
    main()
