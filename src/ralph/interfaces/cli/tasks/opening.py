"""What the task commands have in common: where the record is, and JSON on request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.interfaces.cli.project_option import project_dir_option, state_folder

if TYPE_CHECKING:
    from ralph.domain.tasks.entry import Known
    from ralph.domain.tasks.roles import CompletionDefaults

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

json_option: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

__all__ = ["CONTEXT", "json_option", "known_names", "print_json", "project_dir_option", "state_folder"]


def known_names(project_dir: Path | None) -> tuple[Known, CompletionDefaults]:
    """The roles and methods of the project. Raises ConfigError if the settings are wrong."""
    from ralph.operations import tasks

    return tasks.known_names(state_folder(project_dir))


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))
