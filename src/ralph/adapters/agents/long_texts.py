"""Texts of many megabytes inside of JSON: measured piece by piece, so that they never exist twice."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Raw

from ralph.adapters.agents.excerpts import Measured, head
from ralph.adapters.agents.json_lines import UNREADABLE

LONG_LINE: Final = 1024 * 1024
"""Shorter lines are decoded whole, which is faster."""

_PIECE: Final = 1024 * 1024
_LONGEST_ESCAPE: Final = 12  # two halves of a character, \\u and four figures each

_decode_text = msgspec.json.Decoder(str).decode


def measure_long(raw: Raw) -> Measured:
    """Raises what a decoder raises if it is no text."""
    start, newlines, chars, last = "", 0, 0, ""
    for piece in _pieces(memoryview(raw)):
        start = start or head(piece)
        newlines += piece.count("\n") if "\n" in piece else 0  # to count takes ten times as long as to look
        chars += len(piece)
        last = piece[-1:] or last
    return Measured(start, newlines + (last not in ("", "\n")), chars)


def _pieces(raw: memoryview) -> Iterator[str]:
    if bytes(raw[:1]) != b'"':
        raise msgspec.ValidationError
    place, end = 1, len(raw) - 1
    while place < end:
        text, place = _piece(raw, place, end)
        yield text


def _piece(raw: memoryview, place: int, end: int) -> tuple[str, int]:
    """And where it ends. A cut through an escape, or a character of several bytes, cannot be decoded: then a little later."""
    cut = min(place + _PIECE, end)
    plain = bytes(raw[place:cut])
    if b"\\" not in plain and plain.isascii():  # data in base64, for example
        return plain.decode(), cut
    for later in range(_LONGEST_ESCAPE):
        with contextlib.suppress(*UNREADABLE):
            return _decode_text(b"".join((b'"', raw[place : cut + later], b'"'))), cut + later
        if cut + later == end:
            break
    raise msgspec.DecodeError
