"""``ralph task add``: add the tasks of a file, all or none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ralph.domain.tasks.task import Task
from ralph.domain.text.figures import plural
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder
from ralph.interfaces.cli.tasks.options import print_concerns

HELP = """Add the tasks of a YAML or JSON file: a list, `tasks:`, or a single `task:`. If anything is wrong,
every problem is listed with its line and nothing is added.

\b
Examples:
  ralph task add -f tasks.yaml
  ralph task add -f - --spec auth < tasks.json
  ralph task add -f tasks.yaml --dry-run
"""


@click.command("add", help=HELP)
@click.option("-f", "--file", "name", required=True, metavar="FILE", help="The file; `-` is standard input.")
@click.option("--spec", default="", metavar="SPEC", help="The spec of tasks that do not name one.")
@click.option("--dry-run", is_flag=True, help="Only report problems; add nothing.")
@json_option()
@project_dir_option
def command(name: str, spec: str, dry_run: bool, as_json: bool, project_dir: Path | None) -> None:
    from ralph.operations.task_files import read_tasks, require_addable
    from ralph.operations.tasks import add_tasks, known_names, task_ids

    folder = state_folder(project_dir)
    known, defaults = known_names(folder)
    found = read_tasks(name, known, spec_id=spec)
    require_addable(found, task_ids(folder))
    if not dry_run:
        add_tasks(folder, found.tasks)
    for note in found.notes:
        print(f"ralph: {found.describe(note)}", file=sys.stderr)
    print_concerns(found.tasks, defaults)
    _report(found.tasks, as_json=as_json, dry_run=dry_run)


def _report(tasks: Sequence[Task], *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        print_json({"added": [] if dry_run else [task.id for task in tasks], "valid": len(tasks)})
        return
    count = plural(len(tasks), "task")
    print(f"{count} could be added" if dry_run else f"added {count}")
