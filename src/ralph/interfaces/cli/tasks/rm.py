"""``ralph task rm``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.tasks.opening import CONTEXT, json_option, opened, print_json, project_dir_option

HELP = """Remove tasks with their history. Tasks that waited for them wait no longer: they are named first. A task that
is being worked on is never removed. Branches and commits stay."""


@click.command("rm", help=HELP, context_settings=CONTEXT)
@click.argument("task_ids", metavar="ID...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@project_dir_option
def command(task_ids: tuple[str, ...], yes: bool, as_json: bool, project_dir: Path | None) -> None:
    with opened(project_dir, writes=True) as tasks:
        names = list(dict.fromkeys(tasks.store.exact_id(name) for name in task_ids))
        waiting = {name: [one for one in tasks.store.dependents(name) if one not in names] for name in names}
        for name, others in waiting.items():
            if others:
                shown = ", ".join(map(clean_line, others))
                print(f"ralph: {clean_line(name)} is needed by {shown}", file=sys.stderr)
        _ask(names, yes=yes)
        tasks.store.remove(names, at=time.time())
    if as_json:
        print_json(
            {"removed": names, "dependents": sorted({one for some in waiting.values() for one in some})}
        )
    else:
        print(f"removed {', '.join(map(clean_line, names))}")


def _ask(names: list[str], *, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = "nothing was removed: there is no terminal to ask on"
        raise UsageError(message, hint="give --yes to remove them")
    click.confirm(f"Remove {', '.join(map(clean_line, names))}?", abort=True)
