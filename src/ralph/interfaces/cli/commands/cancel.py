"""``ralph cancel``: stop working on tasks."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder

HELP = """Cancel tasks. If a run is working on one, in this terminal or another, it stops at once; its work so far stays in
the task's branch. `ralph task retry` opens the task again."""


@click.command("cancel", help=HELP)
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@json_option()
@project_dir_option
def command(tasks: tuple[str, ...], as_json: bool, project_dir: Path | None) -> None:
    from ralph.domain.text.safe_text import clean_line
    from ralph.operations.tasks import cancel_tasks

    ended = cancel_tasks(state_folder(project_dir), tasks)
    if as_json:
        print_json({"tasks": [task.to_dict() for task in ended]})
        return
    for task in ended:
        print(f"cancelled: {clean_line(task.id)}")
