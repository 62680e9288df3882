"""Markdown as lines: what each of them is, and what people see of it. Linear on any input, and no recursion.

Enough of CommonMark to know a list from code, a quote and a comment. Where people are less strict than CommonMark (an item
below ``1.`` with two spaces), what they mean counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

from ralph.domain.tickets.hidden_markup import LABEL, Page, begins_html
from ralph.patterns import pattern
from ralph.values import dataclass, field, replace

TAB = 4
CODE_INDENT = 4
NESTED = 2
"""So many columns further in than the mark of an item, something belongs to it."""


class Kind(Enum):
    """What a line is."""

    BLANK = auto()
    HEADING = auto()
    ITEM = auto()
    TEXT = auto()
    CODE = auto()
    QUOTE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """``visible``: what people see of it; ``unseen``: what they do not. ``says``: without the marks that make it what it is.

    ``level``: of a heading, from 1; of an item, how many others it lies in; of a text, how many items. ``joins``: the
    paragraph before goes on. ``box``: what an item has between the brackets of its checkbox, empty without one, and
    ``box_at``, where that is in the line as it was written. ``is_emptied``: there was nothing to be seen in it.
    """

    number: int
    kind: Kind
    visible: str
    says: str = ""
    level: int = 0
    joins: bool = False
    box: str = ""
    box_at: int = -1
    is_emptied: bool = False
    unseen: tuple[str, ...] = ()


_FENCE = pattern(r"(`{3,})(?=[^`]*$)|(~{3,})")
_HEADING = pattern(r"(#{1,6})(?:[ \t]+|$)")
_ITEM = pattern(r"(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+|$)")
_BOX = pattern(r"\[([ xX])\](?=[ \t]|$)")
_FENCED = pattern(r"(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}(?=[^`]*$)|~{3,})[ \t]*\S*")
_RAW_HTML = pattern(r"<(?:(?:pre|script|style|textarea)(?![A-Za-z0-9-])|[?!])", re.IGNORECASE)
_RAW_END = pattern(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_UNDERLINE = pattern(r"(=+|-{2,})$")
_RULE = pattern(r"(?:\*[ \t]*){3,}$|(?:-[ \t]*){3,}$|(?:_[ \t]*){3,}$")


def read_lines(lines: Sequence[str]) -> list[Line]:
    """What each line is, in order. None of ``lines`` contains a newline."""
    reading = _Reading(lines)
    for number in range(len(lines)):
        reading.take(number)
    return reading.found


def width_of(indent: str) -> int:
    """In columns: a tab goes on to the next multiple of four."""
    return len(indent.expandtabs(TAB))


@dataclass(frozen=True, slots=True)
class _Fence:
    """``floor``: a line that begins further left has left the list item that the fence is in, and so the fence."""

    mark: str
    floor: int
    is_certain: bool

    def is_closed_by(self, stripped: str, indent: int) -> bool:
        bare = stripped.rstrip()
        return (
            bare.startswith(self.mark) and not bare.strip(self.mark[0]) and indent < self.floor + CODE_INDENT
        )


@dataclass(slots=True)
class _Reading:
    """``items``: those that the current line lies in, each as the columns of its mark and of its words.

    ``is_certain``: nothing yet that browsers may see otherwise than we do. Only then a comment in code is shown to people
    for certain; in doubt it is left out. ``unseen``: of the current line.
    """

    lines: Sequence[str]
    found: list[Line] = field(default_factory=list)
    items: list[tuple[int, int]] = field(default_factory=list)
    fence: _Fence | None = None
    in_html: bool = False
    in_raw: bool = False
    is_certain: bool = True
    unseen: tuple[str, ...] = ()
    page: Page = field(init=False)

    def __post_init__(self) -> None:
        self.page = Page(self.lines)

    # --- what people see ---

    def take(self, number: int) -> None:
        self.unseen = ()
        self._take(number)
        if self.unseen:
            self.found[-1] = replace(self.found[-1], unseen=self.unseen)

    def _take(self, number: int) -> None:
        line = self.lines[number]
        stripped = line.lstrip(" \t")
        indent = width_of(line[: len(line) - len(stripped)])
        was_hidden = self.page.hides(number)
        if self.fence and stripped and indent < self.fence.floor and not was_hidden:
            self.fence = None
        fence = self.fence
        if fence and fence.is_certain:
            self._add(number, Kind.CODE, line)
            self.fence = None if fence.is_closed_by(stripped, indent) else fence
            return
        if stripped and not was_hidden and self._is_certain_code(indent):
            self._add(number, Kind.CODE, line)
            return
        if self.page.is_footnote(number):
            self.is_certain = False  # what is indented below it is no code
        visible, self.unseen = self.page.see(
            number, is_html=self.in_html, is_sure=self.is_certain, is_fenced=fence is not None
        )
        if fence:
            self._add(number, Kind.CODE, visible)
            is_closed = fence.is_closed_by(stripped, indent) and not self.page.hides(number + 1)
            self.fence = None if is_closed else fence
            return
        if self.in_raw and _RAW_END.search(line):
            self.in_raw = False
        self._tell(number, self._without_label(visible), is_commented=was_hidden)

    def _is_certain_code(self, indent: int) -> bool:
        """Indented far, outside of any list, after a line that is blank for everyone."""
        last = self.found[-1] if self.found else None
        is_apart = last is None or last.kind is Kind.CODE or (last.kind is Kind.BLANK and not last.is_emptied)
        is_plain = self.is_certain and not self.in_html and not self.items
        return is_plain and is_apart and indent >= CODE_INDENT

    # --- what it is ---

    def _tell(self, number: int, visible: str, *, is_commented: bool) -> None:
        stripped = visible.strip(" \t")
        indent = width_of(visible[: len(visible) - len(visible.lstrip(" \t"))])
        last = self.found[-1] if self.found else None
        if not stripped:
            is_emptied = is_commented or bool(self.lines[number].strip())
            self.in_html = self.in_raw or (self.in_html and is_emptied)
            self.found.append(Line(number=number + 1, kind=Kind.BLANK, visible="", is_emptied=is_emptied))
            return
        goes_on = last is not None and last.kind in (Kind.TEXT, Kind.ITEM) and bool(last.says)
        if last and last.kind is Kind.TEXT and _UNDERLINE.match(stripped) and not self.items:
            self.found[-1] = replace(
                last, kind=Kind.HEADING, level=1 if stripped[0] == "=" else 2, joins=False
            )
            self._add(number, Kind.BLANK, visible)
        elif _RULE.match(stripped):
            self._leave(indent)
            self._add(number, Kind.BLANK, visible)
        elif self._is_code(indent, last):
            self._add(number, Kind.CODE, visible)
        elif stripped[0] == ">":
            self._leave(indent)
            self._add(number, Kind.QUOTE, visible, stripped.lstrip("> \t"))
        elif found := _HEADING.match(stripped):
            self._leave(indent)
            self._add(number, Kind.HEADING, visible, _heading(stripped[found.end() :]), len(found[1]))
        elif self._is_item(stripped, indent, goes_on=goes_on):
            self._take_item(number, visible, stripped, indent)
        elif self._opens_fence(number, stripped, indent):
            self._add(number, Kind.CODE, visible)
        elif last and last.kind is Kind.QUOTE and last.says:
            self._add(
                number, Kind.QUOTE, visible, stripped
            )  # a paragraph of a quote needs its mark only once
        else:
            if not goes_on:
                self._leave(indent)
            self._see_html(stripped)
            self._add(number, Kind.TEXT, visible, stripped, len(self.items), joins=goes_on)

    def _add(
        self, number: int, kind: Kind, visible: str, says: str = "", level: int = 0, *, joins: bool = False
    ) -> None:
        self.found.append(
            Line(number=number + 1, kind=kind, visible=visible, says=says, level=level, joins=joins)
        )

    def _leave(self, indent: int) -> None:
        """The items that a line at this column is not in."""
        while self.items and indent < min(self.items[-1][0] + NESTED, self.items[-1][1]):
            self.items.pop()

    def _is_code(self, indent: int, last: Line | None) -> bool:
        """Indented far, after a blank line or other code."""
        inside = self.items[-1][1] if self.items else 0
        is_apart = last is None or last.kind in (Kind.BLANK, Kind.CODE, Kind.HEADING)
        return is_apart and indent >= inside + CODE_INDENT

    def _is_item(self, stripped: str, indent: int, *, goes_on: bool) -> bool:
        found = _ITEM.match(stripped)
        if not found:
            return False
        if self.items:
            return True
        if indent >= CODE_INDENT:
            return False
        return not goes_on or found[1] in (None, "1")  # "in the year\n1984. That": no list

    def _take_item(self, number: int, visible: str, stripped: str, indent: int) -> None:
        while self.items and indent < self.items[-1][0] + NESTED:
            self.items.pop()
        found = _ITEM.match(stripped)
        length = found.end() if found else 0
        words = stripped[length:]
        self.items.append((indent, indent + length))
        box = _BOX.match(words)
        at = len(visible) - len(visible.lstrip(" \t")) + length + 1 if box else -1
        if at + 2 > self.page.whole_until:
            box, at = None, -1  # behind a comment: nobody would find it there
        if self._opens_fence(number, words, indent + length):
            words = ""
        self._see_html(words)
        self.found.append(
            Line(
                number=number + 1,
                kind=Kind.ITEM,
                visible=visible,
                says=words[box.end() :].strip(" \t") if box else words,
                level=len(self.items) - 1,
                box=box[1] if box else "",
                box_at=at,
            )
        )

    def _opens_fence(self, number: int, stripped: str, indent: int) -> bool:
        """Not what only looks so without what is hidden in it."""
        found = _FENCE.match(stripped)
        if not found or not _FENCED.match(self.lines[number]):
            return False
        if self.in_html:
            self.is_certain = False
            return False
        self._leave(indent)
        floor = self.items[-1][1] if self.items else 0
        is_plain = not self.items and indent == 0
        self.is_certain = self.is_certain and is_plain
        self.fence = _Fence(found[0], min(floor, indent), self.is_certain)
        return True

    def _without_label(self, visible: str) -> str:
        """Behind the fence of code and the name of its language, people see nothing."""
        found = _FENCED.match(visible)
        if not found or not visible[found.end() :].strip():
            return visible
        self.unseen += (LABEL,)
        return found[0]

    def _see_html(self, stripped: str) -> None:
        """In a block of HTML no fence begins until it ends, which is at a blank line or, of some, much later."""
        if begins_html(stripped):
            self.in_html = True
            if _RAW_HTML.match(stripped):
                self.is_certain = False
                self.in_raw = stripped[1] not in "?!" and not _RAW_END.search(stripped)


def _heading(words: str) -> str:
    """Without the marks that may close it."""
    bare = words.rstrip("#")
    return bare.strip(" \t") if not bare or bare[-1] in " \t" else words.strip(" \t")
