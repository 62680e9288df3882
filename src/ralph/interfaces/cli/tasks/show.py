"""``ralph task show``: what a task asks for, its progress, and its history."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.domain.tasks.criteria import concerns_about, criteria_for
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.interfaces.cli.tasks.list import view_data
from ralph.interfaces.cli.tasks.opening import (
    CONTEXT,
    json_option,
    known_names,
    print_json,
    project_dir_option,
    state_folder,
)

if TYPE_CHECKING:
    from ralph.operations.tasks import TaskDetail

VERIFICATIONS = 5

HELP = """Show everything about a task: its outcome, the criteria of each role with the defaults filled in, its progress,
the latest verifications, and its history.

\b
Example:
  ralph task show TASK-001 --json | jq .criteria.coder
"""


@click.command("show", help=HELP, context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@json_option
@project_dir_option
def command(task_id: str, as_json: bool, project_dir: Path | None) -> None:
    from ralph.operations.tasks import show_task

    detail = show_task(state_folder(project_dir), task_id)
    _, defaults = known_names(project_dir)
    if as_json:
        print_json(_data(detail, defaults))
        return
    from ralph.interfaces.cli.console.terminal import detect_look
    from ralph.interfaces.cli.tasks.detail import detail_lines

    look = detect_look(sys.stdout, os.environ, max_lines=None, max_chars=None)
    lines = detail_lines(
        detail.view,
        defaults,
        dependents=detail.dependents,
        verifications=detail.verifications[:VERIFICATIONS],
        events=detail.events,
        look=look,
        now=time.time(),
    )
    print("\n".join(lines))


def _data(detail: TaskDetail, defaults: CompletionDefaults) -> dict[str, Any]:
    task = detail.view.task
    return {
        "task": view_data(detail.view),
        "criteria": {role: criteria_for(task, role, defaults).to_dict() for role in defaults.roles},
        "concerns": list(concerns_about(task)),
        "dependents": list(detail.dependents),
        "verifications": [asdict(record) for record in detail.verifications],
        "stages": [asdict(record) for record in detail.stages],
        "events": [asdict(event) for event in detail.events],
    }
