"""``ralph task edit``: by flags, from a file, or in an editor."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ralph.domain.tasks.entry import Known
from ralph.domain.tasks.task import Task
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.tasks.flags import description_options, entry_from
from ralph.interfaces.cli.tasks.making import made
from ralph.interfaces.cli.tasks.opening import (
    CONTEXT,
    json_option,
    known_names,
    opened,
    print_json,
    project_dir_option,
)
from ralph.interfaces.cli.tasks.reading import read_tasks

HELP = """Change what a task asks for; its progress stays. Flags change single things (an empty text takes one back),
-f takes the whole task from a file, and without either it opens in your editor. --acceptance and --depends-on replace
all that were there.

\b
Examples:
  ralph task edit TASK-001 --priority 1
  ralph task edit TASK-001 --tester-verify-cmd "make test" --tester-max-iterations 20
  ralph task edit TASK-001
"""


@click.command("edit", help=HELP, context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@click.option("-f", "--file", "name", metavar="FILE", help="The task as it is to be; `-` is standard input.")
@click.option("--title", metavar="TEXT", help="What it says in a line.")
@click.option("--spec", metavar="SPEC", help="What it belongs to.")
@click.option("--no-dependencies", is_flag=True, help="Let it wait for nothing.")
@description_options
@json_option
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
    known, _ = known_names(project_dir)
    with opened(project_dir, writes=True) as tasks:
        before = tasks.store.get(task_id)
        if (claim := tasks.store.claim_of(before.id)) is not None:
            message = f"task {before.id} is being worked on by run {claim.run_id or claim.owner.pid}"
            raise UsageError(message, hint=f"end it first, with `ralph cancel {before.id}`")
        changed: dict[str, object] = {
            "title": title,
            "spec_id": spec,
            "dependencies": [] if no_dependencies else None,
        }
        given = {key: value for key, value in changed.items() if value is not None}
        if name is not None:
            wanted = _only(name, known, before.id)
        elif given or any(value not in (None, ()) for value in flags.values()):
            wanted = _with(before, given, flags, known)
        else:
            wanted = _edited(before, known)
        after = tasks.store.change(before.id, lambda task: _redefined(task, wanted), at=time.time())
    if as_json:
        print_json({"task": after.to_dict()})
    else:
        same = after == before
        print(
            f"{'nothing changed in' if same else 'changed'} {clean_line(after.id)}: {clean_line(after.title)}"
        )


def _redefined(task: Task, wanted: Task) -> Task:
    """What it asks for from ``wanted``, how far it is from the task."""
    return replace(
        task,
        title=wanted.title,
        spec_id=wanted.spec_id,
        description=wanted.description,
        priority=wanted.priority,
        dependencies=wanted.dependencies,
        assignee=wanted.assignee,
        metadata=wanted.metadata,
        completion_spec=wanted.completion_spec,
        budget=wanted.budget,
    )


def _with(before: Task, given: dict[str, Any], flags: dict[str, Any], known: Known) -> Task:
    from ralph.adapters.documents.task_file import definition

    return made({**entry_from(flags, definition(before)), **given}, known)


def _only(name: str, known: Known, task_id: str, *, text: str | None = None) -> Task:
    """The one task of a file, which must be the one that is meant."""
    found = read_tasks(name, known, text=text)
    if found.problems:
        lines = [f"  {found.spelled(problem)}" for problem in found.problems]
        message = "\n".join([f"problems in {clean_line(found.name)}:", *lines])
        raise UsageError(message, hint="nothing was changed")
    tasks = [task for _, task in found.tasks]
    if len(tasks) != 1 or tasks[0].id != task_id:
        names = ", ".join(clean_line(task.id) for task in tasks[:5])
        message = f"{clean_line(found.name)} must hold task {task_id} alone, found {names}"
        raise UsageError(message, hint="an id cannot be changed; nothing was changed")
    return tasks[0]


def _edited(before: Task, known: Known) -> Task:
    from ralph.adapters.documents.task_file import as_yaml

    if not sys.stdin.isatty() and not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        message = "there is nothing to change, and no terminal to edit on"
        raise UsageError(message, hint="give a flag such as --priority, or a file with -f")
    text = click.edit(as_yaml([before]), extension=".yaml", require_save=True)
    return before if text is None else _only("the edited text", known, before.id, text=text)
