"""Swimlanes: cards by stage, side by side. Draws only the visible cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from ralph.domain.text.figures import plural
from ralph.domain.views.board import Board, Card, CardKind, Lane
from ralph.interfaces.tui.lines import wrap
from ralph.interfaces.tui.marks import DIM, dim, line
from ralph.values import replace

CARD_HEIGHT = 5
"""Border, two lines of title, one of figures, border."""
NARROWEST = 20
FOLDED = 3
"""Width of an empty lane: its name is written downwards."""
HEAD = 2
EMPTY = (
    "",
    "no tasks and no plan here yet",
    "`ralph task add -f tasks.yaml` adds tasks",
    "`ralph plan new --name NAME` starts a plan",
)

_LANE_STYLES = {
    **dict.fromkeys(("done", "approved", "accepted"), "$text-success"),
    "failed": "$text-error",
    "changes_requested": "$text-warning",
    "cancelled": DIM,
}
_STATUS_LOOKS = {
    "working": ("●", "$text-success"),
    "ready": ("○", "$text-primary"),
    "waiting": ("◔", "$text-warning"),
    "blocked": ("✘", "$text-error"),
    **dict.fromkeys(("accepted", "done", "passes"), ("✔", "$text-success")),
    "failed": ("✘", "$text-error"),
    "cancelled": ("■", DIM),
}


class BoardView(Widget, can_focus=True):
    """One board. The cursor stays on its card, known by its id."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open"),
        Binding("left,h", "across(-1)", "Left", show=False),
        Binding("right,l", "across(1)", "Right", show=False),
        Binding("up,k", "along(-1)", "Up", show=False),
        Binding("down,j", "along(1)", "Down", show=False),
        Binding("pageup", "along(-3)", "Page up", show=False),
        Binding("pagedown", "along(3)", "Page down", show=False),
    ]

    class Chosen(Message):
        """The user opened a card."""

        def __init__(self, card: Card) -> None:
            super().__init__()
            self.card = card

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (textual's name)
        super().__init__(id=id)
        self._board: Board | None = None
        self._lane = 0
        self._places: dict[str, int] = {}  # lane → card under the cursor
        self._tops: dict[str, int] = {}  # lane → first card that is visible
        self._left = 0  # first lane that is visible
        self.sought = ""
        self.names: Mapping[str, str] = {}  # of projects, by their keys, if there are several

    # --- content ---

    def show(self, board: Board | None) -> None:
        current = self.current
        self._board = board if board is None else _filter_board(board, self.sought)
        if current is not None and self._board is not None:
            self._find(current)
        if not self._cards():
            self._lane = next((n for n, lane in enumerate(self._lanes) if lane.cards), self._lane)
        self._lane = max(0, min(self._lane, len(self._lanes) - 1))
        self._see_cursor()
        self.refresh()

    def _find(self, wanted: Card) -> None:
        for number, lane in enumerate(self._lanes):
            for place, card in enumerate(lane.cards):
                if (card.project, card.id) == (wanted.project, wanted.id):
                    self._lane, self._places[lane.key] = number, place
                    return

    @property
    def _lanes(self) -> tuple[Lane, ...]:
        return self._board.lanes if self._board is not None else ()

    def _cards(self) -> tuple[Card, ...]:
        return self._lanes[self._lane].cards if self._lane < len(self._lanes) else ()

    @property
    def current(self) -> Card | None:
        cards = self._cards()
        if not cards:
            return None
        return cards[min(self._places.get(self._lanes[self._lane].key, 0), len(cards) - 1)]

    # --- moving ---

    def action_across(self, by: int) -> None:
        """To the next lane that has cards."""
        place = self._lane + by
        while 0 <= place < len(self._lanes) and not self._lanes[place].cards:
            place += by
        if 0 <= place < len(self._lanes):
            self._lane = place
        self._see_cursor()
        self.refresh()

    def action_along(self, by: int) -> None:
        cards = self._cards()
        if cards:
            key = self._lanes[self._lane].key
            self._places[key] = max(0, min(self._places.get(key, 0) + by, len(cards) - 1))
            self._see_cursor()
            self.refresh()

    def action_choose(self) -> None:
        if self.current is not None:
            self.post_message(self.Chosen(self.current))

    def _room(self) -> int:
        return max(1, (self.size.height - HEAD) // CARD_HEIGHT)

    def _see_cursor(self) -> None:
        if self._lane >= len(self._lanes):
            return
        lane = self._lanes[self._lane]
        place = min(self._places.get(lane.key, 0), max(0, len(lane.cards) - 1))
        self._places[lane.key] = place
        top = self._tops.get(lane.key, 0)
        self._tops[lane.key] = max(min(top, place), place - self._room() + 1)
        self._left = min(self._left, self._lane)
        while self._left < self._lane and self._lane not in {number for number, *_ in self._spread()}:
            self._left += 1

    def on_click(self, event: events.Click) -> None:
        found = self._card_at(event.x, event.y)
        if found is None:
            return
        lane, place = found
        was_there = lane == self._lane and self._places.get(self._lanes[lane].key, 0) == place
        self._lane, self._places[self._lanes[lane].key] = lane, place
        self.refresh()
        if was_there or event.chain > 1:
            self.action_choose()

    def _card_at(self, x: int, y: int) -> tuple[int, int] | None:
        for number, start, width in self._spread():
            if start <= x < start + width and y >= HEAD:
                lane = self._lanes[number]
                place = (y - HEAD) // CARD_HEIGHT + self._tops.get(lane.key, 0)
                return (number, place) if place < len(lane.cards) else None
        return None

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(event.x, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(event.x, -1)

    def _scroll(self, x: int, by: int) -> None:
        for number, start, width in self._spread():
            if start <= x < start + width:
                lane = self._lanes[number]
                most = max(0, len(lane.cards) - self._room())
                self._tops[lane.key] = max(0, min(self._tops.get(lane.key, 0) + by, most))
                self.refresh()

    def on_resize(self) -> None:
        self._see_cursor()

    # --- drawing ---

    def _spread(self) -> list[tuple[int, int, int]]:
        """The visible lanes: number, first column, width."""
        lanes = list(enumerate(self._lanes))[self._left :]
        chosen: list[int] = []
        used = 0
        for number, lane in lanes:
            need = NARROWEST if lane.cards else FOLDED
            if chosen and used + need > self.size.width:
                break
            chosen.append(number)
            used += need
        wide = [number for number in chosen if self._lanes[number].cards] or chosen
        extra, rest = divmod(max(0, self.size.width - used), len(wide)) if wide else (0, 0)
        spread: list[tuple[int, int, int]] = []
        start = 0
        for number in chosen:
            width = NARROWEST if self._lanes[number].cards else FOLDED
            if number in wide:
                width += extra + (1 if wide.index(number) < rest else 0)
            spread.append((number, start, width))
            start += width
        return spread

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if not self._lanes:
            text = dim(f"  {EMPTY[y]}" if y < len(EMPTY) else "")
        else:
            spread = self._spread()
            text = Content("").join(self._cell(number, size, y) for number, _, size in spread)
            if y == 0:
                text = _with_arrows(text, left=self._left > 0, right=spread[-1][0] < len(self._lanes) - 1)
        strips = Visual.to_strips(self, text.truncate(width, pad=True), width, 1, self.visual_style, pad=True)
        return strips[0] if strips else Strip.blank(width, self.rich_style)

    def _cell(self, number: int, width: int, y: int) -> Content:
        """Line ``y`` of one lane, exactly ``width`` wide."""
        lane = self._lanes[number]
        style = _LANE_STYLES.get(lane.key, "$text-accent")
        if not lane.cards and width <= FOLDED + 2:
            letter = lane.title[y : y + 1] if y < self.size.height else ""
            return Content.assemble(" ", (letter or " ", DIM), " ").truncate(width, pad=True)
        if y == 0:
            count = f" {len(lane.cards)}"
            title = Content.assemble(" ", (line(lane.title), f"bold {style}"), (count, DIM))
            return title.truncate(width, ellipsis=True, pad=True)
        if y == 1:
            return Content.styled(" " + "━" * (width - 2) + " ", style)
        top = self._tops.get(lane.key, 0)
        place, row = divmod(y - HEAD, CARD_HEIGHT)
        place += top
        last_room = (y - HEAD) // CARD_HEIGHT >= self._room()
        if place >= len(lane.cards) or last_room:
            left = len(lane.cards) - place
            more = f"  ↓ {left} more" if left > 0 and last_room and row == 0 else ""
            return dim(more).truncate(width, pad=True)
        is_current = number == self._lane and place == self._places.get(lane.key, 0)
        card = lane.cards[place]
        name = f"{self.names.get(card.project, '')} {card.id}".strip()
        return _card_line(card, name, row, width, is_current, self.has_focus)


def _with_arrows(text: Content, *, left: bool, right: bool) -> Content:
    """There are more lanes than fit."""
    if left:
        text = Content.styled("◂", "$text-accent") + text[1:]
    return text[: len(text) - 1] + Content.styled("▸", "$text-accent") if right else text


def _filter_board(board: Board, sought: str) -> Board:
    if not sought:
        return board

    def cards(lane: Lane) -> tuple[Card, ...]:
        return tuple(card for card in lane.cards if sought in f"{card.id} {card.title}".casefold())

    return replace(board, lanes=tuple(replace(lane, cards=cards(lane)) for lane in board.lanes))


def _card_line(card: Card, name: str, row: int, width: int, is_current: bool, has_focus: bool) -> Content:
    inner = width - 4  # a space on each side, and the border
    border = ("bold $text-accent" if has_focus else "$text-accent") if is_current else "$foreground 35%"
    sides = "┏┓┗┛┃━" if is_current else "╭╮╰╯│─"
    if row == 0:
        name = line(name)[: inner - 2]
        rest = sides[5] * max(0, inner - 2 - len(name))
        pieces: list[tuple[str, str]] = [(f"{sides[0]}{sides[5]}", border), (name, "bold"), (rest, border)]
        top = Content.assemble(" ", *pieces, (f"{sides[5]}{sides[1]}", border), " ")
        return top.truncate(width, pad=True)
    if row == CARD_HEIGHT - 1:
        bottom = Content.assemble(" ", (sides[2] + sides[5] * inner + sides[3], border), " ")
        return bottom.truncate(width, pad=True)
    body = _figures(card) if row == CARD_HEIGHT - 2 else Content(_title_row(card, row - 1, inner))
    body = body.truncate(inner, ellipsis=True, pad=True)
    return Content.assemble(" ", (sides[4], border), body, (sides[4], border), " ")


def _title_row(card: Card, row: int, width: int) -> str:
    rows = wrap(line(card.title), width)
    if row == 1 and len(rows) > 2:
        return rows[1][: width - 1] + "…"
    return rows[row] if row < len(rows) else ""


def _figures(card: Card) -> Content:
    mark, style = _STATUS_LOOKS.get(card.status, ("·", DIM))
    pieces: list[Content | str | tuple[str, str]] = [(mark, style)]
    if card.iteration or card.maximum:
        used = f"{card.iteration}/{card.maximum}" if card.maximum else f"{card.iteration}"
        full = card.maximum is not None and card.iteration >= card.maximum
        pieces.append((f" ↻ {used}", "$text-warning" if full else DIM))
    if card.rounds and card.kind is CardKind.STORY:
        pieces.append((f" {plural(card.rounds, 'review')}", DIM))
    elif card.rounds:
        pieces.append((f" ↩ {card.rounds}", "$text-warning"))
    if card.note:
        pieces.append((f" {line(card.note)}", DIM))
    elif card.status:
        pieces.append((f" {card.status}", DIM))
    return Content.assemble(*pieces)
