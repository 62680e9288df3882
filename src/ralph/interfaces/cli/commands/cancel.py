"""``ralph cancel``: stop working on tasks."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.interfaces.cli.project_option import project_dir_option

HELP = """Cancel tasks. If a run is working on one, in this terminal or another, it stops at once; what it has done so far
stays in the task's branch. `ralph task retry` opens the task again."""


@click.command(
    "cancel", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@project_dir_option
def command(tasks: tuple[str, ...], as_json: bool, project_dir: Path | None) -> int:
    from ralph.domain.text.safe_text import clean_line
    from ralph.interfaces.cli.tasks.opening import print_json, state_folder
    from ralph.operations.tasks import cancel_tasks

    ended = cancel_tasks(state_folder(project_dir), tasks)
    if as_json:
        print_json({"tasks": [task.to_dict() for task in ended]})
        return 0
    for task in ended:
        print(f"cancelled: {clean_line(task.id)}")
    return 0
