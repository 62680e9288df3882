"""The files a run wrote: prompts, the agent's raw output, the logs of its checks. Shows the end of one, made harmless."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ralph.domain.text.safe_text import clean
from ralph.interfaces.tui.lines import LONGEST_LINE, Kind, Line
from ralph.interfaces.tui.marks import dim, line
from ralph.interfaces.tui.stream_view import StreamView
from ralph.interfaces.tui.table import Column, Table
from ralph.operations.runs.files import RunFiles

END_BYTES = 256 * 1024
MOST_FILES = 5_000


class LogFile(NamedTuple):
    name: str
    size: int
    changed_at: float


def logs_of(files: RunFiles) -> list[LogFile]:
    """Newest first. Files may come and go meanwhile."""
    found = [
        LogFile(name, status.st_size, status.st_mtime)
        for name in files.names()[:MOST_FILES]
        if (status := files.status(name)) is not None
    ]
    return sorted(found, key=lambda file: (-file.changed_at, file.name))


def end_of(files: RunFiles, name: str) -> list[Line]:
    """The end of the file as lines, and how much was left out."""
    try:
        with files.open(name) as file:
            size = file.seek(0, 2)
            start = max(0, size - END_BYTES)
            file.seek(start)
            data = file.read(END_BYTES)
    except OSError as error:
        return [Line(Kind.LOOP, "bad", f"cannot be read: {error.strerror or error}")]
    rows = clean(data.decode(errors="replace")).split("\n")
    lines = [Line(Kind.WORDS, "text", row[:LONGEST_LINE]) for row in rows]
    if start:
        lines[:1] = [Line(Kind.LOOP, "dim", f"… the first {start:,} bytes are not shown")]
    return lines


class LogsDialog(ModalScreen[None]):
    """Choose a file, read its end."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "back", "Back")]

    def __init__(self, files: RunFiles) -> None:
        super().__init__()
        self._files = files

    def compose(self) -> ComposeResult:
        columns: Sequence[Column[LogFile]] = (
            Column("file", 0, lambda file: Content(line(file.name))),
            Column("bytes", 12, lambda file: Content(f"{file.size:,}"), right=True),
        )
        with Vertical(classes="dialog large"):
            yield Static(dim(str(self._files.folder)), id="log-name")
            yield Table(columns, lambda file: file.name, empty="no files here", id="log-files")
            yield StreamView(id="log-text")

    def on_mount(self) -> None:
        self.query_one("#log-text").display = False
        table = self.query_one("#log-files", Table)
        table.show(logs_of(self._files))
        table.focus()

    def on_table_chosen(self, event: Table.Chosen) -> None:
        event.stop()
        file = event.row
        assert isinstance(file, LogFile)
        view = self.query_one("#log-text", StreamView)
        self.query_one("#log-files").display = False
        self.query_one("#log-name", Static).update(Content(line(file.name)))
        view.display = True
        view.clear()
        self.call_after_refresh(view.add, end_of(self._files, file.name))
        view.focus()

    def action_back(self) -> None:
        view = self.query_one("#log-text", StreamView)
        if not view.display:
            self.dismiss()
            return
        view.display = False
        self.query_one("#log-name", Static).update(dim(str(self._files.folder)))
        table = self.query_one("#log-files", Table)
        table.display = True
        table.focus()
