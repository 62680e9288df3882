"""``ralph task followup``: a task that goes on where another ended."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from ralph.interfaces.cli.tasks.flags import description_options, entry_from
from ralph.interfaces.cli.tasks.making import made, say_added
from ralph.interfaces.cli.tasks.opening import CONTEXT, json_option, known_names, opened, project_dir_option

HELP = """Add a task that goes on where task ID ended: of the same spec and priority, and begun when ID is done. Like
every task it says what done means for it.

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
    from ralph.domain.tasks.entry import followup_id

    known, _ = known_names(project_dir)
    with opened(project_dir, writes=True) as tasks:
        parent = tasks.store.get(task_id)
        entry = {
            "id": followup_id(parent.id, tasks.store.ids()) if own_id is None else own_id,
            "title": title,
            "spec_id": parent.spec_id,
            "priority": parent.priority,
            "metadata": {"follows": parent.id},
        }
        asked = entry_from(flags)
        needs = dict.fromkeys([parent.id, *asked.pop("dependencies", [])])
        task = made({**entry, **asked, "dependencies": list(needs)}, known)
        tasks.store.add([task], at=time.time())
        say_added(tasks.store.get(task.id), as_json=as_json)
