"""Small dialogs: a question, a note to the agent, the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static, TextArea

from ralph.interfaces.tui.marks import dim

HELP = (
    ("1 … 6", "runs, board, plan, stream, iterations, about"),
    ("tab", "next part of the screen"),
    ("↑ ↓ ← →  j k", "move; on the board also between lanes"),
    ("enter", "open what is under the cursor, or click it again"),
    ("[ ]", "previous run, next run"),
    ("f / end", "stream: follow the end again"),
    ("v", "stream: everything, words, tools or checks"),
    ("/", "filter by text; empty shows everything"),
    ("b", "switch to the other board"),
    ("p  u", "pause the run after this session; continue it"),
    ("s", "steer: add a note to the next prompt"),
    ("x", "stop the run: after this step, or now"),
    ("c  r", "cancel the task under the cursor; try it again"),
    ("o", "open the run's logs"),
    ("t", "switch between light and dark"),
    ("F  0", "the fleet's jobs, with --fleet; all projects"),
    ("q", "quit; runs keep going"),
)
HELP_OF_PROJECTS = (
    ("1  2", "what waits and the projects; the board of all"),
    ("tab", "next part of the screen"),
    ("↑ ↓ ← →  j k", "move; on the board also between lanes"),
    ("enter", "open what is under the cursor: a run, a task, a project"),
    ("c  r", "cancel the task under the cursor; try it again"),
    ("w", "start work on the tasks that are ready in the project under the cursor"),
    ("F", "the fleet's jobs, with `--fleet`"),
    ("0", "in a project: back to all of them"),
    ("t", "switch between light and dark"),
    ("q", "quit; runs keep going"),
)
HELP_OF_FLEET = (
    ("↑ ↓  j k", "move"),
    ("enter", "open the job under the cursor: its facts, and the lines of its session as they come"),
    ("v", "all jobs; or those that need you, run, wait, have ended"),
    ("/", "filter by text; empty shows everything"),
    ("p  u", "pause the job after its session; continue it"),
    ("s", "steer: add a note to the next prompt"),
    ("x", "stop the job: after this step, or now"),
    ("r", "retry: continue a job that stopped short of its end"),
    ("escape", "back"),
    ("q", "quit; jobs keep going"),
)


class Question(ModalScreen[str]):
    """Answers with the name of the chosen button, or an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss('')", "Back"),
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
    ]

    def __init__(self, text: str, answers: dict[str, str]) -> None:
        super().__init__()
        self._text = text
        self._answers = answers

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog small"):
            yield Static(Content(self._text))
            with Horizontal(classes="buttons"):
                for name, label in self._answers.items():
                    yield Button(Content(label), name=name, variant="primary" if name else "default")

    def on_mount(self) -> None:
        self.set_focus(self.query(Button).first())  # before drawing: keys may be on their way

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.name or "")


class SteerDialog(ModalScreen[str]):
    """Answers with the text, or an empty one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss('')", "Back"),
        Binding("ctrl+s", "send", "Send", priority=True),
    ]

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self._run_id = run_id

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog small"):
            text = f"Add a note for the agent of {self._run_id}: it goes into the next prompt, once."
            yield Static(Content(text))
            yield TextArea(id="steer")
            yield Static(dim("ctrl+s sends · escape cancels"))

    def on_mount(self) -> None:
        self.set_focus(self.query_one(TextArea))

    def action_send(self) -> None:
        self.dismiss(self.query_one(TextArea).text)


class HelpDialog(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "Back")]

    def __init__(self, keys: Sequence[tuple[str, str]] = HELP) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog"):
            yield Static(Content.styled("Keys\n", "bold"))
            with Grid(id="keys"):
                for keys, what in self._keys:
                    yield Static(Content.styled(keys, "bold $text-accent"))
                    yield Static(Content(what))

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss()
