"""``ralph task list``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.views.tasks import TaskFilter, TaskView
from ralph.interfaces.cli.tasks.opening import (
    CONTEXT,
    json_option,
    print_json,
    project_dir_option,
    state_folder,
)

LIMIT = 50

HELP = """List tasks, the most urgent first.

\b
ready      can be started now
waiting    depends on tasks that are not done yet
blocked    depends on a task that failed or was cancelled
working    a run is working on it
accepted   every role accepted it; its branch is not merged yet
done, failed, cancelled: how it ended

\b
Examples:
  ralph task list --status failed
  ralph task list --json | jq -r '.tasks[] | select(.state == "ready") | .id'
"""


@click.command("list", help=HELP, context_settings=CONTEXT)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([status.value for status in TaskStatus]),
    help="Only tasks with this status; may be repeated.",
)
@click.option("--ready", is_flag=True, help="Only tasks that can be started now.")
@click.option("--spec", default="", metavar="SPEC", help="Only tasks of this spec.")
@click.option("--stage", default="", metavar="ROLE", help="Only tasks at this stage.")
@click.option("--assignee", default="", metavar="NAME", help="Only tasks of this assignee.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help=f"At most N.  [default: {LIMIT}; JSON: all]"
)
@click.option("-a", "--all", "show_all", is_flag=True, help="Show all tasks.")
@json_option
@project_dir_option
def command(
    statuses: Sequence[str],
    ready: bool,
    spec: str,
    stage: str,
    assignee: str,
    limit: int | None,
    show_all: bool,
    as_json: bool,
    project_dir: Path | None,
) -> None:
    from ralph.operations.tasks import list_tasks

    wanted = TaskFilter(
        statuses=tuple(TaskStatus(status) for status in statuses),
        spec_id=spec,
        stage=stage,
        assignee=assignee,
        ready=ready,
    )
    most = limit if limit is not None or show_all or as_json else LIMIT
    views, count = list_tasks(state_folder(project_dir), wanted, limit=most)
    _print(views, count, as_json=as_json)


def _print(views: Sequence[TaskView], count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"tasks": [view_data(view) for view in views], "count": count})
        return
    if not views:
        print("no tasks here yet" if not count else "no such tasks")
        return
    from ralph.interfaces.cli.console.terminal import detect_look
    from ralph.interfaces.cli.tasks.table import task_lines

    look = detect_look(sys.stdout, os.environ, max_lines=None, max_chars=None)
    lines = task_lines(views, look=look, width=look.width if sys.stdout.isatty() else None)
    if count > len(views):
        lines.append(f"and {count - len(views)} more; --all shows them")
    print("\n".join(lines))


def view_data(view: TaskView) -> dict[str, Any]:
    """The task and what a screen says of it."""
    return {
        **view.task.to_dict(),
        "state": view.state.value,
        "waits_for": list(view.waits_for),
        "run_id": view.run_id,
    }
