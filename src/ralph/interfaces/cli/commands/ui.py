"""``ralph ui``: the runs of a project in the terminal, as they happen."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.interfaces.cli.options import project_dir_option, requires_extra, state_folder

HELP = """Watch and steer the runs here: the stream of what the agent does, tasks and stories by stage, iterations with
their checks, cost and time. RUN is a run's name, its beginning or end, or `last`; by default the live run is shown.

Quitting leaves the runs running. `?` shows the keys.

\b
Examples:
  ralph ui
  ralph ui last
"""


@click.command("ui", help=HELP)
@click.argument("run", required=False)
@project_dir_option
def command(run: str | None, project_dir: Path | None) -> None:
    with requires_extra("the terminal UI", "ui"):
        from ralph.interfaces.tui.app import open_ui
    folder = state_folder(project_dir)
    if run is not None:
        from ralph.operations.runs.read import require_record

        with require_record(folder) as record:
            run = record.find(run)
    open_ui(folder, run)
