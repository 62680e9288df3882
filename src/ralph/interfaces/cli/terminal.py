"""How to print on a stream: what it can show, how wide it is, and the marks, colours and times of its lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TextIO

from ralph.values import dataclass

if TYPE_CHECKING:
    from datetime import tzinfo

    from ralph.config.schema import OutputSettings

Choice = Literal["auto", "always", "never"]

DEFAULT_WIDTH = 80

_SAMPLE = "⏺✅❌📋🔄⏸📊⏳⎿←→·…"
_C_LOCALES = ("C", "POSIX")
# Python itself sets LC_CTYPE to one of these in the C locale: then it says nothing about the user.
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
    folds: bool = False  # long lines break between words


def detect_look(
    stream: TextIO,
    environ: Mapping[str, str] = os.environ,
    *,
    max_lines: int | None = None,
    max_chars: int | None = None,
    emoji: Choice = "auto",
    color: Choice = "auto",
    timestamps: bool = False,
) -> Look:
    """The look for one stream: a choice (always, never) beats the environment, which beats guessing."""
    tty = is_terminal(stream)
    return Look(
        emoji=_shows_emoji(stream, environ) if emoji == "auto" else emoji == "always",
        color=_shows_color(environ, tty=tty) if color == "auto" else color == "always",
        timestamps=timestamps,
        max_lines=max_lines,
        max_chars=max_chars,
        width=terminal_width(stream),
        folds=tty,
        live=tty and not _is_dumb(environ) and not _is_set(environ, "CI"),
    )


def look_for(stream: TextIO, output: OutputSettings) -> Look:
    """As the settings say."""
    return detect_look(
        stream,
        emoji=output.emoji.value,
        color=output.color.value,
        timestamps=output.timestamps,
        max_lines=output.max_lines,
        max_chars=output.max_chars,
    )


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, OSError, ValueError):  # no stream at all, or a closed one
        return False


def same_place(one: TextIO, other: TextIO) -> bool:
    """Whether both write to one screen or file, as with ``2>&1``."""
    try:
        return os.path.sameopenfile(one.fileno(), other.fileno())
    except (AttributeError, OSError, ValueError):
        return one is other


def terminal_width(stream: TextIO, default: int = DEFAULT_WIDTH) -> int:
    """The columns now: windows are resized."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return default
    return columns if columns > 0 else default


def display_width(text: str) -> int:
    """Columns on a terminal; rather too many than too few, as a status line must never wrap."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def fit(text: str, width: int, *, ellipsis: str = "…") -> str:
    """Cut to ``width`` columns, marking the cut."""
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
    return text  # pragma: no cover - it does not fit


_DRAWN = "─·…"
"""What our own lines consist of."""


def _char_width(char: str) -> int:
    if char.isascii() or char in _DRAWN:
        return 1
    import unicodedata  # a library to load; most lines never need it

    if char == "\ufe0f":  # makes the character before it an emoji, which is two wide
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
    # The Linux text console has UTF-8 but no emoji.
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
    """Whether the user asked for the C locale. If no variable is set, the encoding decides."""
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


# --- marks and colours ---


@dataclass(frozen=True, slots=True)
class Marks:
    ok: str = "✅"
    error: str = "❌"
    warning: str = "⚠"
    tool: str = "⏺"
    run: str = "▶"
    wait: str = "⏳"
    again: str = "🔄"
    stop: str = "⏹"
    todo: str = "📋"
    todo_done: str = "✅"
    todo_active: str = "🔄"
    todo_pending: str = "⏸️"
    progress: str = "📊 "
    left: str = "←"
    right: str = "→"
    branch: str = "⎿"
    more: str = "…"
    dot: str = "·"
    rule: str = "─"


EMOJI = Marks()
ASCII = Marks(
    ok="[OK]",
    error="[ERR]",
    warning="[WARN]",
    tool="[TOOL]",
    run="[RUN]",
    wait="[WAIT]",
    again="[NEXT]",
    stop="[STOP]",
    todo="[TODO]",
    todo_done="[x]",
    todo_active="[>]",
    todo_pending="[ ]",
    progress="",
    left="<-",
    right="->",
    branch="|_",
    more="...",
    dot="-",
    rule="-",
)


@dataclass(frozen=True, slots=True)
class Colors:
    """SGR sequences; all empty when there is no colour."""

    bold: str = ""
    dim: str = ""
    red: str = ""
    green: str = ""
    yellow: str = ""
    cyan: str = ""
    off: str = ""


PLAIN = Colors()
ANSI = Colors(
    bold="\x1b[1m",
    dim="\x1b[2m",
    red="\x1b[31m",
    green="\x1b[32m",
    yellow="\x1b[33m",
    cyan="\x1b[36m",
    off="\x1b[0m",
)


def marks_of(look: Look) -> Marks:
    return EMOJI if look.emoji else ASCII


def colors_of(look: Look) -> Colors:
    return ANSI if look.color else PLAIN


# --- times ---


class Timestamps:
    """The ``[HH:MM:SS]`` in front of each line. ``zone`` None: the machine's own."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._second = -1
        self._prefix = ""

    def clock_time(self, at: float, *, beside: float | None = None) -> str:
        """14:05:00, with the date if it is not the day of ``beside``."""
        from datetime import datetime

        try:
            moment = datetime.fromtimestamp(at, tz=self._zone)
        except (OverflowError, ValueError, OSError):  # agents report any number
            return "an unknown time"
        if beside is not None and datetime.fromtimestamp(beside, tz=self._zone).date() != moment.date():
            return moment.strftime("%Y-%m-%d %H:%M:%S")
        return moment.strftime("%H:%M:%S")

    def stamp(self, text: str, at: float, *, inside_line: bool = False) -> str:
        """Prefix every line; ``inside_line``: the text continues a line that already has its prefix."""
        if int(at) != self._second:  # cached: a flood of lines shares one second
            self._second = int(at)
            self._prefix = f"[{self.clock_time(at)}] "
        ends_open = not text.endswith("\n")
        stamped = (text if ends_open else text[:-1]).replace("\n", "\n" + self._prefix)
        return ("" if inside_line else self._prefix) + stamped + ("" if ends_open else "\n")
