"""``ralph task list``: the tasks as a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.views.tasks import TaskFilter, TaskState, TaskView
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder
from ralph.interfaces.cli.table import Cell, Column, table_lines

LIMIT = 50

COLOR_OF: dict[TaskState, str] = {
    TaskState.READY: "bold",
    TaskState.WAITING: "dim",
    TaskState.BLOCKED: "yellow",
    TaskState.WORKING: "cyan",
    TaskState.ACCEPTED: "cyan",
    TaskState.DONE: "green",
    TaskState.FAILED: "red",
    TaskState.CANCELLED: "yellow",
}
COLUMNS = (
    Column("task"),
    Column("state"),
    Column("stage", 1),
    Column("iterations", 2),
    Column("priority", 4),
    Column("waits for", 3),
    Column("title"),
)

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


@click.command("list", help=HELP)
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
@json_option()
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
    lines = table_lines(COLUMNS, [row_of(view) for view in views], sys.stdout)
    if count > len(views):
        lines.append(f"and {count - len(views)} more; --all shows them")
    print("\n".join(lines))


def row_of(view: TaskView) -> tuple[Cell | str, ...]:
    task = view.task
    first, *others = view.waits_for or ("",)
    return (
        task.id,
        Cell(view.state.value, COLOR_OF[view.state]),
        task.stage,
        str(task.iteration),
        str(task.priority),
        f"{first} +{len(others)}" if others else first,
        task.title,
    )


def view_data(view: TaskView) -> dict[str, Any]:
    """The task and its state as JSON."""
    return {
        **view.task.to_dict(),
        "state": view.state.value,
        "waits_for": list(view.waits_for),
        "run_id": view.run_id,
    }
