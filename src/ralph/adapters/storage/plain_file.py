"""Reading a file that somebody else may have put there: never waits, never reads more than was asked for."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_plain(path: Path, most: int) -> bytes:
    """At most so many bytes. Raises OSError if it cannot be read, or is a pipe or a device: one could wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a plain file")
        return file.read(most)
