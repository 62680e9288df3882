"""``ralph attach``: the console of a run that is under way, from another terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from ralph.domain.views.runs import LAST
from ralph.interfaces.cli.options import project_dir_option
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.config.root import Root
    from ralph.config.schema import OutputSettings
    from ralph.domain.views.runs import RunLabel, RunView
    from ralph.interfaces.cli.console.live_lines import LiveLines
    from ralph.interfaces.cli.console.run_view import Console
    from ralph.interfaces.cli.terminal import Look
    from ralph.operations.runs.read import RunRecord

EVERY = 0.2
DEFAULT_ROWS = 24
LEFT_FREE = 3
"""Rows of the terminal for the live line and whatever comes next."""

HELP = """Show the console of the run that is under way here (or RUN), as in its own terminal: the end of what it has printed,
then whatever comes. RUN is a run's name, its beginning or end, or `last`.

Ctrl-C leaves the run running; `ralph stop` ends it. When the run ends, so does this, with the run's exit code; of a RUN
that has ended it shows the end.

\b
Examples:
  ralph attach
  ralph attach "$(ralph run -f PROMPT.md --detach)"
"""


@click.command("attach", help=HELP)
@click.argument("run", required=False)
@project_dir_option
def command(run: str | None, project_dir: Path | None) -> int:
    from ralph.config.root import STATE_FOLDER, find_root
    from ralph.interfaces.cli.exit_codes import ExitCode
    from ralph.operations.runs.choose import live_run
    from ralph.operations.runs.read import require_record

    root = find_root(Path.cwd(), project_dir)
    live = live_run(root, None) if run is None else None
    with require_record(root.state / STATE_FOLDER) as record:
        view = live or record.view(run or LAST)  # one that was named may have ended meanwhile
        try:
            ended = _Attached(record, view, root).follow()
        except KeyboardInterrupt:
            print(f"\nrun {view.id} keeps running", file=sys.stderr)
            print("   To see it again: `ralph attach`; to end it: `ralph stop`", file=sys.stderr)
            return ExitCode.INTERRUPTED
    return _exit_code(ended)


def _exit_code(run: RunView | None) -> int:
    from ralph.domain.loop.decision import Outcome
    from ralph.domain.views.runs import RunState, reason_of
    from ralph.interfaces.cli.exit_codes import ExitCode, exit_code_of

    if run is None or run.state is RunState.INTERRUPTED:
        why = "it was removed" if run is None else reason_of(run)
        print(f"ralph: the run was interrupted: {why}", file=sys.stderr)
        return ExitCode.INTERRUPTED
    return exit_code_of(Outcome(run.state))


class _Attached:
    """The run's events on this terminal, and those of the runs it is made of, as its own console shows them."""

    def __init__(self, record: RunRecord, view: RunView, root: Root) -> None:
        self._record, self._view = record, view
        self._screen = _Screen()
        self._looks = _Looks.of(root)
        self._status = self._looks.status()
        self._shown = {view.id: _Shown(record, view, self._looks.console(self._screen, self._status))}

    def follow(self) -> RunView | None:
        """The run as it has ended; None if its record is gone."""
        import gc

        gc.enable()  # this may take days
        with self._screen.keeping_the_end():
            self._add_parts()
            for shown in self._shown.values():
                shown.recent()
        try:
            while True:
                now = self._record.run(self._view.id)
                self._add_parts()
                for shown in self._shown.values():
                    shown.new()
                if now is None or not now.live:
                    return now
                if self._status is not None:
                    self._status.tick()
                time.sleep(EVERY)
        finally:
            if self._status is not None:
                self._status.clear()

    def _add_parts(self) -> None:
        for name, label in self._record.tasks_of(self._view.id):
            part = self._record.run(name) if name not in self._shown else None
            if part is not None and part.live:
                console = self._looks.console_of(label, self._screen, self._status)
                self._shown[name] = _Shown(self._record, part, console)


class _Shown:
    """A run, and how much of it is on the screen."""

    def __init__(self, record: RunRecord, view: RunView, console: Console) -> None:
        self._record, self._view, self._console = record, view, console
        self._seen = 0

    def recent(self) -> None:
        """Its head, and what belongs to its current iteration."""
        self._show(limit=1)
        self._show(iteration=self._view.iteration or None)

    def new(self) -> None:
        self._show()

    def _show(self, *, iteration: int | None = None, limit: int | None = None) -> None:
        recorded = self._record.events(self._view.id, after=self._seen, iteration=iteration)
        for number, (seq, at, event) in enumerate(recorded, 1):
            self._seen = seq
            if event is not None:
                self._console(event, at)
            if number == limit:
                return


@dataclass(frozen=True, slots=True)
class _Looks:
    """How this terminal shows a run."""

    output: OutputSettings
    streams: bool

    @classmethod
    def of(cls, root: Root) -> _Looks:
        from ralph.config.loading import inspect
        from ralph.config.schema import OutputSettings

        settings = inspect(root.state, environ=os.environ).settings
        if settings is None:  # they may be wrong by now
            return cls(OutputSettings(), streams=True)
        return cls(settings.output, settings.stream_agent_output)

    def status(self) -> LiveLines | None:
        from ralph.interfaces.cli.console.live_lines import LiveLines

        look = self._look()
        return LiveLines(sys.stderr, look) if look.live else None

    def console(self, screen: _Screen, status: LiveLines | None) -> Console:
        from ralph.interfaces.cli.console.run_view import Console
        from ralph.interfaces.cli.terminal import look_for

        return Console(
            screen.stream(sys.stdout),
            screen.stream(sys.stderr),
            self._look(),
            verbose=False,
            stream_agent_output=self.streams,
            out_look=look_for(sys.stdout, self.output),
            status=status,
        )

    def console_of(self, label: RunLabel, screen: _Screen, status: LiveLines | None) -> Console:
        """Of a run that is part of the other."""
        from ralph.interfaces.cli.console.parts import console_of_part

        out, err = screen.stream(sys.stdout), screen.stream(sys.stderr)
        line = status.part(label) if status is not None else None
        return console_of_part(label, out, err, self._look(), verbose=False, said=set(), status=line)

    def _look(self) -> Look:
        from ralph.interfaces.cli.terminal import look_for

        return look_for(sys.stderr, self.output)


class _Screen:
    """Both streams of the console; what happened before is collected, and only its end shown."""

    def __init__(self) -> None:
        self._past: list[tuple[TextIO, str]] | None = None

    def stream(self, stream: TextIO) -> TextIO:
        return cast(TextIO, _Stream(self, stream))

    def write(self, stream: TextIO, text: str) -> None:
        if self._past is None:
            stream.write(text)
        else:
            self._past.append((stream, text))

    @contextmanager
    def keeping_the_end(self) -> Iterator[None]:
        past: list[tuple[TextIO, str]] = []
        self._past = past
        yield
        self._past = None
        rows = shutil.get_terminal_size((0, DEFAULT_ROWS)).lines - LEFT_FREE
        lines = [(stream, line) for stream, text in past for line in text.splitlines(keepends=True)]
        for stream, line in lines[-max(rows, 1) :]:
            stream.write(line)
            stream.flush()


class _Stream:
    def __init__(self, screen: _Screen, stream: TextIO) -> None:
        self._screen, self._stream = screen, stream
        self.flush, self.fileno, self.isatty = stream.flush, stream.fileno, stream.isatty

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    def write(self, text: str) -> int:
        self._screen.write(self._stream, text)
        return len(text)
