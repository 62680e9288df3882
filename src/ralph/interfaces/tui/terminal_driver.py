"""A terminal that may go away: its window is closed, or the line to it is cut.

Not everyone gets a signal then. textual reads the end over and over again, while whoever draws waits for a writer that died of
an error.
"""

from __future__ import annotations

import select
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from io import TextIOWrapper


class TerminalDriver(LinuxDriver):
    """Ends the app when the terminal is gone."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._file = cast("TextIOWrapper", _Output(self._file))
        Thread(target=self._await_end, daemon=True).start()

    def _await_end(self) -> None:
        poll = select.poll()
        poll.register(self.fileno, 0)  # the end is always told
        with suppress(OSError):
            if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
                self._app.call_later(self._app.exit)


class _Output:
    """Takes what nobody can see any more, so that nobody waits for it."""

    def __init__(self, file: TextIOWrapper | None) -> None:
        assert file is not None, "stderr is closed"
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()
