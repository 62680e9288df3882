"""Look at several projects at once: those named, or those that ralph remembers because its user wants that."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.config.root import STATE_FOLDER, find_root
from ralph.errors import RalphError, UsageError
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.adapters.storage.feed import Feed
    from ralph.config.loading import Loaded
    from ralph.domain.views.overview import ProjectLook

RUNS_COUNTED = 1_000
"""Of each project, for what it costs; one with more costs at least that."""
REMEMBER = ("projects", "remember")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """``workspace``: where a run that is started for it works; ``state_folder``: where its record is.

    ``problem``: why it cannot be used at all; then nothing of it is read.
    """

    key: str
    name: str
    workspace: Path
    state_folder: Path
    problem: str = ""
    hint: str = ""


def open_project(place: Path | None) -> Project:
    """The one at ``place``, or the nearest. Raises UsageError."""
    root = find_root(Path.cwd(), place)
    return _project(root.state, root.workspace, root.state.name or "/")


def open_projects(places: Sequence[Path]) -> tuple[Project, ...]:
    """Each once, in the order given; one that cannot be used says why, and takes none of the others down."""
    from ralph.domain.views.overview import distinguish

    found: dict[Path, tuple[Path, str, str]] = {}
    for place in places:
        state, workspace, problem, hint = _look_for(place)
        found.setdefault(state, (workspace, problem, hint))
    names = distinguish([str(state) for state in found])
    return tuple(
        _project(state, workspace, name, problem, hint)
        for (state, (workspace, problem, hint)), name in zip(found.items(), names, strict=True)
    )


def _look_for(place: Path) -> tuple[Path, Path, str, str]:
    real = Path(os.path.realpath(place))
    if not real.is_dir():
        return real, real, f"{place} is not a folder", "give the folder of a project"
    try:
        root = find_root(Path.cwd(), real)
    except UsageError as error:
        return real, real, error.message, error.hint
    return root.state, root.workspace, "", ""


def _project(state: Path, workspace: Path, name: str, problem: str = "", hint: str = "") -> Project:
    from hashlib import sha256  # loads OpenSSL, which a run never needs for this

    key = sha256(os.fsencode(state)).hexdigest()[:12]
    return Project(
        key=key,
        name=name,
        workspace=workspace,
        state_folder=state / STATE_FOLDER,
        problem=problem,
        hint=hint,
    )


def look_at(project: Project, feed: Feed) -> ProjectLook:
    """What all projects' page shows of one. Raises RalphError if its record cannot be read."""
    from ralph.domain.views.overview import ProjectLook, live_wholes, runs_for_person

    if not project.workspace.is_dir():
        message = "its folder is gone"
        raise UsageError(message, hint=f"it was {project.workspace}")
    runs = feed.runs(limit=RUNS_COUNTED)
    shown = (*live_wholes(runs), *runs_for_person(runs))
    return ProjectLook(
        key=project.key,
        name=project.name,
        place=str(project.workspace),
        runs=runs,
        boards=feed.boards(),
        titles={run.id: str(feed.label(run.id)) for run in shown},
        is_cut=len(runs) >= RUNS_COUNTED,
    )


def unreadable(project: Project, error: RalphError | None = None) -> ProjectLook:
    """A project of which nothing can be shown but why."""
    from ralph.domain.views.overview import ProjectLook

    return ProjectLook(
        key=project.key,
        name=project.name,
        place=str(project.workspace),
        problem=project.problem if error is None else error.message,
        hint=project.hint if error is None else error.hint,
    )


# --- the list of them ---


def remembered_projects(environ: Mapping[str, str] = os.environ) -> tuple[list[Path], list[Path]]:
    """Those that are there, and those that are gone. Raises UsageError, saying how to begin, if none was remembered."""
    from ralph.adapters.project_list import read_projects

    listed = [Path(path) for path in read_projects(environ)]
    if not listed:
        message = "ralph remembers no projects yet"
        hint = (
            'set {"projects": {"remember": true}} in ~/.config/ralph/settings.json: from then on it remembers where it runs;'
            " or name them with --root"
        )
        raise UsageError(message, hint=hint)
    there = [path for path in listed if path.is_dir()]
    return there, [path for path in listed if path not in there]


def remember_project(loaded: Loaded, *, environ: Mapping[str, str] = os.environ) -> None:
    """If its user wants that. Raises OSError."""
    if not wants_to_remember(loaded):
        return
    from ralph.adapters.project_list import add_project

    add_project(os.path.realpath(loaded.root), environ)


def wants_to_remember(loaded: Loaded) -> bool:
    """A repository has no say in it: neither its settings nor what lies in its folder as the user's local ones."""
    if loaded.project.origins.get(REMEMBER) != loaded.origin(REMEMBER):
        return loaded.settings.projects.remember
    own = loaded.own.values.get("projects")
    return isinstance(own, Mapping) and own.get("remember") is True
