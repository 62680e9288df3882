"""``ralph task show``: what a task asks for, how far it is, and how it came there."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ralph.domain.tasks.criteria import concerns_about, criteria_for
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.views.tasks import TaskView, view_of
from ralph.interfaces.cli.tasks.list import view_data
from ralph.interfaces.cli.tasks.opening import (
    CONTEXT,
    Tasks,
    json_option,
    known_names,
    opened,
    print_json,
    project_dir_option,
)

HELP = """Show all of a task: outcome, criteria by role with the defaults filled in, progress, the latest
verifications and what happened to it.

\b
Example:
  ralph task show TASK-001 --json | jq .criteria.coder
"""


@click.command("show", help=HELP, context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@json_option
@project_dir_option
def command(task_id: str, as_json: bool, project_dir: Path | None) -> None:
    with opened(project_dir) as tasks:
        view = _view(tasks, task_id)
        _, defaults = known_names(project_dir)
        if as_json:
            print_json(_data(tasks, view, defaults))
            return
        from ralph.interfaces.cli.console.terminal import detect_look
        from ralph.interfaces.cli.tasks.detail import detail_lines

        name = view.task.id
        look = detect_look(sys.stdout, os.environ, max_lines=None, max_chars=None)
        lines = detail_lines(
            view,
            defaults,
            dependents=tasks.store.dependents(name),
            verifications=tasks.history.verifications(name, limit=5),
            events=tasks.history.events(name),
            look=look,
            now=time.time(),
        )
        print("\n".join(lines))


def _view(tasks: Tasks, task_id: str) -> TaskView:
    task = tasks.store.get(task_id)
    unfinished = {other.id: other.status for other in tasks.store.waiting_for(task.id)}
    claim = tasks.store.claim_of(task.id)
    return view_of(task, unfinished, None if claim is None else claim.run_id)


def _data(tasks: Tasks, view: TaskView, defaults: CompletionDefaults) -> dict[str, Any]:
    task = view.task
    return {
        "task": view_data(view),
        "criteria": {role: criteria_for(task, role, defaults).to_dict() for role in defaults.roles},
        "concerns": list(concerns_about(task)),
        "dependents": list(tasks.store.dependents(task.id)),
        "verifications": [asdict(record) for record in tasks.history.verifications(task.id)],
        "stages": [asdict(record) for record in tasks.history.stages(task_id=task.id)],
        "events": [asdict(event) for event in tasks.history.events(task.id)],
    }
