"""Files without a name, for what a child is to read: nobody else can open them by a path."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from ralph.adapters.files import write_all

# Linux's own numbers: a Python that was built for old systems, as many of uv's and conda's were, has no names for them.
_MFD_CLOEXEC, _MFD_ALLOW_SEALING = 0x1, 0x2
_MFD_EXEC = 0x10
"""Of Linux 6.3 and newer, where an administrator may say that other files in memory are not run (``vm.memfd_noexec``)."""
_F_ADD_SEALS = 1033
_F_SEAL_SEAL, _F_SEAL_SHRINK, _F_SEAL_GROW, _F_SEAL_WRITE = 0x1, 0x2, 0x4, 0x8


def make_nameless(name: str, *, is_program: bool = False) -> int:
    """A descriptor, in memory where that can be had, and there it can be sealed. ``name`` is what /proc shows. Raises OSError.

    ``is_program``: it is to be run, which a system may refuse.
    """
    if sys.platform == "linux":
        for more in (_MFD_EXEC, 0) if is_program else (0,):
            with contextlib.suppress(OSError):
                return _create_in_memory(name, _MFD_CLOEXEC | _MFD_ALLOW_SEALING | more)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _create_in_memory(name: str, flags: int) -> int:
    """Raises OSError."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name, flags)
    import ctypes

    try:
        create = ctypes.CDLL(None, use_errno=True).memfd_create
    except AttributeError as error:  # the system's library is too old as well
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
    descriptor: int = create(os.fsencode(name), flags)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def nameless_copy(name: str, content: bytes, *, is_program: bool = False, must_seal: bool = False) -> int:
    """A descriptor of this content, from its beginning, which nobody can change where files can be sealed. Raises OSError,
    with ``must_seal`` also where they cannot."""
    descriptor = make_nameless(name, is_program=is_program)
    try:
        write_all(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            seal(descriptor)
        except OSError:
            if must_seal:
                raise
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def seal(descriptor: int) -> None:
    """Nobody can change it any more. Raises OSError where that cannot be had: of a file of a file system, for example."""
    import fcntl

    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    fcntl.fcntl(descriptor, _F_ADD_SEALS, _F_SEAL_SEAL | _F_SEAL_SHRINK | _F_SEAL_GROW | _F_SEAL_WRITE)
