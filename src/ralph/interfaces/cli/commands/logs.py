"""``ralph logs``: what a run showed, once more, or while it happens."""

from __future__ import annotations

import io
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.views.runs import LAST, RunState
from ralph.errors import UsageError
from ralph.interfaces.cli.stored_runs import project_dir_option, reading, state_folder, view_of

if TYPE_CHECKING:
    from ralph.adapters.storage.run_reader import RunReader
    from ralph.domain.loop.events import LoopEvent
    from ralph.domain.views.runs import RunView
    from ralph.interfaces.cli.console.outlet import Outlet

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


@click.command(
    "logs", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.argument("run", required=False, default=LAST)
@click.option("-f", "--follow", is_flag=True, help="Go on as long as the run does.")
@click.option("--iteration", type=click.IntRange(min=1), metavar="N", help="Only this iteration.")
@click.option("--raw", is_flag=True, help="What the agent printed, byte by byte.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines, as with `ralph run --json`.")
@project_dir_option
def command(
    run: str, follow: bool, iteration: int | None, raw: bool, as_json: bool, project_dir: Path | None
) -> None:
    if raw and as_json:
        message = "--raw and --json exclude each other"
        raise UsageError(message, hint="the raw log is what the agent printed; --json is ralph's own record")
    folder = state_folder(project_dir)
    with reading(folder) as reader:
        view = view_of(reader, run)
        if raw:
            _RawLogs(folder, view, iteration).print(reader, follow=follow)
        else:
            _print_events(reader, view, folder, iteration, follow=follow, as_json=as_json)


def _print_events(
    reader: RunReader, view: RunView, folder: Path, iteration: int | None, *, follow: bool, as_json: bool
) -> None:
    from ralph.adapters.storage.restored_events import restore
    from ralph.interfaces.cli.console.outlet import Outlet

    outlet = Outlet(sys.stdout)
    page = _Page(outlet, folder.parent, as_json=as_json)
    seen = 0
    found = False
    for _ in _looks(reader, view, follow=follow):
        for row in reader.events(view.id, after=seen, iteration=iteration):
            seen, found = row.seq, True
            event = restore(row.data)
            if event is not None:
                page.add(event, row.at)
            if outlet.closed:
                return
        page.print()
    if iteration is not None and not found:
        raise _no_iteration(view, iteration)


def _no_iteration(view: RunView, iteration: int) -> UsageError:
    count = f"{view.iteration} iteration{'' if view.iteration == 1 else 's'}"
    return UsageError(f"run {view.id} has no iteration {iteration}", hint=f"it has {count}")


class _Page:
    """Renders into memory and prints when there is enough: a log may hold a million small lines."""

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
    """Both streams of a run on one: here all of it is what was asked for."""
    from ralph.config.loading import inspect
    from ralph.config.schema import OutputSettings
    from ralph.interfaces.cli.console.run_view import Console
    from ralph.interfaces.cli.console.terminal import detect_look

    # Settings that are wrong today are no reason not to show what happened yesterday.
    settings = inspect(root, environ=os.environ).settings
    output = settings.output if settings is not None else OutputSettings()
    look = detect_look(
        sys.stdout,
        os.environ,
        emoji=output.emoji.value,
        color=output.color.value,
        timestamps=output.timestamps,
        max_lines=output.max_lines,
        max_chars=output.max_chars,
    )
    return Console(out, out, look, verbose=False, stream_agent_output=True)


def _looks(reader: RunReader, view: RunView, *, follow: bool) -> Iterator[None]:
    """Once, or again and again until the run has ended; after that once more, for its last words."""
    if not follow:
        yield
        return
    import gc

    from ralph.adapters.processes.identity import started_of, this_process

    gc.enable()  # this may take days
    here = this_process()
    try:
        while True:
            now = reader.run(view.id, here=here, started_of=started_of)
            yield
            if now is None or not now.live:
                break
            time.sleep(EVERY)
    except KeyboardInterrupt:
        return
    if now is not None and now.state is RunState.INTERRUPTED:
        print(f"ralph: run {now.id} was interrupted: its process is gone", file=sys.stderr)


# The last part is the name of an agent that stood in for the first.
_SESSION = re.compile(r"agent_(\d+)(?:_attempt(\d+))?(?:_(\w+?))?(?:\.([\w-]+))?\.ndjson")


class _RawLogs:
    """The agent's output as it came, session after session; remembers how much of each was printed."""

    def __init__(self, folder: Path, view: RunView, iteration: int | None) -> None:
        self._view = view
        self._folder = folder / "runs" / view.id
        self._iteration = iteration
        self._offsets: dict[Path, int] = {}

    def print(self, reader: RunReader, *, follow: bool) -> None:
        for _ in _looks(reader, self._view, follow=follow):
            for file in self._files():
                self._print_new(file)
            sys.stdout.flush()
        if not self._offsets:
            if self._iteration is not None:
                raise _no_iteration(self._view, self._iteration)
            message = f"run {self._view.id} has no logs in {self._folder}"
            raise UsageError(message, hint="its agent was never started, or the files were removed")

    def _files(self) -> list[Path]:
        try:
            files = list(self._folder.iterdir())
        except OSError:
            return []
        found: list[tuple[int, int, str, Path]] = []
        for file in files:
            if match := _SESSION.fullmatch(file.name):
                iteration, attempt = int(match[1]), int(match[2] or 1)
                if self._iteration in (None, iteration):
                    found.append((iteration, attempt, f"{match[3] or ''} {match[4] or ''}", file))
        return [file for *_, file in sorted(found)]

    def _print_new(self, path: Path) -> None:
        while chunk := self._read(path):
            _write_raw(chunk)
            self._offsets[path] += len(chunk)

    def _read(self, path: Path) -> bytes:
        offset = self._offsets.setdefault(path, 0)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(CHUNK)
        except OSError as error:
            print(f"ralph: cannot read {path}: {error.strerror or error}", file=sys.stderr)
            return b""


def _write_raw(chunk: bytes) -> None:
    """Every byte into a pipe or file. A terminal would obey some of them, so there they are made visible."""
    if sys.stdout.isatty():
        from ralph.domain.text.safe_text import clean

        sys.stdout.write(clean(chunk.decode(errors="replace")))
    else:
        sys.stdout.buffer.write(chunk)
