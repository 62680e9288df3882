"""The quick search for signs of secrets, compiled: as ``sign_search.c`` says, if it was built and this system lets us load it.

It knows no rule: ``domain/text/secret_signs.py`` says what is searched for.
"""

from __future__ import annotations

import os
import struct
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.files import write_all
from ralph.adapters.processes.nameless_file import make_nameless, seal
from ralph.domain.text.masking import Find
from ralph.domain.text.secret_signs import FOLDED, SIGNS, Sign

if TYPE_CHECKING:
    import ctypes

LIBRARY = Path(__file__).with_name("libsigns.so")
_FORMAT = 1
_SIGN = struct.Struct("=4B4s4H24s")
_ELF_OF_64_BITS = b"\x7fELF\x02"
_HEADER = 64
_OFTEN = b"zxjqkvwbygfpmuchdlrsnioate "
"""From rare to frequent."""


@cache
def compiled_search() -> Find | None:
    """None: this installation has none, or the system does not load it. Whoever searches then does so in Python."""
    library = _load()
    if library is None:
        return None
    import ctypes

    if library.format() != _FORMAT:
        return None
    tables = ctypes.create_string_buffer(_fold() + _classes(), library.size_of_tables())
    signs = b"".join(map(_packed, SIGNS))
    if not library.prepare(tables, signs, len(SIGNS), _frequency()):
        return None
    find_sign = library.find_sign
    text, size = ctypes.c_char_p, ctypes.c_ssize_t
    find_sign.argtypes, find_sign.restype = [text, text, text, size, size], size

    def find(block: bytes, start: int) -> int:
        found: int = find_sign(tables, signs, block, len(block), start)
        return found

    return find


def _load() -> ctypes.CDLL | None:
    """A sealed copy: whatever an agent writes into the file of a loaded library would be run."""
    if sys.platform != "linux":
        return None
    import ctypes

    try:
        code = LIBRARY.read_bytes()
        if not _is_whole(code):
            return None
        copy = make_nameless("ralph")
        try:
            write_all(copy, code)
            seal(copy)
            return ctypes.CDLL(f"/proc/self/fd/{copy}")
        finally:
            os.close(copy)
    except OSError:
        return None


def _is_whole(code: bytes) -> bool:
    """The loader does not look, and to run what is missing ends the process. The last thing in the file is a table of sections."""
    if not code.startswith(_ELF_OF_64_BITS) or len(code) < _HEADER:
        return False
    (start,) = struct.unpack_from("=Q", code, 0x28)
    size, count = struct.unpack_from("=HH", code, 0x3A)
    return bool(start) and start + size * count <= len(code)


def _fold() -> bytes:
    table = bytearray(range(256))
    for old, new in FOLDED.items():
        table[ord(old)] = ord(new)
    return bytes(table)


@cache
def _bits() -> dict[str, int]:
    """Of each class of bytes that a sign names."""
    classes = dict.fromkeys(each for sign in SIGNS for each in (sign.before, sign.stop, sign.after) if each)
    return {members: 1 << number for number, members in enumerate(classes)}


def _classes() -> bytes:
    table = [0] * 256
    for members, bit in _bits().items():
        for code in members.encode("latin-1"):
            table[code] |= bit
    return struct.pack("=256H", *table)


def _packed(sign: Sign) -> bytes:
    bits = _bits()
    return _SIGN.pack(
        len(sign.literal),
        sign.is_exact,
        len(sign.then),
        sign.is_open,
        sign.then.encode(),
        bits.get(sign.before, 0),
        bits.get(sign.stop, 0),
        bits.get(sign.after, 0),
        sign.within,
        sign.literal.encode(),
    )


def _frequency() -> bytes:
    """How often texts have each byte, roughly."""
    table = bytearray([1] * 256)
    for weight, code in enumerate(_OFTEN, start=2):
        table[code] = weight
    return bytes(table)
