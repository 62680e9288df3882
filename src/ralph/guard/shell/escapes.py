r"""Escapes of ``$'…'``, ``echo -e`` and ``printf``: ``\n``, ``\x72``, ``\162``, ``\u0072``."""

from __future__ import annotations

import re

from ralph.guard.lazy_pattern import LazyPattern

_ESCAPE = LazyPattern(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_NAMED_ESCAPES = dict(zip("ntrabeEfv", "\n\t\r\a\b\x1b\x1b\f\v", strict=True))
NO_CHARACTER = "\ufffd"


def decode_escapes(text: str) -> str:
    return _ESCAPE.sub(_character_of, text) if "\\" in text else text


def _character_of(found: re.Match[str]) -> str:
    hexadecimal = found[1] or found[2] or found[3]
    if hexadecimal:
        return _character(int(hexadecimal, 16))
    if found[4]:
        return _character(int(found[4], 8) & 0xFF)
    if found[5]:
        return _character(ord(found[5]) & 0x1F)
    return _NAMED_ESCAPES.get(found[6], found[6])


def _character(code: int) -> str:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return NO_CHARACTER
    return chr(code)
