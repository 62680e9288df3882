"""``ralph task create``: one task, described by flags."""

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

HELP = """Add one task. ID is its name, SPEC the specification it belongs to, TITLE a one-line summary. An outcome and at
least one acceptance criterion are required: without them nobody could tell whether the task is done.

\b
Example:
  ralph task create TASK-001 my-spec "Implement JWT auth" \\
      --outcome "All API endpoints require valid JWT tokens" \\
      --acceptance "JWT middleware validates tokens" \\
      --acceptance "Invalid tokens return 401" \\
      --coder-promise AUTH_IMPLEMENTED --coder-verify external --coder-verify-cmd "grep -r 'jwt.verify' src/" \\
      --tester-verify-cmd "pytest tests/test_auth.py"
"""


@click.command("create", help=HELP, context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@click.argument("spec_id", metavar="SPEC")
@click.argument("title")
@description_options
@json_option
@project_dir_option
def command(
    task_id: str, spec_id: str, title: str, as_json: bool, project_dir: Path | None, **flags: Any
) -> None:
    from ralph.operations.tasks import add_task

    known, _ = known_names(project_dir)
    entry = {"id": task_id, "spec_id": spec_id, "title": title, **entry_from(flags)}
    report_added(add_task(state_folder(project_dir), make_task(entry, known)), as_json=as_json)
