"""Small facts about Linux processes that the launcher, the trainer and the sandbox share.

`python -m cohort.processes PARENT_PID COMMAND [ARGS...]` becomes the command, tied to its parent:
for programs that are not ours and cannot call `die_with_parent` themselves.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int | None = None) -> None:
    """Ask the kernel to kill this process when its parent dies, however that happens.

    `parent_pid` closes the race in which the parent died before the call: when it is given and is
    no longer the parent, the process exits at once.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent_pid is not None and os.getppid() != parent_pid:
        os._exit(1)


if __name__ == "__main__":
    die_with_parent(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
