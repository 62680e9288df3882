"""Lines of the stream, and how a line is broken to the width of a screen: by cells, not by characters."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from rich.cells import cell_len

from ralph.domain.text.safe_text import clean_line

LONGEST_LINE = 2_000
TAB = "    "
OUTPUT_LINES = 4
"""Lines shown of the output of a tool or a check."""


class Kind(StrEnum):
    """What the reader can filter by."""

    WORDS = "words"
    TOOLS = "tools"
    CHECKS = "checks"
    LOOP = "loop"  #: always shown: it tells readers where they are


class Line(NamedTuple):
    """A line before it is broken. The first ``head`` characters are emphasised."""

    kind: Kind
    style: str
    text: str
    head: int = 0
    indent: int = 0
    continues: bool = False  # it continues the line before it


def bounded(text: str, most: int = LONGEST_LINE) -> str:
    """Foreign text as one harmless line."""
    return clean_line(text[:most])


def wrap(text: str, width: int, indent: int = 0) -> list[str]:
    """One line as rows of at most ``width`` cells; all but the first begin with ``indent`` spaces."""
    text = text.replace("\t", TAB)
    width = max(width, 8)
    if _fits(text, width):
        return [text]
    indent = min(indent, width // 2)
    rows: list[str] = []
    margin = ""
    while text:
        room = width - len(margin)
        if _fits(text, room):
            rows.append(margin + text)
            break
        end = max(1, _fitting(text, room))  # or it would never end
        # At a space in the second half if there is one, else in the middle of a word, as terminals do.
        space = text.rfind(" ", end // 2, end + 1)
        cut = space if space > 0 else end
        rows.append(margin + text[:cut])
        text = text[cut:].lstrip(" ") if space > 0 else text[cut:]
        margin = " " * indent
    return rows


def _fits(text: str, room: int) -> bool:
    return len(text) <= room and (text.isascii() or cell_len(text) <= room)


def _fitting(text: str, room: int) -> int:
    """How many characters fit."""
    end = min(len(text), room)
    if text[:end].isascii():
        return end
    while cell_len(text[:end]) > room:
        end -= max(1, (cell_len(text[:end]) - room) // 2)
    return end


def cut(text: str, width: int) -> str:
    """As much as fits, with an ellipsis if something is left out."""
    if width <= 0:
        return ""
    if _fits(text, width):
        return text
    return text[: _fitting(text, width - 1)] + "…" if width > 1 else "…"
