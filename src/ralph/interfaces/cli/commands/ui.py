"""``ralph ui``: the runs of one project, or of several, in the terminal; and ``--ui``, which opens it over a new run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.errors import UsageError
from ralph.interfaces.cli.fleet_option import chosen_fleet, fleet_option
from ralph.interfaces.cli.options import project_dir_option, requires_extra
from ralph.interfaces.cli.several_projects import chosen_projects, several_options

if TYPE_CHECKING:
    from ralph.operations.runs.detach import DetachedRun

FLAG = "--ui"
LAST_CHARS = 2_000

HELP = """Watch and steer the runs here: the stream of what the agent does, tasks and stories by stage, iterations with
their checks, cost and time. RUN is a run's name, its beginning or end, or `last`; by default the live run is shown.

With several projects it begins with what waits for you in any of them, the projects with what they cost, and one board;
`enter` opens a project, `0` goes back to all of them.

Quitting leaves the runs running. `?` shows the keys.

\b
Examples:
  ralph ui
  ralph ui last
  ralph ui --root shop --root ~/api
  ralph ui --all
  ralph ui --fleet                       `F` shows the fleet's jobs
"""


@click.command("ui", help=HELP)
@click.argument("run", required=False)
@several_options
@fleet_option
@project_dir_option
def command(
    run: str | None, roots: tuple[Path, ...], every: bool, fleet: bool, project_dir: Path | None
) -> None:
    open_ui = require_ui("the terminal UI")
    projects = chosen_projects(project_dir, roots, every=every)
    watch = chosen_fleet(wanted=fleet)
    if len(projects) > 1:
        if run is not None:
            message = "RUN belongs to one project"
            raise UsageError(message, hint="give one --root, or leave RUN out and open it there")
        from ralph.interfaces.tui.projects_app import open_projects_ui

        open_projects_ui(projects, watch)
        return
    folder = projects[0].state_folder
    if run is not None:
        from ralph.operations.runs.read import require_record

        with require_record(folder) as record:
            run = record.find(run)
    open_ui(folder, run, watch)


def require_ui(what: str) -> Callable[..., None]:
    """Raises UsageError if the UI's package is not installed."""
    with requires_extra(what, "ui"):
        from ralph.interfaces.tui.app import open_ui
    return open_ui


def show_in_ui(started: DetachedRun, state_folder: Path, run_id: str, *, has_parts: bool) -> int:
    """``--ui`` over a run that was started. Gives its exit code if it ends before the UI does.

    ``has_parts``: it is a run of runs; the UI follows whichever is active.
    """
    require_ui(FLAG)(state_folder, None if has_parts else run_id)
    code, said = started.leave()
    if code is None:
        print(
            f"run {run_id} keeps running; `ralph attach`, `ralph ui` and `ralph status` show it, `ralph stop` ends it",
            file=sys.stderr,
        )
        return 0
    sys.stderr.write(said[-LAST_CHARS:])
    return code
