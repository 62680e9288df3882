"""``ralph status``: all runs here, the live ones first."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.interfaces.cli.project_option import project_dir_option, state_folder

if TYPE_CHECKING:
    from ralph.domain.views.runs import RunView
    from ralph.operations.runs.read import RunRecord

LIMIT = 20
EVERY = 1.0

HELP = """Show the runs of this project: live ones first, then the newest.

\b
running      a session or its checks are under way
paused       by `ralph pause`; `ralph unpause` continues it
waiting      for a limit to reset; or ended because something outside must happen first
interrupted  its process died before the run ended; `ralph resume` continues it
completed, exhausted, cancelled, failed: how it ended

\b
Examples:
  ralph status --watch
  ralph status --tree
  ralph status --json | jq -r '.runs[] | select(.live) | .id'
"""


@click.command(
    "status", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option("--json", "as_json", is_flag=True, help="Print the runs as JSON.")
@click.option("-w", "--watch", is_flag=True, help="Look again every second, until Ctrl-C.")
@click.option("-a", "--all", "show_all", is_flag=True, help=f"Show all runs, not only {LIMIT}.")
@click.option("--tree", is_flag=True, help="Show each run below the one whose agent started it.")
@project_dir_option
def command(as_json: bool, watch: bool, show_all: bool, tree: bool, project_dir: Path | None) -> None:
    folder = state_folder(project_dir)
    source = _Source(folder, None if show_all else LIMIT)
    render: Callable[[list[RunView], int], str] = _json if as_json else _tree if tree else _table
    try:
        if watch:
            _watch(source, render, as_json=as_json)
        else:
            print(render(*source.read()))
    finally:
        source.close()


class _Source:
    """The runs as they are now. A record that is not there yet may come."""

    def __init__(self, folder: Path, limit: int | None) -> None:
        self._folder = folder
        self._limit = limit
        self._record: RunRecord | None = None

    def read(self) -> tuple[list[RunView], int]:
        """The runs to show, and how many there are."""
        from ralph.operations.runs.read import open_record

        self._record = self._record or open_record(self._folder)
        if self._record is None:
            return [], 0
        return self._record.runs(limit=self._limit), self._record.count()

    def close(self) -> None:
        if self._record is not None:
            self._record.close()


def _watch(source: _Source, render: Callable[[list[RunView], int], str], *, as_json: bool) -> None:
    """On a terminal the same screen again and again; in a pipe whatever is new."""
    import gc

    gc.enable()
    screen = sys.stdout.isatty() and not as_json
    shown: object = None
    try:
        while True:
            runs, count = source.read()
            if screen:
                # Each line is cleared as it is overwritten: erasing the screen first would flicker.
                lines = _at_most_a_screen(render(runs, count).split("\n"))
                sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
            elif runs != shown:
                shown = runs
                print(render(runs, count) if not as_json else _json_line(runs, count))
            sys.stdout.flush()
            time.sleep(EVERY)
    except KeyboardInterrupt:
        return


def _at_most_a_screen(lines: list[str]) -> list[str]:
    height = os.get_terminal_size(sys.stdout.fileno()).lines
    return lines[: max(1, height - 1)]


def _table(runs: list[RunView], count: int) -> str:
    from ralph.interfaces.cli.console.terminal import detect_look
    from ralph.interfaces.cli.run_table import run_lines

    if not runs:
        return "no runs here yet"
    look = detect_look(sys.stdout, os.environ, max_lines=None, max_chars=None)
    width = look.width if sys.stdout.isatty() else None
    lines = run_lines(runs, now=time.time(), look=look, width=width)
    if count > len(runs):
        lines.append(f"and {count - len(runs)} older; --all shows them")
    return "\n".join(lines)


def _tree(runs: list[RunView], count: int) -> str:
    from dataclasses import replace

    from ralph.domain.views.run_tree import branch, run_tree

    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    return _table(
        [replace(row.run, id=branch(row.last, ascii_only=ascii_only) + row.run.id) for row in run_tree(runs)],
        count,
    )


def _json(runs: list[RunView], count: int) -> str:
    import json

    return json.dumps(_data(runs, count), indent=2)


def _json_line(runs: list[RunView], count: int) -> str:
    import json

    return json.dumps(_data(runs, count))


def _data(runs: list[RunView], count: int) -> dict[str, Any]:
    return {"runs": [asdict(run) for run in runs], "count": count}
