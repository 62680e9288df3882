"""The signs in front of lines, as emoji or in plain ASCII, and the colours."""

from __future__ import annotations

from typing import NamedTuple

from ralph.interfaces.cli.console.terminal import Look


class Marks(NamedTuple):
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


class Colors(NamedTuple):
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
