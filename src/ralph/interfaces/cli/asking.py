"""Asking something of a run that another process owns, and waiting a moment for its answer."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

from ralph.adapters.storage.controls import Ask, Controls
from ralph.adapters.storage.database import open_database
from ralph.config.root import STATE_FOLDER, find_root
from ralph.domain.run_view import RunState, RunView
from ralph.interfaces.cli.run_choice import all_runs, live_run

ANSWER_WITHIN = 3.0
LOOK_EVERY = 0.05


def ask(
    request: Ask,
    *,
    project_dir: Path | None,
    reference: str | None,
    text: str = "",
    done: str,
    wait: bool = True,
) -> int:
    """Put the request down; say ``done`` when the run has heard it, or that it has not yet."""
    folder = find_root(Path.cwd(), project_dir).state / STATE_FOLDER
    run = live_run(all_runs(folder), reference)
    path = folder / "ralph.db"
    with closing(open_database(path)) as database:
        controls = Controls(database, path, run.id)
        number = controls.ask(request, at=time.time(), text=text)
        deadline = time.monotonic() + ANSWER_WITHIN
        while wait and not (heard := controls.was_heard(number)) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
    if wait and not heard:
        print(f"ralph: run {run.id} has not answered yet; the request is kept for it", file=sys.stderr)
    else:
        print(f"{done}: run {run.id}", file=sys.stderr)
    return 0


def cancel_waiting(project_dir: Path | None, reference: str | None) -> RunView | None:
    """A run that ended waiting has no process to ask: it is cancelled by hand. None: no such run."""
    folder = find_root(Path.cwd(), project_dir).state / STATE_FOLDER
    runs = all_runs(folder)
    if any(run.live for run in runs) and reference is None:
        return None
    waiting = [
        run
        for run in runs
        if run.state is RunState.WAITING
        and not run.live
        and (reference is None or run.id.endswith(reference))
    ]
    if not waiting:
        return None
    path = folder / "ralph.db"
    with closing(open_database(path)) as database:
        database.execute("UPDATE runs SET outcome = 'cancelled' WHERE id = ?", (waiting[0].id,))
    return waiting[0]
