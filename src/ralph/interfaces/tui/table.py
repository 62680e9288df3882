"""A table that draws only the visible rows, and leaves out columns that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from ralph.values import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """``rank`` 0 is always shown; the highest rank is left out first. Width 0 takes the room that is left."""

    title: str
    width: int
    cell: Callable[[T], Content]
    rank: int = 0
    right: bool = False


class Table(ScrollView, Generic[T], can_focus=True):
    """Rows are known by their key: the cursor stays on its row when others come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open"),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "move(-1000000000)", "First", show=False),
        Binding("end", "move(1000000000)", "Last", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"table--cursor", "table--title", "table--empty"}

    cursor: reactive[int] = reactive(0, init=False)

    class Chosen(Message):
        """The user opened a row."""

        def __init__(self, row: object) -> None:
            super().__init__()
            self.row = row

    def __init__(
        self,
        columns: Sequence[Column[T]],
        key: Callable[[T], object],
        *,
        empty: str,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._columns = columns
        self._key = key
        self.empty = empty
        self._rows: Sequence[T] = ()

    @property
    def has_rows(self) -> bool:
        return bool(self._rows)

    @property
    def current(self) -> T | None:
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    def show(self, rows: Sequence[T], *, keep_end: bool = False) -> None:
        """``keep_end``: a cursor on the last row stays on the last one."""
        was_last = keep_end and self.cursor >= len(self._rows) - 1
        key = None if self.current is None else self._key(self.current)
        self._rows = rows
        if was_last:
            place = len(rows) - 1
        else:
            place = next((number for number, row in enumerate(rows) if self._key(row) == key), self.cursor)
        self.virtual_size = Size(self.size.width, len(rows) + 1)
        self.cursor = max(0, min(place, len(rows) - 1))
        self.call_after_refresh(self._see_cursor)
        self.refresh()

    # --- moving ---

    def action_move(self, by: int) -> None:
        self.cursor = max(0, min(self.cursor + by, len(self._rows) - 1))

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.size.height - 2))

    def action_choose(self) -> None:
        if self.current is not None:
            self.post_message(self.Chosen(self.current))

    def watch_cursor(self) -> None:
        self._see_cursor()
        self.refresh()

    def _see_cursor(self) -> None:
        """The first line is always the title."""
        top, room = self.scroll_offset.y, max(1, self.size.height - 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + room:
            self.scroll_to(y=self.cursor - room + 1, animate=False, immediate=True)

    def on_click(self, event: events.Click) -> None:
        place = event.y - 1 + self.scroll_offset.y
        if event.y >= 1 and place < len(self._rows):
            was_there = place == self.cursor
            self.cursor = place
            if was_there or event.chain > 1:
                self.action_choose()

    def _on_resize(self, event: events.Resize) -> None:
        self.virtual_size = Size(self.size.width, len(self._rows) + 1)
        self._see_cursor()

    # --- drawing ---

    def _visible(self) -> list[tuple[Column[T], int]]:
        """The columns that fit, with their widths."""
        room = self.scrollable_content_region.width - 1
        chosen = list(self._columns)
        while len(chosen) > 1 and _needed(chosen) > room and max(column.rank for column in chosen) > 0:
            del chosen[max(range(len(chosen)), key=lambda place: (chosen[place].rank, place))]
        left = room - sum(column.width + 2 for column in chosen)
        return [(column, column.width or max(8, left)) for column in chosen]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            cells = [_fit(Content(column.title), size, column.right) for column, size in self._visible()]
            return self._strip(cells, self._component("table--title"), width)
        place = y - 1 + self.scroll_offset.y
        if place >= len(self._rows):
            if place == 0:
                return self._strip([Content(self.empty)], self._component("table--empty"), width)
            return Strip.blank(width, self.rich_style)
        row = self._rows[place]
        cells = [_fit(column.cell(row), size, column.right) for column, size in self._visible()]
        is_current = place == self.cursor
        style = self._component("table--cursor") if is_current and self.has_focus else self.visual_style
        return self._strip(cells, style, width, "▌" if is_current else " ")

    def _component(self, name: str) -> Style:
        return self.visual_style + self.get_visual_style(name)

    def _strip(self, cells: Sequence[Content], style: Style, width: int, mark: str = " ") -> Strip:
        text = Content(mark) + Content("  ").join(cells)
        strips = Visual.to_strips(self, text.truncate(width, pad=True), width, 1, style, pad=True)
        return strips[0] if strips else Strip.blank(width, self.rich_style)


def _needed(columns: Sequence[Column[T]]) -> int:
    return sum((column.width or 24) + 2 for column in columns)


def _fit(cell: Content, width: int, right: bool) -> Content:
    if right:
        cell = cell.truncate(width, ellipsis=True)
        return cell.pad_left(width - cell.cell_length)
    return cell.truncate(width, ellipsis=True, pad=True)
