"""The filter of system calls, run by a small machine as the kernel would, for each processor that we know."""

from __future__ import annotations

import errno
import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.isolation.seccomp import CallFilter

ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED = 0
WORDS = st.integers(0, 2**64 - 1)


def answer(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """The error number that the call gets; 0 if it goes through."""
    padded = [argument & (2**64 - 1) for argument in (*arguments, *[0] * 6)][:6]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0, *padded)
    instructions = list(struct.iter_unpack("=HBBI", program))
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = instructions[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return (
                    operand & 0xFFFF if operand >> 16 == 0x0005 else ALLOWED if operand == 0x7FFF0000 else -1
                )
            case _:
                pytest.fail(f"no such instruction: {code:#x}")


@pytest.mark.parametrize("machine", ARCH)
@given(
    number=st.integers(0, 2**32 - 1) | st.integers(0, 500), arguments=st.lists(WORDS, min_size=6, max_size=6)
)
def test_every_call_gets_a_verdict(machine: str, number: int, arguments: list[int]) -> None:
    program = CallFilter(machine).program
    assert answer(program, ARCH[machine], number, *arguments) in (
        *(ALLOWED, errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT),
    )
    for other in {*ARCH.values(), 0x40000003, 0x40000028} - {ARCH[machine]}:
        assert answer(program, other, number, *arguments) == errno.EPERM
    if number > 469:
        assert answer(program, ARCH[machine], number, *arguments) == errno.ENOSYS


CREATING, READING = os.O_CREAT | os.O_WRONLY, os.O_RDONLY
CALLS: dict[str, tuple[int, int | None, tuple[int, ...], int]] = {  # x86_64, aarch64; arguments; answer
    "read": (0, 63, (0, 0, 0), ALLOWED),
    "chmod": (90, None, (0, 0o755), ALLOWED),
    "chmod setuid": (90, None, (0, 0o4755), errno.EPERM),
    "fchmod": (91, 52, (0, 0o1777), ALLOWED),
    "fchmod setuid": (91, 52, (0, 0o4000), errno.EPERM),
    "fchmod setgid": (91, 52, (0, 0o2755), errno.EPERM),
    "fchmodat setuid": (268, 53, (0, 0, 0o4755), errno.EPERM),
    "fchmodat2 setuid": (452, 452, (0, 0, 0o4755, 0), errno.EPERM),
    "open to read, any mode": (2, None, (0, READING, 0o7777), ALLOWED),
    "open a new setuid file": (2, None, (0, CREATING, 0o4755), errno.EPERM),
    "openat to read, any mode": (257, 56, (0, 0, READING, 0o7777), ALLOWED),
    "openat a new file": (257, 56, (0, 0, CREATING, 0o666), ALLOWED),
    "openat a new setuid file": (257, 56, (0, 0, CREATING, 0o4755), errno.EPERM),
    "openat a nameless setuid file": (257, 56, (0, 0, 0o20000002, 0o4755), errno.EPERM),
    "mknodat a pipe": (259, 33, (0, 0, 0o010644, 0), ALLOWED),
    "mknodat a setuid file": (259, 33, (0, 0, 0o104755, 0), errno.EPERM),
    "clone a process": (56, 220, (17, 0, 0, 0, 0), ALLOWED),
    "clone a thread": (56, 220, (0x3D0F00, 0, 0, 0, 0), ALLOWED),
    "clone a user namespace": (56, 220, (0x10000011, 0, 0, 0, 0), errno.EPERM),
    "unshare the folder": (272, 97, (0x200,), ALLOWED),
    "unshare a user namespace": (272, 97, (0x10020000,), errno.EPERM),
    "socket": (41, 198, (2, 1, 6), ALLOWED),
    "socket, family with high bits": (41, 198, (1 << 32 | 40, 1, 0), errno.EAFNOSUPPORT),
    "socket of a virtual machine": (41, 198, (40, 1, 0), errno.EAFNOSUPPORT),
    "socket of addresses": (41, 198, (16, 3, 0), ALLOWED),
    "socket of netfilter": (41, 198, (16, 3, 12), errno.EPROTONOSUPPORT),
    "socketpair": (53, 199, (1, 1, 0), ALLOWED),
    "ioctl of a terminal": (16, 29, (0, 0x5413, 0), ALLOWED),
    "ioctl that types": (16, 29, (0, 7 << 32 | 0x5412, 0), errno.EPERM),
    "ioctl that pastes": (16, 29, (0, 0x541C, 0), errno.EPERM),
    "keyctl": (250, 219, (0,), errno.EPERM),
    "io_uring_setup": (425, 425, (1, 0), errno.EPERM),
    "openat2": (437, 437, (0,), errno.ENOSYS),
    "seccomp": (317, 277, (1, 0, 0), ALLOWED),
    "landlock_create_ruleset": (444, 444, (0, 0, 0), ALLOWED),
    "ptrace": (101, 117, (0,), ALLOWED),
}  # fmt: skip


@pytest.mark.parametrize(("column", "machine"), [*enumerate(ARCH)])
@pytest.mark.parametrize("name", CALLS)
def test_calls_are_judged_by_what_they_ask_for(name: str, column: int, machine: str) -> None:
    on_x86, on_arm, arguments, expected = CALLS[name]
    number = (on_x86, on_arm)[column]
    if number is not None:
        assert answer(CallFilter(machine).program, ARCH[machine], number, *arguments) == expected


@pytest.mark.parametrize(("column", "machine"), [*enumerate(ARCH)])
def test_a_folder_may_hand_down_its_group_where_that_is_kept(column: int, machine: str) -> None:
    program = CallFilter(machine, keeps_setgid=True).program
    fchmod = (91, 52)[column]
    assert answer(program, ARCH[machine], fchmod, 0, 0o2775) == ALLOWED
    assert answer(program, ARCH[machine], fchmod, 0, 0o6775) == errno.EPERM
