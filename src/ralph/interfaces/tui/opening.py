"""Opening the terminal UI, if there is a terminal to open it in."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ralph.domain.views.runs import match_runs
from ralph.errors import UsageError
from ralph.interfaces.tui.app import RalphApp
from ralph.operations.watch import open_feed


def open_ui(state_folder: Path, run_id: str | None = None) -> None:
    """Watch the runs of a project until somebody quits. The runs are other processes and keep going.

    ``run_id`` may be a part of a run's name; None follows what is live. Raises UsageError without a terminal,
    StoreError if the record cannot be read.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
        message = "the terminal UI needs a terminal"
        raise UsageError(
            message, hint="`ralph logs -f` and `ralph status --watch` work everywhere; `ralph web` too"
        )
    chosen = _found(state_folder, run_id)
    for name in ("COLUMNS", "LINES"):  # textual would believe them, even after the terminal was resized
        os.environ.pop(name, None)
    gc.enable()  # commands are short and do without; this may be open for days
    app = RalphApp(state_folder, chosen, light=is_light(os.environ))
    with _ended_by_signals(app):
        app.run()
    if app.failure is not None:
        raise app.failure


@contextmanager
def _ended_by_signals(app: RalphApp) -> Iterator[None]:
    """Whoever ends the process gets the terminal back as it was."""
    before = {
        number: signal.signal(number, lambda *_: app.exit()) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _found(state_folder: Path, run_id: str | None) -> str | None:
    """Reads the record once, so that one of another version is told before the screen is taken over."""
    with open_feed(state_folder) as feed:
        names = [run.id for run in sorted(feed.runs(), key=lambda run: run.started_at, reverse=True)]
    if run_id is None:
        return None
    found = match_runs(run_id, names)
    if len(found) == 1:
        return found[0]
    message = f"{run_id!r} may mean {len(found)} runs" if found else f"there is no run {run_id!r} here"
    raise UsageError(message, hint=f"the runs here are: {', '.join((found or names)[:10]) or 'none'}")


def is_light(environ: Mapping[str, str]) -> bool:
    """Many terminals say their colours in COLORFGBG, as ``15;0``; the last number is the background's."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background in ("7", "15")
