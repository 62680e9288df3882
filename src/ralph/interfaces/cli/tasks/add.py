"""``ralph task add``: the tasks of a file, all of them or none."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from ralph.domain.tasks.entry_problems import KeyPath, Problem
from ralph.domain.tasks.task import Task
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.tasks.opening import (
    CONTEXT,
    has_record,
    json_option,
    known_names,
    opened,
    print_json,
    project_dir_option,
)
from ralph.interfaces.cli.tasks.reading import TaskText, read_tasks

SHOWN_PROBLEMS = 50

HELP = """Add the tasks of a YAML or JSON file: a list, `tasks:`, or a single `task:`. Everything that is wrong is
listed with its line, and then nothing is added.

\b
Examples:
  ralph task add -f tasks.yaml
  ralph task add -f - --spec auth < tasks.json
  ralph task add -f tasks.yaml --dry-run
"""


@click.command("add", help=HELP, context_settings=CONTEXT)
@click.option("-f", "--file", "name", required=True, metavar="FILE", help="The file; `-` is standard input.")
@click.option("--spec", default="", metavar="SPEC", help="The spec of tasks that name none.")
@click.option("--dry-run", is_flag=True, help="Only say what is wrong.")
@json_option
@project_dir_option
def command(name: str, spec: str, dry_run: bool, as_json: bool, project_dir: Path | None) -> None:
    known, _ = known_names(project_dir)
    found = read_tasks(name, known, spec_id=spec)
    if dry_run and not has_record(project_dir):
        _judge(found, [])
    else:
        with opened(project_dir, make=True) as tasks:
            _judge(found, tasks.store.ids())
            if not dry_run:
                tasks.store.add([task for _, task in found.tasks], at=time.time())
    for note in found.notes:
        print(f"ralph: {found.spelled(note)}", file=sys.stderr)
    _say([task for _, task in found.tasks], as_json=as_json, dry_run=dry_run)


def _judge(found: TaskText, existing: Sequence[str]) -> None:
    """Raises UsageError with all problems, in the order of their lines."""
    problems = [*found.problems, *_together(found.tasks, existing)]
    if not problems:
        return
    problems.sort(key=lambda problem: found.line_of(problem.path))
    lines = [f"  {found.spelled(problem)}" for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"  and {len(problems) - SHOWN_PROBLEMS} more")
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    message = "\n".join([f"{count} in {clean_line(found.name)}:", *lines])
    raise UsageError(message, hint="nothing was added")


def _together(tasks: Sequence[tuple[KeyPath, Task]], existing: Sequence[str]) -> list[Problem]:
    from ralph.domain.tasks.dependencies import circle, twice, unknown

    named = [(path, task) for path, task in tasks if task.id]
    return [*twice(named, existing), *unknown(named, existing), *circle(named, {})]


def _say(tasks: Sequence[Task], *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        print_json({"added": [] if dry_run else [task.id for task in tasks], "valid": len(tasks)})
        return
    count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    print(f"{count} could be added" if dry_run else f"added {count}")
