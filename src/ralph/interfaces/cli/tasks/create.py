"""``ralph task create`` and ``followup``: add one task, described by flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder
from ralph.interfaces.cli.tasks.options import (
    TaskCommand,
    description_options,
    entry_from,
    make_task,
    print_concerns,
)

HELP = """Add one task. ID is its name, SPEC the specification it belongs to, TITLE a one-line summary. An outcome and at
least one acceptance criterion are required: they say what "done" means.

\b
Example:
  ralph task create TASK-001 my-spec "Implement JWT auth" \\
      --outcome "All API endpoints require valid JWT tokens" \\
      --acceptance "JWT middleware validates tokens" \\
      --acceptance "Invalid tokens return 401" \\
      --coder-promise AUTH_IMPLEMENTED --coder-verify external \\
      --coder-verify-cmd "grep -r 'jwt.verify' src/" \\
      --tester-verify-cmd "pytest tests/test_auth.py"
"""


@click.command("create", cls=TaskCommand, help=HELP)
@click.argument("task_id", metavar="ID")
@click.argument("spec_id", metavar="SPEC")
@click.argument("title")
@description_options
@json_option()
@project_dir_option
def command(
    task_id: str, spec_id: str, title: str, as_json: bool, project_dir: Path | None, **flags: Any
) -> None:
    entry = {"id": task_id, "spec_id": spec_id, "title": title, **entry_from(flags)}
    _add(state_folder(project_dir), entry, as_json=as_json)


FOLLOWUP_HELP = """Add a task that continues task ID: it has the same spec and priority, and starts when ID is done. Like every
task it says what "done" means.

\b
Example:
  ralph task followup TASK-001 "Rate limit the login" \\
      --outcome "The sixth login within a minute returns 429" \\
      --acceptance "The limit is per address"
"""


@click.command("followup", cls=TaskCommand, help=FOLLOWUP_HELP)
@click.argument("task_id", metavar="ID")
@click.argument("title")
@click.option("--id", "own_id", metavar="ID", help="Its own id.  [default: ID-F1, ID-F2 …]")
@description_options
@json_option()
@project_dir_option
def followup(
    task_id: str, title: str, own_id: str | None, as_json: bool, project_dir: Path | None, **flags: Any
) -> None:
    from ralph.operations.tasks import followup_entry

    folder = state_folder(project_dir)
    entry = followup_entry(folder, task_id, own_id)
    asked = entry_from(flags)
    needs = dict.fromkeys([*entry["dependencies"], *asked.pop("dependencies", [])])
    _add(folder, {**entry, "title": title, **asked, "dependencies": list(needs)}, as_json=as_json)


def _add(folder: Path, entry: dict[str, Any], *, as_json: bool) -> None:
    from ralph.domain.text.safe_text import clean_line
    from ralph.operations.tasks import add_task, known_names

    known, defaults = known_names(folder)
    task = add_task(folder, make_task(entry, known))
    print_concerns([task], defaults)
    if as_json:
        print_json({"task": task.to_dict()})
    else:
        print(f"added {clean_line(task.id)}: {clean_line(task.title)}")
