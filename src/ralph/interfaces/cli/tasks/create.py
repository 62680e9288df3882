"""``ralph task create``: one task from flags (seed 002's task-create)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from ralph.interfaces.cli.tasks.flags import description_options, entry_from
from ralph.interfaces.cli.tasks.making import made, say_added
from ralph.interfaces.cli.tasks.opening import CONTEXT, json_option, known_names, opened, project_dir_option

HELP = """Add one task. ID names it, SPEC is what it belongs to, TITLE says it in a line. An outcome and at least one
acceptance criterion are required: without them nobody could tell whether it is done.

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
    known, _ = known_names(project_dir)
    entry = {"id": task_id, "spec_id": spec_id, "title": title, **entry_from(flags)}
    task = made(entry, known)
    with opened(project_dir, make=True) as tasks:
        tasks.store.add([task], at=time.time())
        say_added(tasks.store.get(task.id), as_json=as_json)
