"""``ralph logs``: what a run showed, afterwards or live."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.text.figures import plural
from ralph.domain.views.runs import LAST, RunState, reason_of
from ralph.errors import UsageError
from ralph.interfaces.cli.options import json_option, project_dir_option, state_folder

if TYPE_CHECKING:
    from ralph.domain.loop.events import LoopEvent
    from ralph.domain.views.runs import RunView
    from ralph.interfaces.cli.console.outlet import Outlet
    from ralph.operations.runs.read import RunRecord

EVERY = 0.2
CHUNK = 256 * 1024

HELP = """Show what happened in a run, as `ralph run` showed it. RUN is a run's name, its beginning or end, or
`last` (the default).

\b
Examples:
  ralph logs -f
  ralph logs last --iteration 3
  ralph logs --json | jq -c 'select(.type == "check_ended")'
  ralph logs --raw > session.ndjson
"""


@click.command("logs", help=HELP)
@click.argument("run", required=False, default=LAST)
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the run ends.")
@click.option("--iteration", type=click.IntRange(min=1), metavar="N", help="Only this iteration.")
@click.option("--raw", is_flag=True, help="What the agent printed, byte for byte.")
@json_option("Events as JSON lines, as with `ralph run --json`.")
@project_dir_option
def command(
    run: str, follow: bool, iteration: int | None, raw: bool, as_json: bool, project_dir: Path | None
) -> None:
    if raw and as_json:
        message = "--raw and --json exclude each other"
        raise UsageError(message, hint="the raw log is what the agent printed; --json is ralph's own record")
    from ralph.operations.runs.read import require_record

    with require_record(state_folder(project_dir)) as record:
        view = record.view(run)
        if raw:
            _print_raw(record, view, iteration, follow=follow)
        else:
            _print_events(record, view, iteration, follow=follow, as_json=as_json)


def _print_events(
    record: RunRecord, view: RunView, iteration: int | None, *, follow: bool, as_json: bool
) -> None:
    from ralph.interfaces.cli.console.outlet import Outlet

    outlet = Outlet(sys.stdout)
    page = _Page(outlet, record.state_folder.parent, as_json=as_json)
    seen = 0
    found = False
    for _ in _looks(record, view, follow=follow):
        for seq, at, event in record.events(view.id, after=seen, iteration=iteration):
            seen, found = seq, True
            if event is not None:
                page.add(event, at)
            if outlet.closed:
                return
        page.print()
    if iteration is not None and not found:
        raise _no_iteration(view, iteration)


def _no_iteration(view: RunView, iteration: int) -> UsageError:
    hint = f"it has {plural(view.iteration, 'iteration')}"
    return UsageError(f"run {view.id} has no iteration {iteration}", hint=hint)


class _Page:
    """Renders into memory and prints in chunks: a log may hold a million small lines."""

    def __init__(self, outlet: Outlet, root: Path, *, as_json: bool) -> None:
        self._outlet = outlet
        self._buffer = io.StringIO()
        self._as_json = as_json
        self._show = _json_listener(self._buffer) if as_json else _console(self._buffer, root)

    def add(self, event: LoopEvent, at: float) -> None:
        self._show(event, at)
        if self._buffer.tell() > CHUNK:
            self.print()

    def print(self) -> None:
        text = self._buffer.getvalue()
        if not text:
            return
        self._buffer.seek(0)
        self._buffer.truncate()
        if self._as_json:
            self._outlet.write_utf8(text.encode())
        else:
            self._outlet.write(text)


def _json_listener(out: io.StringIO) -> Callable[[LoopEvent, float], None]:
    from ralph.interfaces.cli.console.json_lines import JsonLines

    return JsonLines(out)


def _console(out: io.StringIO, root: Path) -> Callable[[LoopEvent, float], None]:
    """Both streams of a run go to stdout: here all of it is data."""
    from ralph.config.loading import inspect
    from ralph.config.schema import OutputSettings
    from ralph.interfaces.cli.console.run_view import Console
    from ralph.interfaces.cli.terminal import look_for

    # Settings that are wrong today must not hide what happened yesterday.
    settings = inspect(root, environ=os.environ).settings
    output = settings.output if settings is not None else OutputSettings()
    return Console(out, out, look_for(sys.stdout, output), verbose=False, stream_agent_output=True)


def _looks(record: RunRecord, view: RunView, *, follow: bool) -> Iterator[None]:
    """Once, or repeatedly until the run has ended, and then once more for its last words."""
    if not follow:
        yield
        return
    import gc

    gc.enable()  # this may take days
    try:
        while True:
            now = record.run(view.id)
            yield
            if now is None or not now.live:
                break
            time.sleep(EVERY)
    except KeyboardInterrupt:
        return
    if now is not None and now.state is RunState.INTERRUPTED:
        _complain(f"run {now.id} was interrupted: {reason_of(now)}")


def _print_raw(record: RunRecord, view: RunView, iteration: int | None, *, follow: bool) -> None:
    from ralph.operations.runs.read import AgentLogs

    logs = AgentLogs(record.state_folder, view.id, iteration=iteration, complain=_complain)
    for _ in _looks(record, view, follow=follow):
        for chunk in logs.new():
            _write_raw(chunk)
        sys.stdout.flush()
    if not logs.found:
        if iteration is not None:
            raise _no_iteration(view, iteration)
        message = f"run {view.id} has no logs in {logs.folder}"
        raise UsageError(message, hint="its agent was never started, or the files were removed")


def _write_raw(chunk: bytes) -> None:
    """Every byte, unless on a terminal, which would obey control characters: there they are made visible."""
    if sys.stdout.isatty():
        from ralph.domain.text.safe_text import clean

        sys.stdout.write(clean(chunk.decode(errors="replace")))
    else:
        sys.stdout.buffer.write(chunk)


def _complain(message: str) -> None:
    print(f"ralph: {message}", file=sys.stderr)
