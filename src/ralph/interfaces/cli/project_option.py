"""``--project-dir``: the project that a command looks at, and where its record is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

project_dir_option: Callable[[Any], Any] = click.option(
    "--project-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The project's directory.  [default: the nearest with .ralph or .git]",
)


def state_folder(project_dir: Path | None) -> Path:
    from ralph.config.root import STATE_FOLDER, find_root

    return find_root(Path.cwd(), project_dir).state / STATE_FOLDER
