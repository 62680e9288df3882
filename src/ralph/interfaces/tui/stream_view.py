"""The stream of a run: a window of lines that follows the end, or stays where the reader is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ralph.interfaces.tui.lines import Kind, Line, cut, wrap

MOST_LINES = 6_000
"""Lines kept; earlier ones are read again when the reader scrolls there."""
SOME_LINES = 4_000
NEAR_THE_TOP = 3
LONGEST_JOINED = 20_000
"""Characters after which a line that comes in pieces is broken: an agent may never end it."""

STYLES = ("text", "heading", "dim", "thought", "tool", "good", "bad", "warn", "claim", "rule")
KINDS = (None, Kind.WORDS, Kind.TOOLS, Kind.CHECKS)


class _Row(NamedTuple):
    style: str
    text: str
    head: int


class StreamView(ScrollView, can_focus=True):
    """Draws only what is visible."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "follow", "Follow"),
        Binding("v", "next_kind", "View"),
        Binding("end", "follow", "Follow", show=False),
        Binding("home", "scroll_home", "Top", show=False),
        Binding("up,k", "scroll_up", "Up", show=False),
        Binding("down,j", "scroll_down", "Down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"stream--{style}" for style in STYLES} | {"stream--head"}

    class OlderWanted(Message):
        """The reader reached the top."""

    class Moved(Message):
        """It follows or stopped following, or shows other kinds of lines."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (textual's name)
        super().__init__(id=id)
        self.following = True
        self.shown_kind: Kind | None = None
        self.sought = ""
        self.was_cut = False  # the newest lines were dropped: the reader is far above them
        self._lines: list[Line] = []
        self._counts: list[int] = []  # rows of each line
        self._rows: list[_Row] = []
        self._width = 0
        self._rich_styles: dict[str, RichStyle] = {}

    # --- lines ---

    @property
    def is_empty(self) -> bool:
        return not self._lines

    def clear(self) -> None:
        self._lines.clear()
        self._counts.clear()
        self._rows.clear()
        self.was_cut = False
        self._update_size()
        self.scroll_to(0, 0, animate=False, immediate=True)

    def add(self, lines: Sequence[Line]) -> None:
        """At the end."""
        if not lines:
            return
        for line in lines:
            self._add(line)
        if self.following and len(self._lines) > MOST_LINES:
            surplus = len(self._lines) - SOME_LINES
            del self._rows[: sum(self._counts[:surplus])]
            del self._lines[:surplus], self._counts[:surplus]
        self._update_size()
        if self.following:
            self._scroll_to_end()

    def add_before(self, lines: Sequence[Line]) -> None:
        """At the beginning; the visible lines stay where they are."""
        if not lines:
            return
        at = self.scroll_offset.y
        laid = [self._rows_of(line) for line in lines]
        rows = [row for each in laid for row in each]
        self._lines[:0] = lines
        self._counts[:0] = [len(each) for each in laid]
        self._rows[:0] = rows
        if len(self._lines) > 2 * MOST_LINES:
            del self._lines[2 * MOST_LINES :], self._counts[2 * MOST_LINES :]
            del self._rows[sum(self._counts) :]
            self.was_cut = True
        self._update_size()
        self.scroll_to(y=at + len(rows), animate=False, immediate=True)

    def _add(self, line: Line) -> None:
        if line.continues and self._lines and len(self._lines[-1].text) < LONGEST_JOINED:
            last = self._lines.pop()
            line = last._replace(text=last.text + line.text)
            if count := self._counts.pop():
                del self._rows[-count:]
        rows = self._rows_of(line)
        self._lines.append(line)
        self._counts.append(len(rows))
        self._rows += rows

    def _rows_of(self, line: Line) -> list[_Row]:
        """No rows if the line is filtered out."""
        if not self._is_wanted(line):
            return []
        width = max(self._width, 20)
        if line.style == "rule":
            label = cut(f"── {line.text} ", width)
            return [_Row(line.style, label + "─" * (width - cell_len(label)), line.head)]
        first, *rest = wrap(line.text, width, line.indent)
        return [_Row(line.style, first, line.head), *(_Row(line.style, row, 0) for row in rest)]

    def _lay_out(self) -> None:
        laid = [self._rows_of(line) for line in self._lines]
        self._counts = [len(each) for each in laid]
        self._rows = [row for each in laid for row in each]

    def _is_wanted(self, line: Line) -> bool:
        if self.shown_kind is not None and line.kind not in (self.shown_kind, Kind.LOOP):
            return False
        return not self.sought or line.style == "rule" or self.sought in line.text.casefold()

    def _update_size(self) -> None:
        self.virtual_size = Size(self._width, len(self._rows))
        self.refresh()

    # --- choosing ---

    def seek(self, text: str) -> None:
        """Show only lines with this text; empty shows all."""
        self.sought = text.casefold().strip()
        self._show_again()

    def action_next_kind(self) -> None:
        self.shown_kind = KINDS[(KINDS.index(self.shown_kind) + 1) % len(KINDS)]
        self._show_again()

    def _show_again(self) -> None:
        self._lay_out()
        self._update_size()
        if self.following:
            self._scroll_to_end()
        self.post_message(self.Moved())

    # --- moving ---

    def _scroll_to_end(self) -> None:
        self.scroll_end(animate=False, immediate=True, x_axis=False)

    def action_follow(self) -> None:
        self.following = True
        self._scroll_to_end()
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        at_end = new_value >= self.max_scroll_y
        if (new_value > old_value if at_end else new_value < old_value) and at_end is not self.following:
            self.following = at_end
            self.post_message(self.Moved())
        if new_value <= NEAR_THE_TOP and new_value < old_value:
            self.post_message(self.OlderWanted())

    def _on_resize(self, event: events.Resize) -> None:
        width = self.scrollable_content_region.width
        if width != self._width:
            self._width = width
            self._lay_out()
            self._update_size()
        if self.following:
            self._scroll_to_end()

    # --- drawing ---

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._rich_styles.clear()

    def _look(self, name: str) -> RichStyle:
        if name not in self._rich_styles:
            self._rich_styles[name] = self.get_component_rich_style(f"stream--{name}")
        return self._rich_styles[name]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        number = y + self.scroll_offset.y
        if number >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        row = self._rows[number]
        style = self._look(row.style)
        head, rest = row.text[: row.head], row.text[row.head :]
        segments = [Segment(head, style + RichStyle(bold=True))] if head else []
        return Strip([*segments, Segment(rest, style)]).adjust_cell_length(width, self.rich_style)
