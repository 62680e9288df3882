"""The screen with all its views. Shows looks; tells the application what the user wants to see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Footer, Input, Static, Tab, Tabs

from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.beginning import BEGINNINGS
from ralph.domain.views.board import Board, Card, CardKind
from ralph.domain.views.decisions import describe_iteration
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.next_steps import next_steps
from ralph.domain.views.runs import RunView, TreeRow, run_tree
from ralph.interfaces.tui.board_view import BoardView
from ralph.interfaces.tui.columns import IterationColumns, run_columns, story_columns
from ralph.interfaces.tui.follower import RunLook
from ralph.interfaces.tui.lines import Kind, Line
from ralph.interfaces.tui.marks import sparkline
from ralph.interfaces.tui.run_panels import AboutRun, RunHeader, RunPanel
from ralph.interfaces.tui.stream_view import StreamView
from ralph.interfaces.tui.table import Table

SMALLEST = (50, 12)
WIDE = 110
VIEWS = {
    "runs": "Runs",
    "board": "Board",
    "plan": "Plan",
    "stream": "Stream",
    "iterations": "Iterations",
    "about": "About",
}
FIRST = "stream"
SPARKS = 24


class MainScreen(Screen[None]):
    """``now`` and ``zone`` say how times are shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"view('{name}')", title, show=False)
            for number, (name, title) in enumerate(VIEWS.items(), 1)
        ),
        Binding("slash", "seek", "Filter", key_display="/"),
        Binding("b", "other_board", "Other board", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (SMALLEST[0], "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 (textual's)
    VERTICAL_BREAKPOINTS = [(0, "-low"), (SMALLEST[1], "-high")]  # noqa: RUF012

    class Ready(Message):
        """All views exist."""

    class Wanted(Message):
        """Another view or filter: look at once."""

    def __init__(self, now: Callable[[], float], zone: tzinfo | None) -> None:
        super().__init__()
        self.is_ready = False  # there are views to show something in
        self._now = now
        self._zone = zone
        self._iteration_columns = IterationColumns()
        self._boards: Sequence[Board] = ()
        self._board_kind: CardKind | None = None
        self._watched: RunLook | None = None
        self._sought: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="small")
        yield RunHeader(id="head")
        titles = enumerate(VIEWS.items(), 1)
        tabs = (Tab(f"{number} {title}", id=f"tab-{name}") for number, (name, title) in titles)
        yield Tabs(*tabs, active=f"tab-{FIRST}", id="tabs")
        with Horizontal(id="main"):
            with ContentSwitcher(initial=FIRST, id="views"):
                runs = run_columns(self._now)
                yield Table(
                    runs, lambda row: row.run.id, empty="no runs here yet: 4 says how to begin", id="runs"
                )
                yield BoardView(id="board")
                no_plan = "no plan here: `ralph plan new` starts one"
                yield Table(story_columns(), lambda card: card.id, empty=no_plan, id="plan")
                yield StreamView(id="stream")
                yield Table(
                    self._iteration_columns.columns(),
                    lambda each: (each.iteration, each.attempt, each.first_seq),
                    empty="no iterations yet",
                    id="iterations",
                )
                with VerticalScroll(id="about"):
                    yield AboutRun(id="about-box")
            with VerticalScroll(id="side", classes="shown", can_focus=False):
                yield RunPanel(id="panel")
        yield Input(placeholder="filter …", id="search")
        yield Static(id="status")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._focus_view()
        self.is_ready = True
        self.post_message(self.Ready())

    def on_unmount(self) -> None:
        self.is_ready = False

    # --- views ---

    @property
    def view(self) -> str:
        return str(self.query_one("#views", ContentSwitcher).current)

    @property
    def stream(self) -> StreamView:
        return self.query_one("#stream", StreamView)

    @property
    def current_card(self) -> Card | None:
        """The one under the cursor."""
        if self.view == "board":
            return self.query_one(BoardView).current
        card = self.query_one("#plan", Table).current if self.view == "plan" else None
        return card if isinstance(card, Card) else None

    def action_view(self, name: str) -> None:
        self.query_one(Tabs).active = f"tab-{name}"

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        name = str(event.tab.id).removeprefix("tab-")
        switcher = self.query_one("#views", ContentSwitcher)
        if switcher.current != name:
            switcher.current = name
            self._close_search()
            self._focus_view()
            self.query_one("#side").set_class(name == "stream", "shown")
        self._show_status()
        self.post_message(self.Wanted())

    def _focus_view(self) -> None:
        self.query_one(f"#{self.view}").focus()

    def on_resize(self, event: events.Resize) -> None:
        width, height = event.size
        needed = f"ralph ui needs {SMALLEST[0]} by {SMALLEST[1]}."
        self.query_one("#small", Static).update(
            Content(f"This terminal is {width} by {height}.\n{needed}\nq quits; runs keep going.")
        )
        self.call_after_refresh(self._show_panel)

    # --- showing ---

    def show_head(self, *, problem: str, is_read: bool) -> None:
        empty = "no runs here yet" if is_read else "reading …"
        if is_read and self._watched is None and self.stream.is_empty:
            self.stream.add(list(_how_to_begin()))
            self.query_one(AboutRun).show(None, self._now())
        header = self.query_one(RunHeader)
        header.show(self._watched, now=self._now(), problem=problem, empty=empty)

    def show_runs(self, runs: Sequence[RunView]) -> None:
        if self.view == "runs":
            rows = [row for row in run_tree(runs) if self._has("runs", _run_text(row))]
            self.query_one("#runs", Table).show(rows)

    def show_boards(self, boards: Sequence[Board]) -> None:
        self._boards = boards
        stories = next((board for board in boards if board.kind is CardKind.STORY), None)
        cards = sorted(stories.cards if stories is not None else (), key=lambda card: card.priority)
        shown = [card for card in cards if self._has("plan", f"{card.id} {card.title}")]
        self.query_one("#plan", Table).show(shown)
        view = self.query_one(BoardView)
        view.sought = self._sought.get("board", "")
        view.show(self._board)
        self._show_status()

    @property
    def _board(self) -> Board | None:
        """The visible one."""
        chosen = (board for board in self._boards if board.kind is self._board_kind)
        return next(chosen, self._boards[0] if self._boards else None)

    def forget_run(self) -> None:
        """From now on, another run is watched."""
        self._watched = None
        self.stream.clear()
        self.stream.following = True

    def show_run(self, watched: RunLook) -> None:
        self._watched = watched
        if watched.is_fresh:  # also if it is the first run of all: how to begin is no longer of use
            self.stream.clear()
        self.stream.add(watched.lines)
        self._show_status()
        if self.view == "iterations":
            live = watched.run is not None and watched.run.live
            self._iteration_columns.measure(watched.iterations, live=live)
            shown = [each for each in watched.iterations if self._has("iterations", _iteration_text(each))]
            self.query_one("#iterations", Table).show(shown, keep_end=True)
        elif self.view == "about":
            self.query_one(AboutRun).show(watched, self._now())
        self._show_panel()

    def _show_panel(self) -> None:
        if self.view == "stream" and self.has_class("-wide"):
            self.query_one(RunPanel).show(self._watched, self._zone)

    def _show_status(self) -> None:
        self.query_one("#status", Static).update(Content(" · ".join(self._status())))

    def _status(self) -> list[str]:
        parts: list[str] = []
        if self.view == "stream":
            stream = self.stream
            parts.append("following" if stream.following else "not following: press f for the newest")
            if self._watched is not None and self._watched.run is not None:
                parts = next_steps(self._watched.run)[:1] or parts
            if stream.shown_kind is not None:
                parts.append(f"only {stream.shown_kind.value}: v shows others")
        elif self.view in ("board", "plan"):
            parts += [f"{clean_line(board.title)}: {len(board.cards)}" for board in self._boards]
            parts += [clean_line(board.problem) for board in self._boards if board.problem]
            if self.view == "board" and len(self._boards) > 1:
                parts.append("b other board")
            if self.view == "board" and self._board is not None and self._board.kind is CardKind.TASK:
                parts.append("c cancel, r retry")
        elif self.view == "iterations" and self._watched is not None:
            parts += _sparklines(self._watched.iterations)
        if sought := self._sought.get(self.view):
            parts.append(f"filtered by “{sought}”: press / to change it")
        return parts

    def on_stream_view_moved(self) -> None:
        self._show_status()
        self.post_message(self.Wanted())

    def action_other_board(self) -> None:
        kinds = [board.kind for board in self._boards]
        if kinds:
            place = kinds.index(self._board_kind) if self._board_kind in kinds else 0
            self._board_kind = kinds[(place + 1) % len(kinds)]
            self.show_boards(self._boards)

    # --- the filter ---

    def _has(self, view: str, text: str) -> bool:
        return self._sought.get(view, "") in text.casefold()

    def action_seek(self) -> None:
        search = self.query_one("#search", Input)
        search.value = self._sought.get(self.view, "")
        search.add_class("shown")
        search.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.has_class("shown"):
            self._sought[self.view] = event.value.casefold().strip()
            if self.view == "stream":
                self.stream.seek(event.value)
            self._show_status()
            self.post_message(self.Wanted())

    def on_input_submitted(self) -> None:
        self._close_search()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            self._close_search()

    def _close_search(self) -> None:
        search = self.query_one("#search", Input)
        if search.has_class("shown"):
            search.remove_class("shown")
            self._focus_view()


def _how_to_begin() -> Iterator[Line]:
    yield Line(Kind.LOOP, "rule", "how to begin")
    yield Line(Kind.LOOP, "text", "Type one of these in another terminal, in this project:")
    for each in BEGINNINGS:
        yield Line(Kind.LOOP, "text", "")
        yield Line(Kind.LOOP, "tool", f"  {each.command}", head=len(each.command) + 2, indent=4)
        yield Line(Kind.LOOP, "dim", f"  {each.does.replace('`', '')}", indent=2)


def _run_text(row: TreeRow) -> str:
    run = row.run
    return f"{run.id} {run.state.words} {run.task} {run.title} {run.profile} {run.agent} {run.reason}"


def _iteration_text(each: IterationView) -> str:
    return f"{describe_iteration(each).words} {each.reason} {each.role} {each.assignment} {each.fault}"


def _sparklines(iterations: Sequence[IterationView]) -> list[str]:
    judged = [each for each in iterations if each.decision]
    costs = [each.spend.cost_usd or 0.0 for each in judged]
    named = (("cost", costs), ("time", [each.seconds for each in judged]))
    return [f"{name} {sparkline(values, SPARKS)}" for name, values in named if any(values)]
