"""Self-tests of a backend: programs that try to get out. One that gets out refuses the backend."""

import json
import logging
import os
import socket
import subprocess
from typing import Any

from cohort.contracts.sandbox import RunLimits
from services.sandbox.backends.base import Backend, Job, Outcome

log = logging.getLogger("sandbox")
LIMITS = RunLimits(cpu_ms=3_000, wall_ms=10_000, mem_mb=256, procs=16)

# Prints what it could do that it must not, as a JSON list of sentences, and what may hold or not.
ESCAPE = """
import json, os, socket, sys
port, secrets = json.loads(sys.stdin.read())
out, held = [], []
def attempt(sentence, action):
    try:
        if action() is not False:
            out.append(sentence)
    except Exception:
        pass
def write(path):
    with open(path, "w") as file:
        file.write("x")
    os.remove(path)
def connect():
    with socket.socket() as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", port))
def sends():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("192.0.2.1", 53))
def lives(pid):
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return True
def sees_others():
    # In a namespace of its own it sees itself and pid 1, its parent. The service's own pid would
    # not do as a witness: in a container that is 1 too.
    mine = {1, os.getpid()}
    return os.getppid() != 1 or any(lives(pid) for pid in range(1, 4096) if pid not in mine)
attempt("a program can connect to a port of this machine", connect)
attempt("a program has a route to other machines", sends)
for folder in ("/", "/usr", "/usr/lib", "/etc", "/var/tmp", "/home", "/root", "/opt", "/dev"):
    attempt("a program can write to " + folder, lambda: write(folder + "/cohort_probe"))
for path in secrets:
    attempt("a program can read " + path, lambda: open(path, "rb").read(1))
attempt("a program can see a process of this machine", sees_others)
attempt("a program can list this machine's processes", lambda: os.path.exists("/proc/1/status"))
attempt("a program sees the service's environment",
        lambda: any(name.startswith("COHORT_") for name in os.environ))
attempt("a program is root", lambda: os.getuid() == 0)
for path in ("/tmp/cohort_probe", "/dev/shm/cohort_probe"):
    attempt("a program sees files of an earlier one in " + path, lambda: os.path.exists(path))
    try:
        open(path, "w").close()
    except OSError:
        pass
attempt("a program can open a socket to the hypervisor",
        lambda: socket.socket(40, socket.SOCK_STREAM).close())
print(json.dumps(out))
"""

# Bounded by itself: 64 children at most, which sleep and are killed with the run.
FORKS = """
import os, time
alive = 0
for _ in range(64):
    try:
        pid = os.fork()
    except OSError:
        break
    if not pid:
        time.sleep(5)
        os._exit(0)
    alive += 1
print(alive)
"""


class Probe:
    """Runs the self-tests once; `capabilities` afterwards says what else holds."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.capabilities: frozenset[str] = frozenset()

    async def run(self) -> str:
        """A sentence when the backend must be refused; empty when it may be used."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(4)
            secrets = ["/etc/shadow", "/etc/passwd", os.path.abspath(__file__)]  # noqa: PTH100
            given = json.dumps([listener.getsockname()[1], secrets])
            for _ in range(2):  # the second must not see the first
                outcome = await self._run(ESCAPE, given)
                escaped = _json(outcome)
                if not isinstance(escaped, list):
                    return _failure(outcome)
                if escaped:
                    return f"The self-test found that {'; '.join(map(str, escaped))}."
        outcome = await self._run(FORKS)
        alive = _json(outcome)
        # The limit of processes may come as an error inside or as the end of the program.
        if outcome.status == "procs" or (isinstance(alive, int) and alive <= LIMITS.procs):
            self.capabilities |= {"procs"}
        else:
            log.warning("%s: the limit of processes holds only by sampling", self.backend.name)
        return ""

    async def _run(self, code: str, stdin: str = "") -> Outcome:
        job = Job(code=code.encode(), stdin=stdin.encode(), limits=LIMITS)
        try:
            return await self.backend.run(job, slot=0)
        except (OSError, subprocess.SubprocessError) as error:
            return Outcome("infra_error", reason=f"{type(error).__name__}: {error}")


def _json(outcome: Outcome) -> Any:
    try:
        return json.loads(outcome.stdout.data)
    except ValueError:
        return None


def _failure(outcome: Outcome) -> str:
    stderr = outcome.stderr.data.decode(errors="replace").strip()[-300:]
    return (
        f"The self-test did not run ({outcome.status}): {(outcome.reason or stderr).rstrip('.')}."
    )
