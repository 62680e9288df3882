"""Which system calls a sandbox refuses, as the program that the kernel runs before each of them (classic BPF).

Namespaces do not cover all that the kernel offers: keyrings, sockets of virtual machines, and kernel code that ordinary
work does not need. Nor do they keep a file that is executable with the rights of its owner from being one outside.

What is refused gets the answer of a kernel that does not have it, wherever programs then fall back to something else. So do
calls that are newer than this list: what cannot be judged here is not there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from ralph.values import dataclass

_NEWEST = 469  # file_setattr; from 424 on all machines count alike


@dataclass(frozen=True, slots=True)
class Machine:
    """``calls`` has the numbers of those that are older than the common ones; None: it does not have that call."""

    audit_arch: int
    calls: Mapping[str, int | None]


_OLD_CALLS = {  # x86_64, aarch64
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chmod": (90, None),
    "clone": (56, 220),
    "creat": (85, None),
    "delete_module": (176, 106),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "finit_module": (313, 273),
    "init_module": (175, 105),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "mount": (165, 40),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "openat": (257, 56),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
_COMMON_CALLS = {
    "clone3": 435,
    "fchmodat2": 452,
    "fsconfig": 431,
    "fsmount": 432,
    "fsopen": 430,
    "fspick": 433,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "io_uring_setup": 425,
    "mount_setattr": 442,
    "move_mount": 429,
    "open_tree": 428,
    "open_tree_attr": 467,
    "openat2": 437,
}
_MACHINES = {
    "x86_64": Machine(0xC000_003E, {name: numbers[0] for name, numbers in _OLD_CALLS.items()}),
    "aarch64": Machine(0xC000_00B7, {name: numbers[1] for name, numbers in _OLD_CALLS.items()}),
}

_NOT_PERMITTED = (
    *("add_key", "keyctl", "request_key"),  # the user's keyrings: no namespace separates them
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
    *("acct", "swapon", "swapoff", "iopl", "ioperm", "syslog", "open_by_handle_at"),
    *("mount", "umount2", "pivot_root", "setns"),
)
_NOT_THERE = (
    *("fsconfig", "fsmount", "fsopen", "fspick"),  # the new way to mount
    *("mount_setattr", "move_mount", "open_tree", "open_tree_attr"),
    *("clone3", "openat2"),  # what they ask for is in memory, where it cannot be judged
)
_CLONE_NEWUSER = 0x1000_0000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # both type for the user, on whose terminal they are called
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_NETLINK_ROUTE = 0  # which addresses are there: what getifaddrs asks
_CREATES = os.O_CREAT | 0o20000000  # the bit of O_TMPFILE that is no other flag's

_LOAD, _EQUALS, _AT_LEAST, _HAS_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_KERNELS_ANSWERS = Path("/proc/sys/kernel/seccomp/actions_avail")
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16

_Instruction = tuple[int, int, int, int]  # code, how many to skip if true, if false, operand
_Block = list[_Instruction]


@dataclass(frozen=True, slots=True)
class CallFilter:
    """``keeps_setgid``: folders may hand down their group, as in a project that a group of people shares."""

    machine: str
    keeps_setgid: bool = False

    @property
    def promise(self) -> str:
        bits = "setuid" if self.keeps_setgid else "setuid and setgid"
        return f"{bits} files, keyrings, new namespaces, rare sockets and system calls are refused"

    @property
    def program(self) -> bytes:
        """For `bwrap --seccomp`."""
        known = _MACHINES[self.machine]
        # 32-bit programs have calls of their own, with other numbers; so has x32, where all are above the newest.
        found: _Block = [(_LOAD, 0, 0, _ARCH), (_EQUALS, 1, 0, known.audit_arch), _refuse(errno.EPERM)]
        found += [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _NEWEST + 1), _refuse(errno.ENOSYS)]
        for name, block in _blocks(stat.S_ISUID if self.keeps_setgid else stat.S_ISUID | stat.S_ISGID):
            number = _COMMON_CALLS.get(name, known.calls.get(name))
            if number is not None:
                found += [(_EQUALS, 0, len(block), number), *block]
        found.append(_allow())
        return b"".join(struct.pack("=HBBI", *instruction) for instruction in found)


def filter_here(writable: Iterable[Path]) -> CallFilter | None:
    """None if calls cannot be filtered: those of this machine are not known here, or its kernel has no filters."""
    machine = os.uname().machine
    if machine not in _MACHINES or not _KERNELS_ANSWERS.exists():
        return None
    return CallFilter(machine, any(_hands_down_group(path) for path in writable))


def _hands_down_group(folder: Path) -> bool:
    """Such a folder, or the repository in it, would lose that with the first `chmod`."""
    for each in (folder, folder / ".git"):
        with contextlib.suppress(OSError):
            mode = each.stat().st_mode
            if stat.S_ISDIR(mode) and mode & stat.S_ISGID:
                return True
    return False


def _blocks(bits: int) -> Iterable[tuple[str, _Block]]:
    """What follows once the call is known; each block ends with a verdict."""
    yield from ((name, [_refuse(errno.EPERM)]) for name in _NOT_PERMITTED)
    yield from ((name, [_refuse(errno.ENOSYS)]) for name in _NOT_THERE)
    yield from ((name, _without_bits(0, _CLONE_NEWUSER)) for name in ("clone", "unshare"))
    yield "ioctl", _without_values(1, (_TIOCSTI, _TIOCLINUX))
    yield from ((name, _without_bits(1, bits)) for name in ("chmod", "fchmod", "creat", "mknod"))
    yield from ((name, _without_bits(2, bits)) for name in ("fchmodat", "fchmodat2", "mknodat"))
    yield "open", _if_creating(1, _without_bits(2, bits))
    yield "openat", _if_creating(2, _without_bits(3, bits))
    yield "socket", _socket()
    yield "socketpair", _only_values(0, (_AF_UNIX,), errno.EAFNOSUPPORT)


def _socket() -> _Block:
    netlink = [_argument(2), (_EQUALS, 1, 0, _NETLINK_ROUTE), _refuse(errno.EPROTONOSUPPORT), _allow()]
    usual = _only_values(0, (_AF_UNIX, _AF_INET, _AF_INET6), errno.EAFNOSUPPORT)
    return [_argument(0), (_EQUALS, 0, len(netlink), _AF_NETLINK), *netlink, *usual]


def _if_creating(flags: int, then: _Block) -> _Block:
    """Otherwise the mode is not read, and may be anything."""
    return [_argument(flags), (_HAS_BIT, 1, 0, _CREATES), _allow(), *then]


def _without_bits(index: int, bits: int) -> _Block:
    return [_argument(index), (_HAS_BIT, 0, 1, bits), _refuse(errno.EPERM), _allow()]


def _without_values(index: int, values: tuple[int, ...]) -> _Block:
    tests = [(_EQUALS, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [_argument(index), *tests, _allow(), _refuse(errno.EPERM)]


def _only_values(index: int, values: tuple[int, ...], answer: int) -> _Block:
    tests = [(_EQUALS, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [_argument(index), *tests, _refuse(answer), _allow()]


def _argument(index: int) -> _Instruction:
    """Its lower half: the kernel takes no more of a mode, a command or a family, so no more may be compared."""
    return _LOAD, 0, 0, _FIRST_ARGUMENT + 8 * index


def _refuse(number: int) -> _Instruction:
    return _RETURN, 0, 0, _ERRNO | number


def _allow() -> _Instruction:
    return _RETURN, 0, 0, _ALLOW
