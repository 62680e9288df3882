"""The quick search for signs, as ``sign_search.c`` says, if that was compiled and this system lets us load it.

It knows no rule: ``domain/text/secret_signs.py`` says what is searched for.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.processes.compiled_file import read_compiled
from ralph.adapters.processes.nameless_file import nameless_copy
from ralph.domain.text.secret_signs import FOLDED, Find, Sign

if TYPE_CHECKING:
    import ctypes

LIBRARY = Path(__file__).with_name("sign_search.elf")
"""Not ``.so``, which Python would take for a module."""
_FORMAT = 1
_SIGN = struct.Struct("=3B5s4H24s")
_OFTEN = b"zxjqkvwbygfpmuchdlrsnioate "
"""From rare to frequent."""


def compile_search(signs: Sequence[Sign]) -> Find | None:
    """None: this installation cannot, or they are too many or too short. Whoever searches then does so in Python."""
    library = load_library()
    if library is None:
        return None
    import ctypes

    classes = dict.fromkeys(each for sign in signs for each in (sign.before, sign.stop, sign.after) if each)
    bits = {members: 1 << number for number, members in enumerate(classes)}
    packed = b"".join(_packed(sign, bits) for sign in signs)
    tables = ctypes.create_string_buffer(_fold() + _class_table(bits), library.size_of_tables())
    if not library.prepare(tables, packed, len(signs), _frequency()):
        return None
    find_sign = library.find_sign

    def find(block: bytes, start: int) -> int:
        found: int = find_sign(tables, packed, block, len(block), start)
        return found

    return find


@cache
def load_library() -> ctypes.CDLL | None:
    """None: there is none, or it is another one."""
    library = _load()
    if library is None:
        return None
    import ctypes

    text, size = ctypes.c_char_p, ctypes.c_ssize_t
    try:
        if library.format() != _FORMAT:
            return None
        library.size_of_tables.restype = ctypes.c_size_t
        library.find_sign.argtypes, library.find_sign.restype = [text, text, text, size, size], size
        library.prepare.restype = ctypes.c_int
        return library
    except AttributeError:  # it lacks one of them
        return None


def _load() -> ctypes.CDLL | None:
    """A sealed copy: whatever an agent writes into the file of a loaded library would be run."""
    code = read_compiled(LIBRARY)
    if code is None:
        return None
    import ctypes

    try:
        copy = nameless_copy("ralph", code, must_seal=True)
        try:
            return ctypes.CDLL(f"/proc/self/fd/{copy}")
        finally:
            os.close(copy)
    except OSError:
        return None


@cache
def _fold() -> bytes:
    table = bytearray(range(256))
    for old, new in FOLDED.items():
        table[ord(old)] = ord(new)
    return bytes(table)


def _class_table(bits: Mapping[str, int]) -> bytes:
    table = [0] * 256
    for members, bit in bits.items():
        for code in members.encode("latin-1"):
            table[code] |= bit
    return struct.pack("=256H", *table)


def _packed(sign: Sign, bits: Mapping[str, int]) -> bytes:
    return _SIGN.pack(
        len(sign.literal),
        sign.is_exact,
        len(sign.then),
        sign.then.encode("latin-1"),
        bits.get(sign.before, 0),
        bits.get(sign.stop, 0),
        bits.get(sign.after, 0),
        sign.within,
        sign.literal.encode("latin-1"),
    )


@cache
def _frequency() -> bytes:
    """How often texts have each byte, roughly."""
    table = bytearray([1] * 256)
    for weight, code in enumerate(_OFTEN, start=2):
        table[code] = weight
    return bytes(table)
