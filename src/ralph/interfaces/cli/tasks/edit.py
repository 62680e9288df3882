"""``ralph task edit``: change a task by flags, from a file, or in an editor."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from ralph.domain.tasks.entry import Known
from ralph.domain.tasks.task import Task
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder
from ralph.interfaces.cli.tasks.options import (
    TaskCommand,
    description_options,
    entry_from,
    make_task,
    print_concerns,
)

HELP = """Change what a task asks for; its progress stays. Flags change single fields (an empty text clears one), -f
takes the whole task from a file, and without either it opens in your editor. --acceptance and --depends-on replace the
whole list.

\b
Examples:
  ralph task edit TASK-001 --priority 1
  ralph task edit TASK-001 --tester-verify-cmd "make test"
  ralph task edit TASK-001
"""


@click.command("edit", cls=TaskCommand, help=HELP)
@click.argument("task_id", metavar="ID")
@click.option(
    "-f", "--file", "name", metavar="FILE", help="The new definition of the task; `-` is standard input."
)
@click.option("--title", metavar="TEXT", help="A one-line summary.")
@click.option("--spec", metavar="SPEC", help="The specification it belongs to.")
@click.option("--no-dependencies", is_flag=True, help="Remove all dependencies.")
@description_options
@json_option()
@project_dir_option
def command(
    task_id: str,
    name: str | None,
    title: str | None,
    spec: str | None,
    no_dependencies: bool,
    as_json: bool,
    project_dir: Path | None,
    **flags: Any,
) -> None:
    from ralph.operations.tasks import editable_task, known_names, redefine_task

    folder = state_folder(project_dir)
    known, defaults = known_names(folder)
    before = editable_task(folder, task_id)
    changed: dict[str, object] = {
        "title": title,
        "spec_id": spec,
        "dependencies": [] if no_dependencies else None,
    }
    given = {key: value for key, value in changed.items() if value is not None}
    if name is not None:
        wanted = _from_text(name, known, before.id)
    elif given or any(value not in (None, ()) for value in flags.values()):
        wanted = _from_flags(before, given, flags, known)
    else:
        wanted = _from_editor(before, known)
    after = redefine_task(folder, before.id, wanted, is_typed=name is None)
    print_concerns([after], defaults)
    if as_json:
        print_json({"task": after.to_dict()})
    else:
        what = "nothing changed in" if after == before else "changed"
        print(f"{what} {clean_line(after.id)}: {clean_line(after.title)}")


def _from_flags(before: Task, given: dict[str, Any], flags: dict[str, Any], known: Known) -> Task:
    from ralph.operations.task_files import definition

    return make_task({**entry_from(flags, definition(before)), **given}, known)


def _from_text(name: str, known: Known, task_id: str, *, text: str | None = None) -> Task:
    from ralph.operations.task_files import read_tasks, require_only

    return require_only(read_tasks(name, known, text=text), task_id)


def _from_editor(before: Task, known: Known) -> Task:
    from ralph.operations.task_files import tasks_text

    if not sys.stdin.isatty() and not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        message = "there is nothing to change, and no terminal to edit on"
        raise UsageError(message, hint="give a flag such as --priority, or a file with -f")
    text = click.edit(tasks_text([before]), extension=".yaml", require_save=True)
    return before if text is None else _from_text("the edited text", known, before.id, text=text)
