"""The options that the commands of ``ralph plan`` share: which plan, and how it is reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.interfaces.cli.options import PATH, all_of, make_project_dir_option

if TYPE_CHECKING:
    from ralph.operations.plans import Plan

plan_options = all_of(
    make_project_dir_option("-d"),
    click.option(
        "--ralph-dir", metavar="DIR", type=PATH, help="The plan's directory in the project.  [default: ralph]"
    ),
)
review_options = all_of(
    click.option(
        "--review-cap",
        metavar="N",
        type=click.IntRange(min=1),
        help="Reviews of one story before it is approved at the cap.  [default: from the settings, 5]",
    ),
    click.option("--skip-review", is_flag=True, help="As for a run that skips reviews."),
)


def the_plan(project_dir: Path | None, ralph_dir: Path | None) -> Plan:
    """The plan that the options name. Raises UsageError if it does not exist."""
    from ralph.config.root import find_root
    from ralph.operations.plans import find_plan

    return find_plan(find_root(Path.cwd(), project_dir), ralph_dir)
