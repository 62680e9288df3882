"""What the task commands have in common: the store, the roles and methods that are known, JSON on request."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.config.root import STATE_FOLDER, find_root
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.stored_runs import project_dir_option

if TYPE_CHECKING:
    from ralph.adapters.storage.task_history import TaskHistory
    from ralph.adapters.storage.tasks import TaskStore
    from ralph.domain.tasks.entry import Known
    from ralph.domain.tasks.roles import CompletionDefaults

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

json_option: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

__all__ = ["CONTEXT", "Tasks", "json_option", "known_names", "opened", "print_json", "project_dir_option"]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one project and what became of them."""

    store: TaskStore
    history: TaskHistory


@contextmanager
def opened(project_dir: Path | None, *, make: bool = False, writes: bool = False) -> Iterator[Tasks]:
    """``make``: at first use the record is made; otherwise UsageError says that there is nothing yet.

    Raises UsageError for who wants to write from inside the work on a task."""
    if make or writes:
        refuse_inside_a_task()
    folder = find_root(Path.cwd(), project_dir).state / STATE_FOLDER
    path = folder / "ralph.db"
    if not make and not path.exists():
        message = "there are no tasks here yet"
        raise UsageError(message, hint="add some with `ralph task create` or `task add`")
    from ralph.adapters.processes.identity import started_of, this_process
    from ralph.adapters.storage.database import open_state_database
    from ralph.adapters.storage.task_history import TaskHistory
    from ralph.adapters.storage.tasks import TaskStore

    with closing(open_state_database(folder)) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        yield Tasks(store, TaskHistory(database, path))


def refuse_inside_a_task() -> None:
    """What the tasks of a project are is not for those to say who work on them."""
    if task := os.environ.get("RALPH_TASK_ID"):
        message = f"this is inside the work on task {clean_line(task)}, which does not change tasks"
        raise UsageError(message, hint="say in your final words what should change; a person decides")


def has_record(project_dir: Path | None) -> bool:
    return (find_root(Path.cwd(), project_dir).state / STATE_FOLDER / "ralph.db").exists()


def known_names(project_dir: Path | None) -> tuple[Known, CompletionDefaults]:
    """Roles by the settings, methods by what is installed. Raises ConfigError if the settings are wrong."""
    from ralph.adapters.checks.custom_method import is_custom_method
    from ralph.config.loading import load
    from ralph.domain.tasks.entry import Known
    from ralph.wiring.roles import completion_defaults

    root = find_root(Path.cwd(), project_dir).state
    defaults = completion_defaults(load(root, environ=os.environ).settings)
    return Known(tuple(defaults.roles), is_custom_method), defaults


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))
