"""What the reading commands have in common: where the record is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ralph.config.root import STATE_FOLDER, find_root

project_dir_option: Callable[[Any], Any] = click.option(
    "--project-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Project to look at.  [default: where .ralph or .git is]",
)


def state_folder(project_dir: Path | None) -> Path:
    return find_root(Path.cwd(), project_dir).state / STATE_FOLDER
