"""Keys that ask something of a run or a task. Operations decide whether it makes sense; the screen repeats their answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ralph.domain.loop.asks import Ask
from ralph.domain.tasks.task import TaskAsk
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.board import Card, CardKind
from ralph.domain.views.next_steps import next_steps
from ralph.domain.views.runs import RunView, possible_asks
from ralph.errors import RalphError
from ralph.interfaces.tui.dialogs import Question, SteerDialog
from ralph.interfaces.tui.speech import complain, say
from ralph.operations.runs.ask import Answer, ask
from ralph.operations.tasks import ask_of_task

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import App

    from ralph.operations.watch import Watch

    _Base = App[None]
else:
    _Base = object

_DONE = {
    Ask.PAUSE: "pauses after this session; press u to continue",
    Ask.UNPAUSE: "continues",
    Ask.STEER: "added to the next prompt",
    Ask.STOP: "stops after this step",
    Ask.STOP_NOW: "stopping now",
}


class TaskRequests(_Base):
    """Mixed into an application that shows cards, and knows which one is meant and where its record is."""

    if TYPE_CHECKING:  # the application's own

        def current_card(self) -> Card | None: ...

        def folder_of(self, card: Card) -> Path: ...

    # --- words ---

    def say(self, text: str) -> None:
        say(self, text)

    def complain(self, error: RalphError) -> None:
        complain(self, error)

    # --- tasks ---

    def action_ask_task(self, request: str) -> None:
        if card := self.current_card():
            self.ask_of_card(card, request)
        else:
            self.say("select a task on the board first")

    def ask_of_card(self, card: Card, request: str) -> None:
        if card.kind is not CardKind.TASK:
            self.say("stories are changed in the plan, not here")
            return
        name, folder, asked = card.id, self.folder_of(card), TaskAsk(request)

        def after(answer: str | None) -> None:
            if answer:
                self._in_background(lambda: f"{name} is {ask_of_task(folder, name, asked).status}")

        if asked is TaskAsk.RETRY:
            after(request)
            return
        text = f"Cancel task {clean_line(name)}: {clean_line(card.title)}?"
        self.push_screen(Question(text, {"cancel": "Cancel it", "": "Leave it"}), after)

    # --- doing it ---

    def _in_background(self, work: Callable[[], str]) -> None:
        async def do() -> None:
            try:
                self.say(await asyncio.to_thread(work))
            except RalphError as error:
                self.complain(error)

        self.run_worker(do())


class Requests(TaskRequests):
    """Mixed into the application that follows a run."""

    record: Watch

    if TYPE_CHECKING:  # the application's own

        def watched_run(self) -> RunView | None: ...

    def folder_of(self, card: Card) -> Path:
        """There is one record here."""
        return self.record.state_folder

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what may be asked of the run."""
        if action not in ("steer", "ask_run", "stop", "say_over"):
            return True
        run = self.watched_run()
        asks = possible_asks(run) if run is not None else ()
        match action:
            case "say_over":
                return parameters[0] not in asks
            case "stop":
                return Ask.STOP in asks
            case _:
                return Ask.STEER in asks  # also to pause or to continue: a session may still be ending

    def action_say_over(self, _: str) -> None:
        if run := self._run_or_say():
            self.say("\n".join((f"run {run.id} is not under way ({run.state.words})", *next_steps(run))))

    def action_ask_run(self, request: str) -> None:
        self._ask_run(Ask(request))

    def action_stop(self) -> None:
        run = self._run_or_say()
        if run is None:
            return
        live = {Ask.STOP: "After this step", Ask.STOP_NOW: "Now"}
        labels = live if run.live else {Ask.STOP: "Stop waiting"}
        answers = {ask.value: label for ask, label in labels.items() if ask in possible_asks(run)}
        answers[""] = "No"

        def after(answer: str | None) -> None:
            if answer:
                self._ask_run(Ask(answer), run)

        self.push_screen(Question(f"Stop run {clean_line(run.id)}?", answers), after)

    def action_steer(self) -> None:
        run = self._run_or_say()
        if run is None:
            return

        def after(text: str | None) -> None:
            if text and text.strip():
                self._ask_run(Ask.STEER, run, text)

        self.push_screen(SteerDialog(clean_line(run.id)), after)

    def _run_or_say(self) -> RunView | None:
        run = self.watched_run()
        if run is None:
            self.say("no run is selected")
        return run

    def _ask_run(self, request: Ask, run: RunView | None = None, text: str = "") -> None:
        run = run or self._run_or_say()
        if run is None:
            return
        name, folder = run.id, self.record.state_folder

        def work() -> str:
            answer = ask(folder, name, request, text=text)
            return "cancelled: it is no longer waiting" if answer is Answer.CANCELLED else _DONE[request]

        self._in_background(work)
