"""What to do with a line that the typed decoder refuses: repair it, or say what it is."""

from __future__ import annotations

import json

import msgspec

from ralph.adapters.agents.excerpts import MAX_OUTPUT_CHARS
from ralph.domain.agent.events import AgentEvent, Noise, Unknown
from ralph.patterns import pattern

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Everything a msgspec decoder raises on bad input; a wrong type (ValidationError) is a DecodeError too."""


class Kind(msgspec.Struct, gc=False):
    """Only the names of an event, whatever else it holds."""

    type: str = ""
    subtype: str = ""


LONGEST_REPAIR = 4 * 1024 * 1024
DEEPEST_REPAIR = 500
"""Levels of nesting. How many the decoders can take differs between releases of Python."""

_BLANKS = b" \t\n\r"
"""What JSON allows before an object."""

# The end of a string is optional, so that one without an end is looked through once.
_STRING_OR_BRACKET = pattern(rb'"[^"]*"?|[][{}]')

decode_kind = msgspec.json.Decoder(Kind).decode


def repair(line: bytes) -> bytes | None:
    """The same object as clean JSON, or None if it is not an object at all.

    Agents written in JavaScript cut strings in the middle of a surrogate pair, and tools print bytes that are
    no UTF-8. The standard library reads both; what cannot be said in UTF-8 becomes a question mark.
    """
    if not line.lstrip(_BLANKS).startswith(b"{"):
        return None  # as most of what is no event: to read it as JSON would take longer than all else
    if len(line) > LONGEST_REPAIR or _is_too_deep(line):
        return None  # as Python objects it would take many times its size
    try:
        value = json.loads(line.decode("utf-8", "replace"))
        if not isinstance(value, dict):
            return None
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None


def _is_too_deep(line: bytes) -> bool:
    if line.count(b"[") + line.count(b"{") <= DEEPEST_REPAIR:
        return False
    depth = 0
    without_escapes = line.replace(rb"\\", b"").replace(rb"\"", b"")
    for found in _STRING_OR_BRACKET.finditer(without_escapes):
        if found[0] in b"[{":
            depth += 1
            if depth > DEEPEST_REPAIR:
                return True
        elif found[0] in b"]}":
            depth -= 1
    return False


def noise(line: bytes) -> Noise:
    """A line that is no event. One that begins like an object was cut: its end is missing."""
    text = line[: 4 * MAX_OUTPUT_CHARS].decode("utf-8", "replace")[:MAX_OUTPUT_CHARS]
    return Noise(text, torn=text.lstrip().startswith('{"'))


def unknown(line: bytes, *, within: str = "", type_: str = "") -> AgentEvent:
    """An object whose type (``type_``, if the parser read it already), or whose shape, we do not know; perhaps a part of
    another."""
    has_words = _has_words(line)
    try:
        kind = Kind(type_) if type_ else decode_kind(line)
    except UNREADABLE:
        return Unknown(within, has_words)
    return Unknown("/".join(name for name in (within, kind.type, kind.subtype) if name), has_words)


def _has_words(line: bytes) -> bool:
    """Whether some text in it is more than one word, or a tag: names, ids, paths and times are not."""
    if len(line) > LONGEST_REPAIR or _is_too_deep(line):
        return False
    try:
        left = [json.loads(line)]
    except (ValueError, RecursionError):
        return False
    while left:
        value = left.pop()
        if isinstance(value, str):
            if "<" in value or len(value.split(None, 1)) > 1:
                return True
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
    return False
