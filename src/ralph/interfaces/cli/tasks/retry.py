"""``ralph task retry``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ralph.domain.tasks.task import can_be_reopened, reopened
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.tasks.opening import (
    CONTEXT,
    json_option,
    known_names,
    opened,
    print_json,
    project_dir_option,
)

HELP = """Let tasks that failed or were cancelled be tried once more: where they stood, or from a role with --from. Their
limits begin anew; why they came back is kept for the agent to read."""


@click.command("retry", help=HELP, context_settings=CONTEXT)
@click.argument("task_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--from", "role", metavar="ROLE", help="Begin with this role.")
@json_option
@project_dir_option
def command(task_ids: tuple[str, ...], role: str | None, as_json: bool, project_dir: Path | None) -> None:
    known, _ = known_names(project_dir)
    if role is not None and role not in known.roles:
        message = f"there is no role {clean_line(role)!r}"
        raise UsageError(message, hint=f"roles: {', '.join(known.roles)}")
    with opened(project_dir, writes=True) as tasks:
        found = [tasks.store.get(name) for name in dict.fromkeys(task_ids)]
        for task in found:
            if not can_be_reopened(task):
                hint = "add what is missing with `ralph task followup`" if task.status == "done" else ""
                message = (
                    f"task {clean_line(task.id)} is {task.status}: only failed or cancelled ones are retried"
                )
                raise UsageError(message, hint=hint)
        now = time.time()
        again = [tasks.store.change(task.id, lambda one: reopened(one, role), at=now) for task in found]
    if as_json:
        print_json({"tasks": [task.to_dict() for task in again]})
        return
    for task in again:
        where = f", from {clean_line(task.stage)}" if task.stage else ""
        print(f"open again: {clean_line(task.id)}{where}")
