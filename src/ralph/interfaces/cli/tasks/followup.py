"""``ralph task followup``: a task that continues another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ralph.interfaces.cli.tasks.flags import description_options, entry_from
from ralph.interfaces.cli.tasks.making import make_task, report_added
from ralph.interfaces.cli.tasks.opening import (
    CONTEXT,
    json_option,
    known_names,
    project_dir_option,
    state_folder,
)

HELP = """Add a task that continues task ID: it has the same spec and priority, and starts when ID is done. Like every
task it says what "done" means.

\b
Example:
  ralph task followup TASK-001 "Rate limit the login" --outcome "The sixth login within a minute returns 429" \\
      --acceptance "The limit is per address"
"""


@click.command("followup", help=HELP, context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@click.argument("title")
@click.option("--id", "own_id", metavar="ID", help="Its own id.  [default: ID-F1, ID-F2 …]")
@description_options
@json_option
@project_dir_option
def command(
    task_id: str, title: str, own_id: str | None, as_json: bool, project_dir: Path | None, **flags: Any
) -> None:
    from ralph.operations.tasks import add_task, followup_entry

    known, _ = known_names(project_dir)
    folder = state_folder(project_dir)
    entry = followup_entry(folder, task_id, own_id)
    asked = entry_from(flags)
    needs = dict.fromkeys([*entry["dependencies"], *asked.pop("dependencies", [])])
    task = make_task({**entry, "title": title, **asked, "dependencies": list(needs)}, known)
    report_added(add_task(folder, task), as_json=as_json)
