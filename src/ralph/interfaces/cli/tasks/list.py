"""``ralph task list``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.views.tasks import TaskView, view_of
from ralph.interfaces.cli.tasks.opening import (
    CONTEXT,
    Tasks,
    has_record,
    json_option,
    opened,
    print_json,
    project_dir_option,
)

LIMIT = 50

HELP = """List tasks, the most urgent first.

\b
ready      could be begun now
waiting    for tasks that are not done yet
blocked    by a task that failed or was cancelled
working    a run is at it
accepted   every role accepted it; its branch is still to be merged
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
    help="Only these; may be repeated.",
)
@click.option("--ready", is_flag=True, help="Only what could be begun now.")
@click.option("--spec", default="", metavar="SPEC", help="Only tasks of this spec.")
@click.option("--stage", default="", metavar="ROLE", help="Only tasks at this stage.")
@click.option("--assignee", default="", metavar="NAME", help="Only tasks of this assignee.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help=f"At most N.  [default: {LIMIT}; JSON: all]"
)
@click.option("-a", "--all", "show_all", is_flag=True, help="All of them.")
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
    if not has_record(project_dir):
        _print([], 0, as_json=as_json)
        return
    from ralph.adapters.storage.tasks import TaskFilter

    wanted = TaskFilter(
        statuses=tuple(TaskStatus(status) for status in statuses),
        spec_id=spec,
        stage=stage,
        assignee=assignee,
        ready=ready,
    )
    most = limit if limit is not None or show_all or as_json else LIMIT
    with opened(project_dir) as tasks:
        _print(_views(tasks, wanted, most), tasks.store.count(wanted), as_json=as_json)


def _views(tasks: Tasks, wanted: Any, limit: int | None) -> list[TaskView]:
    unfinished = tasks.store.unfinished()
    claims = tasks.store.claims()
    return [
        view_of(task, unfinished, claims[task.id].run_id if task.id in claims else None)
        for task in tasks.store.list(wanted, limit=limit)
    ]


def _print(views: list[TaskView], count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"tasks": [view_data(view) for view in views], "count": count})
        return
    if not views:
        print("no tasks here yet" if not count else "no such tasks")
        return
    from ralph.interfaces.cli.console.terminal import detect_look
    from ralph.interfaces.cli.tasks.table import render_tasks

    look = detect_look(sys.stdout, os.environ, max_lines=None, max_chars=None)
    lines = render_tasks(views, look=look, width=look.width if sys.stdout.isatty() else None)
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
