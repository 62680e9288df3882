"""Files without a name, for what a child is to read: nobody else can open them by a path."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from ralph.adapters.files import write_all

_MFD_EXEC = 0x10
"""Of Linux 6.3 and newer, where an administrator may say that other files in memory are not run (``vm.memfd_noexec``)."""


def make_nameless(name: str, *, is_program: bool = False) -> int:
    """A descriptor, in memory where that can be had, and there it can be sealed. ``name`` is what /proc shows. Raises OSError.

    ``is_program``: it is to be run, which a system may refuse.
    """
    # A Python that was built for old systems, as uv's and conda's are, has no memfd_create on any kernel.
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        for more in (_MFD_EXEC, 0) if is_program else (0,):
            with contextlib.suppress(OSError):
                return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING | more)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def nameless_copy(name: str, content: bytes, *, is_program: bool = False) -> int:
    """A descriptor of this content, from its beginning, which nobody can change where files can be sealed. Raises OSError."""
    descriptor = make_nameless(name, is_program=is_program)
    try:
        write_all(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        with contextlib.suppress(OSError):
            seal(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def seal(descriptor: int) -> None:
    """Nobody can change it any more. Raises OSError where that cannot be had: of a file of a file system, for example."""
    import fcntl

    if sys.platform != "linux" or not hasattr(fcntl, "F_ADD_SEALS"):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
