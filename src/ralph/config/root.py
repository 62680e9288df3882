"""Finds the project: where ralph keeps its state, and where the agent works."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ralph.config.project_search import (
    STATE_FOLDER,
    climb,
    is_repository,
    record_place,
    search,
    stranger_in,
)
from ralph.errors import UsageError
from ralph.values import dataclass

__all__ = ["STATE_FOLDER", "Root", "find_root", "git_top", "shares_record"]


@dataclass(frozen=True, slots=True)
class Root:
    """``state`` holds ``.ralph/``; ``workspace`` is where the agent works. They differ in a git worktree."""

    state: Path
    workspace: Path


def find_root(start: Path, project_dir: Path | None = None, *, home: Path | None = None) -> Root:
    """``project_dir``, else the nearest ancestor with ``.ralph/``, else the git top level, else ``start``.

    The search ends at the top of the repository, and at the home directory, which is a project only if ralph is
    started there: otherwise every project below would become one. Raises UsageError if another user owns what was found.
    """
    start = Path(os.path.realpath(start))
    if project_dir is not None:
        workspace = Path(os.path.realpath(start / project_dir))
        if not workspace.is_dir():
            message = f"--project-dir: {project_dir} is not a directory"
            raise UsageError(message, hint="give the directory of a project")
    else:
        home = home or _home() or Path("/")
        workspace = Path(search(str(start), os.path.realpath(home)))
    root = Root(Path(record_place(str(workspace))), workspace)
    for folder in dict.fromkeys((root.state, root.workspace)):
        _require_ours(folder, os.environ)
    return root


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # unknown home directory
        return None


def git_top(start: Path) -> Path | None:
    """The top of the repository that contains ``start``, if any."""
    return next((Path(folder) for folder in climb(str(start)) if is_repository(folder)), None)


def shares_record(workspace: Path, state: Path) -> bool:
    """Whether ralph keeps its state there if it works here: in the project itself, or in a worktree of its repository.

    A record may name any folder, and a clone may bring one: git would run what the configuration of that folder says.
    """
    try:
        workspace, state = (Path(os.path.realpath(path, strict=True)) for path in (workspace, state))
    except (OSError, ValueError):  # gone, or a circle of links
        return False
    return workspace == state or (workspace.is_dir() and Path(record_place(str(workspace))) == state)


def _require_ours(folder: Path, environ: Mapping[str, str]) -> None:
    """Raises UsageError, as git does ("dubious ownership"), if another user could have written what would be obeyed."""
    found = stranger_in(str(folder), environ)
    if found is not None:
        path, owner = found
        message = f"{path} belongs to another user ({_name_of(owner)}), who could choose what ralph runs here"
        import shlex

        hint = f"if you trust them: git config --global --add safe.directory {shlex.quote(str(folder))}"
        raise UsageError(message, hint=hint)


def _name_of(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"uid {user}"
