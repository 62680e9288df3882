"""``ralph task retry``: reopen failed or cancelled tasks."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder

HELP = """Try failed or cancelled tasks again: from where they stopped, or from a role with --from. Their limits start
over; the reasons for which they were sent back are kept for the agent to read."""


@click.command("retry", help=HELP)
@click.argument("task_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--from", "role", metavar="ROLE", help="Start with this role.")
@json_option()
@project_dir_option
def command(task_ids: tuple[str, ...], role: str | None, as_json: bool, project_dir: Path | None) -> None:
    from ralph.operations.tasks import known_names, retry_tasks

    folder = state_folder(project_dir)
    known, _ = known_names(folder)
    if role is not None and role not in known.roles:
        message = f"there is no role {clean_line(role)!r}"
        raise UsageError(message, hint=f"roles: {', '.join(known.roles)}")
    again = retry_tasks(folder, task_ids, role=role)
    if as_json:
        print_json({"tasks": [task.to_dict() for task in again]})
        return
    for task in again:
        where = f", from {clean_line(task.stage)}" if task.stage else ""
        print(f"open again: {clean_line(task.id)}{where}")
