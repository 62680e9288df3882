"""What every screen of ours is: an application in a real terminal, which it gives back however it ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from textual.app import App
from textual.worker import WorkerFailed

from ralph.errors import UsageError
from ralph.interfaces.tui.terminal_driver import TerminalDriver

DARK, LIGHT = "textual-dark", "textual-light"


class TerminalApp(App[None]):
    """Light or dark, without motion, and silent about the values of its own bugs."""

    TITLE = "ralph"
    CSS_PATH = "style.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *, light: bool = False) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.animation_level = "none"  # the line may be slow, and motion distracts
        self.theme = LIGHT if light else DARK

    def action_theme(self) -> None:
        self.theme = DARK if self.theme == LIGHT else LIGHT

    def _fatal_error(self) -> None:
        """The command line reports our bugs; textual would print every local value, secrets too."""
        self._close_messages_no_wait()

    @property
    def failure(self) -> Exception | None:
        """The error that ended it, if one did."""
        error = self._exception
        inner = error.error if isinstance(error, WorkerFailed) else None
        return inner if isinstance(inner, Exception) else error


def take_terminal() -> None:
    """Before an application is made. Raises UsageError if there is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
        message = "the terminal UI needs a terminal"
        hint = "`ralph logs -f` and `ralph status --watch` work everywhere; `ralph web` too"
        raise UsageError(message, hint=hint)
    for name in ("COLUMNS", "LINES"):  # textual would trust them even after a resize
        os.environ.pop(name, None)
    gc.enable()  # commands are short and do without; the UI may be open for days


def show(app: TerminalApp) -> None:
    """Until it ends."""
    with _end_on_signals(app):
        app.run()
    if app.failure is not None:
        raise app.failure


@contextmanager
def _end_on_signals(app: TerminalApp) -> Iterator[None]:
    """Restore the terminal even when a signal ends the process."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: app.exit()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def is_light(environ: Mapping[str, str]) -> bool:
    """Many terminals give their colours in COLORFGBG, as ``15;0``; the last number is the background."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background in ("7", "15")
