"""All projects on one screen: what waits for a person first, then the projects, and one board of all their cards."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import ContentSwitcher, Footer, Static, Tab, Tabs

from ralph.domain.text.figures import compact, money, plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.board import Card, CardKind
from ralph.domain.views.overview import Overview, ProjectSummary, Totals, Wait, WaitKind
from ralph.errors import RalphError
from ralph.interfaces.tui.app import RalphApp
from ralph.interfaces.tui.board_view import BoardView
from ralph.interfaces.tui.columns import project_columns, wait_columns
from ralph.interfaces.tui.details import CardDialog
from ralph.interfaces.tui.dialogs import HELP_OF_PROJECTS, HelpDialog, Question
from ralph.interfaces.tui.fleet_screen import FleetHome
from ralph.interfaces.tui.requests import TaskRequests
from ralph.interfaces.tui.table import Table
from ralph.interfaces.tui.terminal_app import TerminalApp, is_light, show, take_terminal
from ralph.operations.fleet.watch import FleetWatch
from ralph.operations.projects import Project
from ralph.operations.runs.background import start_work
from ralph.operations.watch import ProjectsWatch
from ralph.values import replace

VIEWS = {"home": "Home", "board": "Board"}


class Opened(NamedTuple):
    """What the user wants to see next: a project, and perhaps one run of it."""

    project: Project
    run_id: str | None = None


class ProjectsApp(FleetHome, TaskRequests, TerminalApp):
    """``opened``: why it ended; None if the user quits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"view('{name}')", title, show=False)
            for number, (name, title) in enumerate(VIEWS.items(), 1)
        ),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("w", "work", "Start work"),
        Binding("c", "ask_task('cancel')", "Cancel", show=False),
        Binding("r", "ask_task('retry')", "Retry"),
        Binding("b", "other_board", "Other board", show=False),
        Binding("F", "fleet", "Fleet"),
        Binding("t", "theme", "Theme", show=False),
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", show=False),
    ]

    def __init__(
        self,
        projects: Sequence[Project],
        *,
        now: Callable[[], float] = time.time,
        zone: tzinfo | None = None,
        light: bool = False,
        fleet: FleetWatch | None = None,
    ) -> None:
        super().__init__(light=light)
        self.take_fleet(fleet)
        self.opened: Opened | None = None
        self._now = now
        self._zone = zone
        self._names = {project.key: project.name for project in projects}
        self._watch = ProjectsWatch(projects)
        self._overview = Overview()
        self._board_kind: CardKind | None = None
        self._looking = asyncio.Lock()

    def compose(self) -> ComposeResult:
        yield Static(id="totals")
        titles = enumerate(VIEWS.items(), 1)
        yield Tabs(*(Tab(f"{number} {title}", id=f"tab-{name}") for number, (name, title) in titles))
        with ContentSwitcher(initial="home", id="all"):
            with Vertical(id="home"):
                nothing = "nothing waits for a person"
                waits = wait_columns(self._names, self._now)
                yield Table(waits, _key_of_wait, empty=nothing, id="waiting")
                columns = project_columns()
                yield Table(columns, lambda each: each.look.key, empty="reading …", id="projects")
            yield BoardView(id="board")
        yield Static(id="status")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(BoardView).names = self._names
        self.query_one("#waiting").focus()
        self.run_worker(self._keep_looking())
        self.run_worker(self.keep_looking_at_fleet())

    def action_fleet(self) -> None:
        self.open_fleet(self._now)

    async def on_unmount(self) -> None:
        await self._watch.close()

    # --- looking ---

    async def _keep_looking(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._watch.pace)

    async def look(self) -> None:
        async with self._looking:
            found = await self._watch.look() if self.is_running else None
            if found is not None and self.is_running:
                self._overview = found
                self._show()

    def _show(self) -> None:
        found = self._overview
        first = not self._table("projects").has_rows
        self._table("waiting").show(found.waiting)
        self._table("projects").show(found.projects)
        if first and not found.waiting and self._view == "home":
            self._table("projects").focus()
        self.query_one("#totals", Static).update(_totals_line(found))
        self._show_board()

    def _show_board(self) -> None:
        boards = self._overview.boards
        chosen = (board for board in boards if board.kind is self._board_kind)
        board = next(chosen, boards[0] if boards else None)
        self.query_one(BoardView).show(board)
        said = [f"{clean_line(each.title)}: {len(each.cards)}" for each in boards]
        said += [clean_line(each.problem) for each in boards if each.problem]
        if len(boards) > 1:
            said.append("b other board")
        is_board = self._view == "board"
        self.query_one("#status", Static).update(Content(" · ".join(said) if is_board else ""))

    # --- views ---

    @property
    def _view(self) -> str:
        return str(self.query_one(ContentSwitcher).current)

    def _table(self, name: str) -> Table[object]:
        return self.query_one(f"#{name}", Table)

    def action_view(self, name: str) -> None:
        self.query_one(Tabs).active = f"tab-{name}"

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        name = str(event.tab.id).removeprefix("tab-")
        switcher = self.query_one(ContentSwitcher)
        if switcher.current != name:
            switcher.current = name
            self.query_one("#board" if name == "board" else "#waiting").focus()
            self._show_board()

    def action_other_board(self) -> None:
        kinds = [board.kind for board in self._overview.boards]
        if kinds:
            place = kinds.index(self._board_kind) if self._board_kind in kinds else 0
            self._board_kind = kinds[(place + 1) % len(kinds)]
            self._show_board()

    def action_help(self) -> None:
        self.push_screen(HelpDialog(HELP_OF_PROJECTS))

    # --- opening ---

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        match event.row:
            case ProjectSummary(look=look) if look.problem:
                self.say(f"{look.problem}\n{look.hint}")
            case ProjectSummary(look=look):
                self._open(look.key)
            case Wait(kind=WaitKind.TASK) as wait:
                await self._open_card(wait.project, wait.task)
            case Wait(kind=WaitKind.PROJECT) as wait:
                self.say(wait.reason)
            case Wait() as wait:
                self._open(wait.project, wait.run_id)
            case _:
                pass

    async def on_board_view_chosen(self, event: BoardView.Chosen) -> None:
        await self._open_card(event.card.project, event.card.id, event.card.kind)

    def _open(self, key: str, run_id: str | None = None) -> None:
        self.opened = Opened(self._watch.projects[key], run_id)
        self.exit()

    async def _open_card(self, key: str, card_id: str, kind: CardKind = CardKind.TASK) -> None:
        try:
            detail = await self._watch.ask(key, lambda feed: feed.card(kind, card_id))
        except RalphError as error:
            self.complain(error)
            return
        if detail is None:
            self.say(f"{card_id} no longer exists")
            return
        found = detail.card

        def after(answer: str | None) -> None:
            if answer and answer != "run":
                self._ask_of(found, answer, key)
            elif answer and found.run_id:
                self._open(key, found.run_id)
            elif answer:
                self.say(f"no run is working on {found.id} now")

        self.push_screen(CardDialog(detail, self._zone), after)

    # --- what requests are about ---

    def _ask_of(self, card: Card, request: str, key: str) -> None:
        self.ask_of_card(replace(card, project=key), request)

    def current_card(self) -> Card | None:
        """The one under the cursor, on the board or among what waits."""
        if self._view == "board":
            return self.query_one(BoardView).current
        table = self._table("waiting")
        wait = table.current if table.has_focus else None
        if not isinstance(wait, Wait) or wait.kind is not WaitKind.TASK:
            return None
        cards = (card for board in self._overview.boards for card in board.cards)
        return next((card for card in cards if (card.project, card.id) == (wait.project, wait.task)), None)

    def folder_of(self, card: Card) -> Path:
        return self._watch.projects[card.project].state_folder

    def _current_project(self) -> ProjectSummary | None:
        key = ""
        if self._view == "board":
            card = self.query_one(BoardView).current
            key = card.project if card is not None else ""
        elif self._table("waiting").has_focus and isinstance(wait := self._table("waiting").current, Wait):
            key = wait.project
        elif isinstance(row := self._table("projects").current, ProjectSummary):
            key = row.look.key
        return next((each for each in self._overview.projects if each.look.key == key), None)

    def action_work(self) -> None:
        found = self._current_project()
        if found is None or found.look.problem:
            self.say("select a project first")
            return
        if not found.ready:
            self.say(f"no task of {found.look.name} is ready, or `ralph work` is at it already")
            return
        project = self._watch.projects[found.look.key]

        async def begin() -> None:
            try:
                self.say(f"run {await start_work(project)} has begun; it keeps running if you quit")
            except RalphError as error:
                self.complain(error)

        def after(answer: str | None) -> None:
            if answer:
                self.say(f"starting work in {project.name} …")
                self.run_worker(begin())

        text = f"Start work on {plural(found.ready, 'task')} of {clean_line(project.name)}?"
        self.push_screen(Question(text, {"yes": "Start", "": "No"}), after)


