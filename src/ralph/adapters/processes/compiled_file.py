"""What ``hatch_build.py`` has compiled, where it could: each is optional, and stands beside its source as ``<name>.elf``."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

_ELF_OF_64_BITS = b"\x7fELF\x02"
_HEADER = 64


def read_compiled(file: Path) -> bytes | None:
    """None: there is none for this system, or only a part of it."""
    if sys.platform != "linux":
        return None
    try:
        code = file.read_bytes()
    except OSError:
        return None
    return code if _is_whole(code) else None


def _is_whole(code: bytes) -> bool:
    """Loaders do not ask, and code that is missing crashes when it is run. Linkers put a table of sections last."""
    if not code.startswith(_ELF_OF_64_BITS) or len(code) < _HEADER:
        return False
    (start,) = struct.unpack_from("=Q", code, 0x28)
    size, count = struct.unpack_from("=HH", code, 0x3A)
    return bool(start) and start + size * count <= len(code)
