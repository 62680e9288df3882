"""Asking something of a run that another process owns, and waiting a moment for its answer."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

from ralph.adapters.storage.controls import Ask, Controls, cancel_ended_run
from ralph.adapters.storage.database import open_database
from ralph.config.root import STATE_FOLDER, find_root
from ralph.interfaces.cli.run_choice import live_run, waiting_run

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
    root = find_root(Path.cwd(), project_dir)
    run = live_run(root, reference)
    path = root.state / STATE_FOLDER / "ralph.db"
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


def cancel_waiting(project_dir: Path | None, reference: str | None) -> bool:
    """A run that ended waiting is cancelled by hand. False: there is no such run."""
    root = find_root(Path.cwd(), project_dir)
    run = waiting_run(root, reference)
    if run is None:
        return False
    path = root.state / STATE_FOLDER / "ralph.db"
    with closing(open_database(path)) as database:
        cancel_ended_run(database, path, run.id, at=time.time())
    print(f"cancelled: run {run.id}, which was waiting", file=sys.stderr)
    return True