def _key_of_wait(wait: Wait) -> object:
    return wait.project, wait.kind, wait.run_id, wait.task


def _totals_line(overview: Overview) -> Content:
    totals, waiting = overview.totals, len(overview.waiting)
    waits = f"{plural(waiting, 'thing')} waiting for you" if waiting else "nothing waits for you"
    return Content.assemble(
        (f" {plural(len(overview.projects), 'project')}", "bold"),
        f"  {plural(totals.runs, 'run')}, {totals.live} under way  ",
        (cost_words(totals), "bold"),
        f"  {compact(totals.tokens)} tokens\n ",
        (waits, "bold $text-warning" if waiting else "$text-success"),
    )


def cost_words(totals: Totals) -> str:
    if totals.cost_usd is None:
        return "cost unknown"
    return ("≥" if totals.is_partial else "") + money(totals.cost_usd)


def open_projects_ui(projects: Sequence[Project], fleet: FleetWatch | None = None) -> None:
    """Watch several projects until the user quits; each can be opened, and left for the others again.

    Raises UsageError without a terminal.
    """
    take_terminal()
    light = is_light(os.environ)
    wants_home = True
    while wants_home:
        home = ProjectsApp(projects, light=light, fleet=fleet)
        show(home)
        if home.opened is None:
            return
        place, run_id = home.opened.project.state_folder, home.opened.run_id
        app = RalphApp(place, run_id, light=light, has_home=True, fleet=fleet)
        show(app)
        wants_home = app.wants_home
