"""Files without a name, for what a child is to read: nobody else can open them by a path."""

from __future__ import annotations

import contextlib
import os
import sys


def make_nameless(name: str) -> int:
    """A descriptor, in memory where that can be had, and there it can be sealed. ``name`` is what /proc shows. Raises OSError."""
    # A Python that was built for old systems, as uv's and conda's are, has no memfd_create on any kernel.
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):
            return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
