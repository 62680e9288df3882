"""The options that every command of ``ralph plan`` has: they say which plan is meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.config.root import find_root

if TYPE_CHECKING:
    from ralph.operations.plans import Plan

HELP_NAMES = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--project-dir`` and ``--ralph-dir``."""
    function = click.option(
        "--ralph-dir",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="The plan's directory in the project.  [default: ralph]",
    )(function)
    return click.option(
        "-d",
        "--project-dir",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Project directory.  [default: where .ralph or .git is]",
    )(function)


def the_plan(project_dir: Path | None, ralph_dir: Path | None) -> Plan:
    """The plan that the options mean. Raises UsageError if it does not exist."""
    from ralph.operations.plans import find_plan

    return find_plan(find_root(Path.cwd(), project_dir), ralph_dir)


def review_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--skip-review`` and ``--review-cap``, as `ralph plan run` has them."""
    function = click.option("--skip-review", is_flag=True, help="As for a run that skips reviews.")(function)
    return click.option(
        "--review-cap",
        metavar="N",
        type=click.IntRange(min=1),
        help="Reviews of one story before it is approved at the cap.  [default: from the settings, 5]",
    )(function)
