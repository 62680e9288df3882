"""The terminal UI: polls the record, shows what is new, opens dialogs, sends requests to runs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from ralph.domain.views.board import Card
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.runs import RunView, TreeRow
from ralph.errors import RalphError
from ralph.interfaces.tui.board_view import BoardView
from ralph.interfaces.tui.details import CardDialog, IterationDialog
from ralph.interfaces.tui.dialogs import HelpDialog
from ralph.interfaces.tui.fleet_screen import FleetHome
from ralph.interfaces.tui.follower import RUNS_LOOKED_AT, RUNS_SHOWN, Follower, Look, RunLook
from ralph.interfaces.tui.logs import LogsDialog
from ralph.interfaces.tui.main_screen import MainScreen
from ralph.interfaces.tui.requests import Requests
from ralph.interfaces.tui.table import Table
from ralph.interfaces.tui.terminal_app import TerminalApp, is_light, show, take_terminal
from ralph.operations.fleet.watch import FleetWatch
from ralph.operations.runs.files import RunFiles
from ralph.operations.watch import LOOK_EVERY, Feed, Watch, open_feed, prompt_of


class RalphApp(FleetHome, Requests, TerminalApp):
    """``run_id`` None: the newest run, live ones first, until the user chooses another. ``fleet``: shown beside the runs.

    ``has_home``: there are other projects to go back to; ``wants_home`` says that the user did.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("s", "steer", "Steer"),
        Binding("p", "ask_run('pause')", "Pause"),
        Binding("u", "ask_run('unpause')", "Continue", show=False),
        Binding("x", "stop", "Stop"),
        Binding("s,p,u", "say_over('steer')", show=False),  # where it cannot be asked
        Binding("x", "say_over('stop')", show=False),
        Binding("c", "ask_task('cancel')", "Cancel", show=False),
        Binding("r", "ask_task('retry')", "Retry", show=False),
        Binding("o", "logs", "Logs"),
        Binding("left_square_bracket", "other_run(-1)", "Previous run", show=False),
        Binding("right_square_bracket", "other_run(1)", "Next run", show=False),
        Binding("t", "theme", "Theme", show=False),
        Binding("F", "fleet", "Fleet"),
        Binding("0", "home", "Projects"),
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", show=False),
    ]

    def __init__(
        self,
        state_folder: Path,
        run_id: str | None = None,
        *,
        now: Callable[[], float] = time.time,
        zone: tzinfo | None = None,
        light: bool = False,
        has_home: bool = False,
        fleet: FleetWatch | None = None,
    ) -> None:
        super().__init__(light=light)
        self.take_fleet(fleet)
        self.wants_home = False
        self._has_home = has_home
        self.record = Watch(state_folder)
        self.main = MainScreen(now, zone)
        self._now = now
        self._zone = zone
        self._is_chosen = run_id is not None
        self._follower = None if run_id is None else Follower(run_id, zone)
        self._looked: Look | None = None
        self._watched: RunLook | None = None
        self._problem = ""
        self._must_look = True
        self._looking = asyncio.Lock()

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_main_screen_ready(self) -> None:
        self.run_worker(self._keep_looking())
        self.run_worker(self.keep_looking_at_fleet())
        self.set_interval(1.0, self._show_head)

    async def on_unmount(self) -> None:
        await self.record.close()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "home" and not self._has_home:
            return False
        return super().check_action(action, parameters)

    def action_fleet(self) -> None:
        self.open_fleet(self._now)

    def action_home(self) -> None:
        self.wants_home = True
        self.exit()

    def action_help(self) -> None:
        self.push_screen(HelpDialog())

    # --- looking ---

    async def _keep_looking(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        """Once: ask whether there is news, and if so, read what is visible."""
        async with self._looking:
            if self._can_show:
                await self._look()

    @property
    def _can_show(self) -> bool:
        """Not before all views exist, nor while they are being removed."""
        return self.main.is_ready and self.is_running

    async def _look(self) -> None:
        try:
            has_news = await self.record.has_news()
            if not self._can_show or not (has_news or self._must_look):
                return
            self._must_look = False
            view, follower, lines = self.main.view, self._follower, self.main.stream.following
            limit = RUNS_SHOWN if view == "runs" else RUNS_LOOKED_AT
            needs_runs = view == "runs" or not (self._is_chosen or self._is_live())

            def question(feed: Feed) -> Look:
                return Look(
                    runs=feed.runs(limit=limit) if needs_runs else None,
                    boards=feed.boards() if view in ("board", "plan") else None,
                    watched=None if follower is None else follower.look(feed, lines=lines),
                )

            look = await self.record.ask(question)
        except RalphError as error:
            self._fail(error)
            return
        if not self._can_show:
            return
        self._looked, self._problem = look, ""
        if look.watched is not None and follower is self._follower:
            self._take_run(look.watched)
        if look.runs is not None:
            self._choose_newest(look.runs)
            self.main.show_runs(look.runs)
        if look.boards is not None:
            self.main.show_boards(look.boards)
        self._show_head()

    def _is_live(self) -> bool:
        run = self.watched_run()
        return run is not None and run.live

    def _fail(self, error: RalphError) -> None:
        """Try again at the next look: someone may have repaired the record."""
        self._problem = f"{error.message}. {error.hint}"
        self._looked, self._must_look = None, True
        self._show_head()

    def _show_head(self) -> None:
        if self._can_show:
            self.main.show_head(problem=self._problem, is_read=self._looked is not None)

    def _take_run(self, watched: RunLook) -> None:
        if watched.run is None:
            self._problem = "this run was removed; what was read so far is still shown"
            self._is_chosen = self._is_chosen and self._watched is not None
            return
        self._watched = watched
        self.refresh_bindings()
        self._must_look = self._must_look or watched.is_behind
        self.main.show_run(watched)

    def _choose_newest(self, runs: Sequence[RunView]) -> None:
        """Unless the user chose a run, follow the live one."""
        if self._is_chosen or not runs:
            return
        newest = runs[0]
        if self._follower is None or (
            newest.live and newest.id != self._follower.run_id and not self._is_live()
        ):
            self._watch_run(newest.id)

    def _watch_run(self, run_id: str) -> None:
        self._follower = Follower(run_id, self._zone)
        self._watched = None
        self.main.forget_run()
        self._must_look = True

    def choose_run(self, run_id: str) -> None:
        self._is_chosen = True
        self._watch_run(run_id)
        self.main.action_view("stream")

    def on_main_screen_wanted(self) -> None:
        stream = self.main.stream
        if stream.following and stream.was_cut and self._follower is not None:
            self._follower.restart()
        self._must_look = True

    async def on_stream_view_older_wanted(self) -> None:
        follower = self._follower
        if follower is None:
            return
        try:
            older = await self.record.ask(follower.older)
        except RalphError as error:
            self._fail(error)
            return
        if follower is self._follower and self._can_show:
            self.main.stream.add_before(older)

    # --- opening ---

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        match event.row:
            case TreeRow(run=run):
                self.choose_run(run.id)
            case Card() as card:
                await self._open_card(card)
            case IterationView() as each:
                await self._open_iteration(each)
            case _:
                pass

    async def on_board_view_chosen(self, event: BoardView.Chosen) -> None:
        await self._open_card(event.card)

    async def _open_iteration(self, each: IterationView) -> None:
        prompt = await asyncio.to_thread(prompt_of, self.record.state_folder, each)

        def after(answer: str | None) -> None:
            if answer == "logs":
                self.action_logs()

        self.push_screen(IterationDialog(each, prompt, self._zone, live=self._is_live()), after)

    async def _open_card(self, card: Card) -> None:
        try:
            detail = await self.record.ask(lambda feed: feed.card(card.kind, card.id))
        except RalphError as error:
            self.complain(error)
            return
        if detail is None:
            self.say(f"{card.id} no longer exists")
            return
        found = detail.card

        def after(answer: str | None) -> None:
            if answer and answer != "run":
                self.ask_of_card(found, answer)
            elif answer and found.run_id:
                self.choose_run(found.run_id)
            elif answer:
                self.say(f"no run is working on {found.id} now")

        self.push_screen(CardDialog(detail, self._zone), after)

    def action_logs(self) -> None:
        if run := self.watched_run():
            self.push_screen(LogsDialog(RunFiles(self.record.state_folder, run.id)))

    async def action_other_run(self, by: int) -> None:
        try:
            runs = await self.record.ask(lambda feed: feed.runs(limit=RUNS_SHOWN))
        except RalphError as error:
            self.complain(error)
            return
        names = [run.id for run in runs]
        here = self._follower.run_id if self._follower is not None else ""
        if names:
            self._is_chosen = True
            self._watch_run(names[(names.index(here) + by) % len(names) if here in names else 0])

    # --- what requests are about ---

    def watched_run(self) -> RunView | None:
        return self._watched.run if self._watched is not None else None

    def current_card(self) -> Card | None:
        return self.main.current_card


def open_ui(state_folder: Path, run_id: str | None = None, fleet: FleetWatch | None = None) -> None:
    """Watch the runs of a project until the user quits. The runs are other processes and keep going.

    ``run_id`` None follows the live run. Raises UsageError without a terminal, StoreError if the record cannot be read.
    """
    take_terminal()
    with open_feed(state_folder) as feed:
        feed.runs(limit=1)  # an error must be shown before the UI takes over the screen
    show(RalphApp(state_folder, run_id, light=is_light(os.environ), fleet=fleet))
