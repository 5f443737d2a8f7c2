"""The system call filter of the namespace backend, as a classic BPF program for `bwrap --seccomp`.

A list of what is refused: what would open new namespaces or mounts, look into other processes, talk
to the kernel's large and rarely needed interfaces, or reach sockets beyond AF_UNIX and AF_INET
(AF_VSOCK reaches the hypervisor from any network namespace). Everything else is allowed, so that
ordinary programs behave as usual. Other architectures than the two below have no filter, and the
backend's capabilities say so.
"""

import errno
import platform
import struct

# name: (x86_64, aarch64); None: the architecture has no such call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "lookup_dcookie": (212, 18),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "vhangup": (153, 58),
    # Memory that no limit of ours counts while it is not mapped.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
}
_SPECIAL = {"clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "prlimit64": (302, 261)}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_SOCKET_DOMAINS = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_ARG0 = 0, 4, 16


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(error: int = errno.EPERM) -> bytes:
    return _op(_RETURN, 0x00050000 | error)


def _when(number: int, body: bytes) -> bytes:
    """`body`, which must return, for one system call."""
    return _op(_EQUAL, number, 0, len(body) // 8) + body


def program(machine: str | None = None) -> bytes | None:
    """The filter for an architecture (this machine's by default); None when there is none."""
    machine = machine or platform.machine()
    if machine not in _AUDIT_ARCH:
        return None
    column = list(_AUDIT_ARCH).index(machine)
    special = {name: numbers[column] for name, numbers in _SPECIAL.items()}
    argument = _op(_LOAD, _OFFSET_ARG0)
    allow = _op(_RETURN, _ALLOW)
    parts = [
        _op(_LOAD, _OFFSET_ARCH),
        _op(_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _op(_RETURN, _KILL),
        _op(_LOAD, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":  # the x32 calls would pass under other numbers
        parts += [_op(_AT_LEAST, 0x40000000, 0, 1), _refuse(errno.ENOSYS)]
    parts += [
        _when(number, _refuse())
        for number in (numbers[column] for numbers in REFUSED.values())
        if number is not None
    ]
    # clone3 passes its flags in memory, where a filter cannot look: libc falls back to clone.
    parts.append(_when(special["clone3"], _refuse(errno.ENOSYS)))
    parts.append(
        _when(special["clone"], argument + _op(_ANY_BIT, _NEW_NAMESPACES, 0, 1) + _refuse() + allow)
    )
    domains = b"".join(_op(_EQUAL, domain, 0, 1) + allow for domain in _SOCKET_DOMAINS)
    parts.append(_when(special["socket"], argument + domains + _refuse(errno.EAFNOSUPPORT)))
    # Limits of others, pid 1 above all, are not for the program to lower.
    parts.append(_when(special["prlimit64"], argument + _op(_EQUAL, 0, 1, 0) + _refuse() + allow))
    return b"".join([*parts, allow])
