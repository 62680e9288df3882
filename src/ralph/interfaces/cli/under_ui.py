"""``--ui``: the run in a process of its own, and the terminal UI over it. Quitting the UI leaves the run going."""

from __future__ import annotations

import importlib
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.errors import UsageError

if TYPE_CHECKING:
    from ralph.adapters.processes.detached import Detached

FLAG = "--ui"
APPEARS_WITHIN = 60.0
LOOK_EVERY = 0.05

ui_option: Callable[[Any], Any] = click.option(
    FLAG, "ui", is_flag=True, help="Open the terminal UI over the run; quitting it leaves the run going."
)


def run_under_ui(
    state_folder: Path, arguments: Sequence[str] | None = None, *, has_parts: bool = False
) -> int:
    """Start the same command without ``--ui``, and watch it. Its own exit code if it ends before the UI does.

    ``has_parts``: it is a run of runs, so whichever of them is at work is followed.
    """
    from ralph.adapters.processes.detached import Detached

    open_ui = _opener()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = f"{FLAG} needs a terminal"
        raise UsageError(message, hint="leave it out; `ralph ui` can watch the run from a terminal later")
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    log = state_folder / f"ui-{os.getpid()}.log"
    started = Detached([*(one for one in given[:end] if one != FLAG), *given[end:]], cwd=Path.cwd(), log=log)
    run_id = _appeared(state_folder, started)
    if run_id is None:
        code = started.exit_code
        sys.stderr.write(started.said())
        log.unlink(missing_ok=True)
        return 1 if code is None else code
    open_ui(state_folder, None if has_parts else run_id)
    code = started.exit_code
    if code is None:
        started.leave()
        print(
            f"run {run_id} goes on; `ralph ui` and `ralph status` show it, `ralph stop` ends it",
            file=sys.stderr,
        )
        return 0
    sys.stderr.write(started.said(2_000))
    log.unlink(missing_ok=True)
    return code


def _opener() -> Callable[[Path, str | None], None]:
    """Before anything is started: without the UI's package there is nothing to watch it with."""
    try:
        opening = importlib.import_module("ralph.interfaces.tui.opening")
    except ImportError as error:
        if error.name is None or error.name.startswith("ralph"):
            raise
        message = f"{FLAG} needs the package {error.name}"
        raise UsageError(
            message, hint="install ralph with its extra `ui` (in its checkout: pip install '.[ui]')"
        ) from error
    found: Callable[[Path, str | None], None] = opening.open_ui
    return found


def _appeared(state_folder: Path, started: Detached) -> str | None:
    """The run that the process began; None if it ended without one, or took too long."""
    since = time.time() - APPEARS_WITHIN
    deadline = time.monotonic() + APPEARS_WITHIN
    while time.monotonic() < deadline:
        is_over = started.exit_code is not None
        if (run_id := _run_of(state_folder, started.pid, since)) is not None:
            return run_id
        if is_over:
            return None
        time.sleep(LOOK_EVERY)
    started.interrupt()
    return None


def _run_of(state_folder: Path, pid: int, since: float) -> str | None:
    path = state_folder / "ralph.db"
    if not path.exists():
        return None
    # The newest that is no part of another: a pid may have been used before.
    query = (
        "SELECT id FROM runs WHERE pid = ? AND started_at > ? AND parent_id = '' ORDER BY started_at LIMIT 1"
    )
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as record,
    ):
        row = record.execute(query, (pid, since)).fetchone()
        return None if row is None else str(row[0])
    return None
