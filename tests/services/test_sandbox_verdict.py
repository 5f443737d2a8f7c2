"""Status rules, and the seccomp filter read by a small interpreter of BPF."""

import errno
import signal
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohort.contracts.sandbox import RunLimits
from services.sandbox.backends import seccomp
from services.sandbox.backends.base import Stream
from services.sandbox.backends.verdict import Report, conclude

LIMITS = RunLimits(cpu_ms=1_000)


def report(*said, ended=None, stderr=b"", returncode=0):
    return Report(
        list(said), ended, 5.0, 10.0, 1 << 20, Stream(), Stream(stderr, len(stderr)), returncode
    )


def done(raw, *, cpu_us=5_000, ended=None, stderr=b""):
    return report("ready", f"done {raw} {cpu_us} 2048 0", ended=ended, stderr=stderr)


@pytest.mark.parametrize(
    ("seen", "status"),
    [
        (done(0), "ok"),
        (done(3 << 8), "exit_nonzero"),
        (done(signal.SIGSEGV), "signaled"),
        (done(signal.SIGXFSZ), "files"),
        (done(signal.SIGKILL, cpu_us=1_000_000), "cpu_timeout"),
        (done(0, cpu_us=1_000_001), "cpu_timeout"),
        (done(signal.SIGXCPU, cpu_us=900_000), "cpu_timeout"),
        (done(signal.SIGXCPU, cpu_us=1_000), "signaled"),
        (done(signal.SIGKILL, ended="wall_timeout"), "wall_timeout"),
        (done(signal.SIGKILL, ended="output"), "output"),
        (done(1 << 8, stderr=b"Traceback\nMemoryError\n"), "memory"),
        (done(1 << 8, stderr=b"BlockingIOError: [Errno 11] Resource ..."), "procs"),
        (done(1 << 8, stderr=b"RuntimeError: can't start new thread\n"), "procs"),
        (done(1 << 8, stderr=b"OSError: [Errno 28] No space left on device\n"), "files"),
        (done(0, stderr=b"MemoryError\n"), "ok"),
        (report("ready", "error files cannot write a: No space left on device"), "files"),
        (report("ready", "error exec cannot start /nope"), "infra_error"),
        (report("ready"), "sandbox_killed"),
        (report("ready", ended="wall_timeout"), "wall_timeout"),
        (report(stderr=b"bwrap: No permissions to create new namespace\n"), "infra_error"),
        (report("error infra it did not start"), "infra_error"),
    ],
)
def test_status(seen, status):
    assert conclude(seen, LIMITS, out_of_memory=False).status == status


def test_a_kill_for_memory_is_memory_but_never_turns_success_into_failure():
    assert conclude(done(signal.SIGKILL), LIMITS, out_of_memory=True).status == "memory"
    assert conclude(report("ready"), LIMITS, out_of_memory=True).status == "memory"
    assert conclude(done(0), LIMITS, out_of_memory=True).status == "ok"


def test_a_limit_that_ended_the_program_leaves_no_exit_code_behind():
    outcome = conclude(done(signal.SIGKILL, ended="memory"), LIMITS, out_of_memory=False)
    assert (outcome.exit_code, outcome.signal) == (None, None)


def test_a_jail_that_does_not_start_says_why():
    seen = report(stderr=b"noise\nbwrap: No permissions\n", returncode=1)
    assert "bwrap: No permissions" in (conclude(seen, LIMITS, out_of_memory=False).reason or "")


ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED = 0x7FFF0000, 0x80000000


def judge(machine, number, arg0=0, arch=None):
    """What the kernel would answer."""
    program = seccomp.program(machine)
    assert program is not None
    data = struct.pack("=IIQQ", number, arch or ARCH[machine], 0, arg0) + bytes(40)
    steps = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, if_true, if_false, k = steps[at]
        at += 1
        if code == 0x06:
            return k
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, k)
        else:
            holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            at += if_true if holds else if_false


def refused(error=errno.EPERM):
    return 0x00050000 | error


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_listed_call_is_refused_and_ordinary_ones_are_not(machine):
    column = list(ARCH).index(machine)
    for name, numbers in seccomp.REFUSED.items():
        if numbers[column] is not None:
            assert judge(machine, numbers[column]) == refused(), name
    ordinary = {"x86_64": (0, 1, 9, 12, 59, 231), "aarch64": (63, 64, 222, 214, 221, 94)}[machine]
    assert {judge(machine, number) for number in ordinary} == {ALLOWED}


@pytest.mark.parametrize(
    ("machine", "clone", "clone3", "socket", "prlimit"),
    [("x86_64", 56, 435, 41, 302), ("aarch64", 220, 435, 198, 261)],
)
def test_calls_that_depend_on_their_arguments(machine, clone, clone3, socket, prlimit):
    assert judge(machine, clone3) == refused(errno.ENOSYS)
    assert judge(machine, clone, 0x003D0F00) == ALLOWED  # a thread
    assert judge(machine, clone, signal.SIGCHLD) == ALLOWED  # a fork
    for new in (0x20000, 0x10000000, 0x40000000, 0x20000000):
        assert judge(machine, clone, new | signal.SIGCHLD) == refused()
    assert [judge(machine, socket, domain) for domain in (1, 2, 10)] == [ALLOWED] * 3
    for domain in (16, 17, 38, 40):  # netlink, packet, alg, vsock
        assert judge(machine, socket, domain) == refused(errno.EAFNOSUPPORT)
    assert judge(machine, prlimit, 0) == ALLOWED
    assert judge(machine, prlimit, 1) == refused()


def test_other_architectures_and_the_x32_numbers_do_not_slip_through():
    assert judge("x86_64", 0, arch=0x40000003) == KILLED
    assert judge("x86_64", 0x40000000 + 165) == refused(errno.ENOSYS)
    assert seccomp.program("riscv64") is None


@settings(deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(0, 2**32 - 1))
def test_the_filter_always_decides(number, arg0):
    assert judge("x86_64", number, arg0) & 0x7FFF0000 in (ALLOWED, 0x00050000)
