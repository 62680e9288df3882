"""``ralph task rm``: remove tasks with their history."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder

HELP = """Remove tasks with their history. Tasks that depend on them are named first and no longer wait for them. A task
that a run is working on is never removed. Branches and commits stay."""


@click.command("rm", help=HELP)
@click.argument("task_ids", metavar="ID...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option()
@project_dir_option
def command(task_ids: tuple[str, ...], yes: bool, as_json: bool, project_dir: Path | None) -> None:
    from ralph.operations.tasks import remove_tasks, tasks_to_remove

    folder = state_folder(project_dir)
    waiting = tasks_to_remove(folder, task_ids)
    names = list(waiting)
    for name, others in waiting.items():
        if others:
            shown = ", ".join(map(clean_line, others))
            print(f"ralph: {clean_line(name)} is needed by {shown}", file=sys.stderr)
    _confirm(names, yes=yes)
    remove_tasks(folder, names)
    if as_json:
        print_json(
            {"removed": names, "dependents": sorted({one for some in waiting.values() for one in some})}
        )
    else:
        print(f"removed {', '.join(map(clean_line, names))}")


def _confirm(names: list[str], *, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = "nothing was removed: there is no terminal to ask on"
        raise UsageError(message, hint="give --yes to remove them")
    click.confirm(f"Remove {', '.join(map(clean_line, names))}?", abort=True)
