"""Makes foreign text harmless for a terminal, a page, a report or a file name.

What agents print comes from models, files and web pages. Unchecked it could move the cursor over our own lines,
change the window's title, fill the clipboard or reverse the direction of text. Escape sequences are dropped, other
control characters become visible, a carriage return becomes a new line instead of hiding the text before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ralph.patterns import pattern

SLUG_CHARS = 50
_BIDI_AND_SURROGATES = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_NEVER = pattern("\x1b(?!\\[[0-9;?]*[A-Za-z])|[\x07\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_HOSTILE = pattern(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI_AND_SURROGATES}]")
_HOSTILE_IN_LINE = pattern(f"[\x00-\x1f\x7f-\x9f{_BIDI_AND_SURROGATES}]")

# Linear on any input: no two parts of a sequence match the same character, and none runs into the next sequence.
_SEQUENCE = pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\Z)"  # CSI: colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, …: titles, clipboard
    r"|\x1b[ -/]*[0-~]"  # anything else that starts with ESC
)
_LINE_BREAK = pattern("\r\n?|[\u2028\u2029]")

_HARMLESS = bytes(range(0x20, 0x7F)) + b"\n\t"
_MARKED = bytes(code if code in _HARMLESS else 0 for code in range(256))
_SHORT = 64
_FEW = 256

# What the characters of _NEVER and of _HOSTILE are in UTF-8, roughly: removing all other bytes first, and only then looking
# for these, takes a sixth of the time that the patterns take for text with a mark or an emoji in it.
_WIDE = rb"\xc2|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xed"
_OF_WIDE = b"\xc2\xd8\x9c\xe2\x80\x81\x8e\x8f\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xed"
_MAY_BE_NEVER = pattern(rb"[\x07\x1b\x7f]|" + _WIDE)
_NO_PART_OF_NEVER = bytes(code for code in range(256) if code not in b"\x07\x1b\x7f" + _OF_WIDE)
_MAY_BE_HOSTILE = pattern(rb"[\x00-\x1f\x7f]|" + _WIDE)
_NO_PART_OF_HOSTILE = bytes(
    code for code in range(256) if code in _HARMLESS or (code > 0x7F and code not in _OF_WIDE)
)


def is_text(argument: str) -> bool:
    """Whether it is Unicode: Python replaces bytes of an argument that are not UTF-8 by half characters."""
    return not any("\ud800" <= character <= "\udfff" for character in argument)


def is_harmless(text: str) -> bool:
    """A quick test: true for nearly every text."""
    if text.isascii():
        # Several times as fast as the pattern: for few bytes, to mark the hostile ones; for many, to delete the harmless ones.
        if len(text) < _FEW:
            return 0 not in text.encode().translate(_MARKED)
        return not text.encode().translate(None, _HARMLESS)
    if text.replace("\n", " ").isprintable():  # nothing hostile is; and of the rest, only the tab is frequent
        return True
    if len(text) > _SHORT:
        suspects = text.encode("utf-8", "surrogatepass").translate(None, _NO_PART_OF_HOSTILE)
        if _MAY_BE_HOSTILE.search(suspects) is None:
            return True
    return _HOSTILE.search(text) is None


def clean(text: str) -> str:
    """Text of several lines; keeps newlines and tabs."""
    return text if is_harmless(text) else _clean(text)


def clean_line(text: str) -> str:
    """Text that must stay one line: a name, a command, a reason."""
    # Printable text contains nothing hostile, and this test is twice as fast.
    if text.isprintable() or _HOSTILE_IN_LINE.search(text) is None:
        return text
    return " ".join(part for part in _clean(text).replace("\t", " ").split("\n") if part)


def reveal(text: str) -> str:
    """One line in which nothing is left out: what a user must see whole before it runs."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def escape(text: str) -> str:
    """Whole output, or JSON: what turns text around, and escape sequences that ralph never uses, as ``\\u202e``."""
    suspects = text.encode("utf-8", "surrogatepass").translate(None, _NO_PART_OF_NEVER)
    if _MAY_BE_NEVER.search(suspects) is None:
        return text
    return _NEVER.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _clean(text: str) -> str:
    text = _LINE_BREAK.sub("\n", _SEQUENCE.sub("", text))
    return _HOSTILE.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def slug(command: str) -> str:
    """Runs of non-alphanumerics become one ``_``, trimmed, cut to 50: ``./mvnw clean`` → ``mvnw_clean``."""
    return re.sub(r"[^A-Za-z0-9]+", "_", command).strip("_")[:SLUG_CHARS] or "command"


def unique_slugs(commands: Iterable[str]) -> tuple[str, ...]:
    """A slug for each command, in order; a repeated one gets ``_1``, ``_2`` …

    Case does not count: on some file systems ``Make`` and ``make`` collide.
    """
    taken: set[str] = set()
    slugs: list[str] = []
    for command in commands:
        base = candidate = slug(command)
        number = 0
        while candidate.lower() in taken:
            number += 1
            candidate = f"{base}_{number}"
        taken.add(candidate.lower())
        slugs.append(candidate)
    return tuple(slugs)
