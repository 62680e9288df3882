"""Aligned columns: the one way to print a table. Fits a terminal's width; in a pipe nothing is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TextIO

from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.terminal import (
    Colors,
    Look,
    colors_of,
    detect_look,
    display_width,
    fit,
    is_terminal,
    marks_of,
)
from ralph.values import dataclass

GAP = "  "
NOTHING = "-"
LEAST_LAST = 16
"""The width that the last column should have before another one gives way to it."""
LEAST = 8


@dataclass(frozen=True, slots=True)
class Column:
    """On a narrow terminal the column with the highest ``rank`` gives way first; one with 0 never does.

    ``rare``: shown only if some row has a value. ``longest``: the most characters of a cell on a terminal; the last
    column takes what is left. ``folds``: continues on the next line instead of being cut.
    """

    title: str
    rank: int = 0
    rare: bool = False
    longest: int = 24
    folds: bool = False


class Cell(NamedTuple):
    """``color`` is one of ``Colors``."""

    text: str
    color: str = ""


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[Cell | str]], stream: TextIO) -> list[str]:
    """The lines to print on this stream."""
    look = detect_look(stream)
    return render_table(columns, rows, look=look, width=look.width if is_terminal(stream) else None)


def render_table(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell | str]], *, look: Look, width: int | None
) -> list[str]:
    """``width`` None: a pipe. Texts are made harmless; an empty one is shown as a dash."""
    cells = [[_harmless(cell) for cell in row] for row in rows]
    shown = [
        place
        for place, column in enumerate(columns)
        if not column.rare or any(row[place].text != NOTHING for row in cells)
    ]
    table = [[Cell(column.title, "bold") for column in columns], *cells]
    widths = {place: max(display_width(row[place].text) for row in table) for place in shown}
    if width is not None:
        widths = _allot(columns, widths, width - 1)
    colors, more = colors_of(look), marks_of(look).more
    return [line for row in table for line in _lines(columns, row, widths, colors, more)]


def _harmless(cell: Cell | str) -> Cell:
    given = cell if isinstance(cell, Cell) else Cell(cell)
    return Cell(clean_line(given.text) or NOTHING, given.color)


# --- widths ---


def _allot(columns: Sequence[Column], natural: dict[int, int], room: int) -> dict[int, int]:
    """The columns to show, and their widths."""
    last = max(natural)
    widths = {
        place: size if place == last or columns[place].folds else min(size, columns[place].longest)
        for place, size in natural.items()
    }
    wanted = dict(widths)
    wanted[last] = min(widths[last], LEAST_LAST)
    for place in sorted(widths, key=lambda place: columns[place].rank, reverse=True):
        if _total(wanted) <= room or not columns[place].rank:
            break
        del widths[place], wanted[place]
    while len(widths) > 1 and _total(dict.fromkeys(widths, 1)) > room:
        del widths[max(widths)]
    elastic = {place for place in widths if columns[place].folds} or {max(widths)}
    _shrink(widths, elastic, LEAST, room)
    _shrink(widths, set(widths), 1, room)
    return widths


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def _shrink(widths: dict[int, int], elastic: set[int], least: int, room: int) -> None:
    """The widest gives first."""
    while _total(widths) > room and (able := [place for place in elastic if widths[place] > least]):
        widths[max(able, key=lambda place: widths[place])] -= 1


# --- one row ---


def _lines(
    columns: Sequence[Column], row: Sequence[Cell], widths: dict[int, int], colors: Colors, more: str
) -> Iterator[str]:
    pieces = [
        _fold(row[place].text, width)
        if columns[place].folds
        else [fit(row[place].text, width, ellipsis=more)]
        for place, width in widths.items()
    ]
    for texts in zip_longest(*pieces, fillvalue=""):
        line = ""
        room = 0
        for (place, width), text in zip(widths.items(), texts, strict=True):
            color = getattr(colors, row[place].color) if row[place].color and text else ""
            line += f"{' ' * room}{color}{text}{colors.off if color else ''}"
            room = width - display_width(text) + len(GAP)
        yield line.rstrip()


def _fold(text: str, width: int) -> list[str]:
    """Between words, unless one is longer than a line."""
    lines = []
    while display_width(text) > width > 1:
        piece = fit(text, width, ellipsis="")
        if text[len(piece)] != " " and (space := piece.rfind(" ")) > 0:
            piece = piece[:space]
        lines.append(piece)
        text = text[len(piece) :].removeprefix(" ")
    return [*lines, fit(text, width, ellipsis="")]
