"""What the stream at hand can show: colour, emoji, a line that is redrawn in place, and how wide it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TextIO

Choice = Literal["auto", "always", "never"]

DEFAULT_WIDTH = 80

_SAMPLE = "⏺✅❌📋🔄⏸📊⏳⎿←→·…"
_C_LOCALES = ("C", "POSIX")
# Python itself sets LC_CTYPE to one of these when it finds the C locale: then it says nothing about the user.
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How to print. ``max_lines`` and ``max_chars`` bound a tool's output; None shows all of it."""

    max_lines: int | None
    max_chars: int | None
    emoji: bool = True
    color: bool = False
    timestamps: bool = False
    width: int = DEFAULT_WIDTH
    live: bool = False


def detect_look(
    stream: TextIO,
    environ: Mapping[str, str],
    *,
    max_lines: int | None,
    max_chars: int | None,
    emoji: Choice = "auto",
    color: Choice = "auto",
    timestamps: bool = False,
) -> Look:
    """The look for one stream. A flag (always, never) beats the environment, the environment beats guessing."""
    tty = is_terminal(stream)
    return Look(
        emoji=_shows_emoji(stream, environ) if emoji == "auto" else emoji == "always",
        color=_shows_color(environ, tty=tty) if color == "auto" else color == "always",
        timestamps=timestamps,
        max_lines=max_lines,
        max_chars=max_chars,
        width=terminal_width(stream),
        live=tty and not _is_dumb(environ) and not _is_set(environ, "CI"),
    )


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, OSError, ValueError):  # no stream at all, or a closed one
        return False


def same_place(one: TextIO, other: TextIO) -> bool:
    """Whether what both write ends up on one screen or in one file, as with ``2>&1``."""
    try:
        return os.path.sameopenfile(one.fileno(), other.fileno())
    except (AttributeError, OSError, ValueError):
        return one is other


def terminal_width(stream: TextIO, default: int = DEFAULT_WIDTH) -> int:
    """Columns now; asked again for each redraw because windows are resized."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return default
    return columns if columns > 0 else default


def display_width(text: str) -> int:
    """Columns a terminal needs, rather too many than too few: a status line must never wrap."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def fit(text: str, width: int, *, ellipsis: str = "…") -> str:
    """Cut to ``width`` columns, showing that something was cut."""
    if display_width(text) <= width:
        return text
    room = width - display_width(ellipsis)
    if room < 0:
        return ellipsis[: max(0, width)]
    used = 0
    for position, char in enumerate(text):
        used += _char_width(char)
        if used > room:
            return text[:position] + ellipsis
    return text  # pragma: no cover - the width above said that it does not fit


def _char_width(char: str) -> int:
    if char.isascii():
        return 1
    import unicodedata  # a library to load; most lines never need it

    if char == "\ufe0f":  # asks for the emoji form of the character before, which is then two wide
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _shows_color(environ: Mapping[str, str], *, tty: bool) -> bool:
    if environ.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        if value := environ.get(name):
            return value.lower() not in ("0", "false")
    if environ.get("CLICOLOR") == "0":
        return False
    return tty and not _is_dumb(environ)


def _shows_emoji(stream: TextIO, environ: Mapping[str, str]) -> bool:
    # The Linux text console has UTF-8 but no such glyphs.
    if environ.get("TERM") == "linux" or _is_c_locale(environ):
        return False
    encoding = getattr(stream, "encoding", None)
    if not encoding:
        return True  # a buffer in memory takes any character
    try:
        _SAMPLE.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _is_c_locale(environ: Mapping[str, str]) -> bool:
    """Whether the user asked for the C locale. Saying nothing is not asking: then the encoding decides."""
    if name := environ.get("LC_ALL"):
        return name in _C_LOCALES
    if (name := environ.get("LC_CTYPE")) and name not in _COERCED:
        return name in _C_LOCALES
    return environ.get("LANG") in _C_LOCALES


def _is_dumb(environ: Mapping[str, str]) -> bool:
    term = environ.get("TERM", "")
    return term == "dumb" or (not term and os.name != "nt")


def _is_set(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").lower() not in ("", "0", "false")
