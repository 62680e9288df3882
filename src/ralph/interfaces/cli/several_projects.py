"""``--root`` and ``--all``: the projects that one page or screen shows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.text.safe_text import reveal
from ralph.errors import UsageError
from ralph.interfaces.cli.options import PATH, Decorator, all_of

if TYPE_CHECKING:
    from ralph.operations.projects import Project

several_options: Decorator = all_of(
    click.option(
        "--root",
        "roots",
        metavar="DIR",
        type=PATH,
        multiple=True,
        help="A project to show; several, each with its own --root, are shown together.",
    ),
    click.option(
        "--all",
        "every",
        is_flag=True,
        help="Show every project that ralph remembers (setting `projects.remember`, in your own settings).",
    ),
)


def chosen_projects(project_dir: Path | None, roots: Sequence[Path], *, every: bool) -> Sequence[Project]:
    """One, or several of which some may be unusable and say why. Raises UsageError."""
    from ralph.operations.projects import open_project, open_projects, remembered_projects

    if sum((project_dir is not None, bool(roots), every)) > 1:
        message = "--project-dir, --root and --all exclude each other"
        raise UsageError(message, hint="name each project with a --root of its own, or say --all")
    places = list(roots)
    if every:
        places, gone = remembered_projects()
        if gone:
            names = ", ".join(reveal(str(path)) for path in gone)
            print(f"ralph: left out, for they are gone: {names}", file=sys.stderr)
        if not places:
            message = "none of the projects that ralph remembers is there any more"
            raise UsageError(message, hint="name others with --root")
    if not places:
        return (open_project(project_dir),)
    found = open_projects(places)
    if all(project.problem for project in found):
        raise UsageError(found[0].problem, hint=found[0].hint)
    return found
