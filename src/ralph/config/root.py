"""Finds the project: where ralph keeps its state, and where the agent works."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ralph.errors import UsageError

STATE_FOLDER = ".ralph"


@dataclass(frozen=True, slots=True)
class Root:
    """``state`` holds ``.ralph/``; ``workspace`` is where the agent works. They differ in a git worktree."""

    state: Path
    workspace: Path


def find_root(start: Path, project_dir: Path | None = None, *, home: Path | None = None) -> Root:
    """``project_dir``, else the nearest ancestor with ``.ralph/``, else the git top level, else ``start``.

    A ``.ralph/`` in the home directory counts only there: otherwise every project below would become one, and an
    agent would work on the whole home directory.
    """
    start = start.resolve()
    if project_dir is not None:
        workspace = (start / project_dir).resolve()
        if not workspace.is_dir():
            message = f"--project-dir: {project_dir} is not a directory"
            raise UsageError(message, hint="give the directory of a project")
    else:
        home = (home or _home() or Path("/")).resolve()
        folders = (start, *start.parents)
        with_state = (f for f in folders if (f / STATE_FOLDER).is_dir() and (f == start or f != home))
        workspace = next(with_state, None) or git_top(start) or start
    return Root(_state_for(workspace), workspace)


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # unknown home directory
        return None


def git_top(start: Path) -> Path | None:
    """The top of the repository that contains ``start``, if any."""
    return next((folder for folder in (start, *start.parents) if _is_repository(folder / ".git")), None)


def _is_repository(marker: Path) -> bool:
    """A file (in a worktree or a submodule), or a folder with a HEAD; an empty folder is not one."""
    return marker.is_file() or (marker / "HEAD").exists() or (marker / "HEAD").is_symlink()


def _state_for(workspace: Path) -> Path:
    """In a worktree, the same place in the main checkout: they all share one record."""
    top = git_top(workspace)
    main = _main_checkout(top) if top is not None else None
    return workspace if top is None or main is None else main / workspace.relative_to(top)


def _main_checkout(top: Path) -> Path | None:
    """A worktree's ``.git`` is a file: ``gitdir: <main checkout>/.git/worktrees/<name>``."""
    marker = top / ".git"
    try:
        if not marker.is_file():
            return None
        key, _, target = marker.read_text(encoding="utf-8", errors="surrogateescape").partition(":")
    except OSError:
        return None
    if key != "gitdir" or "\0" in target:
        return None
    git_dir = (top / target.strip()).resolve()
    # Worktrees of a submodule or of a bare repository have no main checkout to find this way.
    if git_dir.parent.name != "worktrees" or git_dir.parent.parent.name != ".git":
        return None
    main = git_dir.parent.parent.parent
    return main if main.is_dir() else None
