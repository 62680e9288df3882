"""Where git keeps what it *runs*: hooks and configuration. An agent may commit, but not change these.

Everything else of git's own folder is writable. What ralph or the user runs later, outside, is decided by
configuration and hooks alone, so these are read-only, and so are the files that say where they lie.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HOOKS_PATH = re.compile(r"^\s*hookspath\s*=\s*\"?(.+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GitPlaces:
    writable: tuple[Path, ...] = ()
    readonly: tuple[Path, ...] = ()


def git_places(workspace: Path) -> GitPlaces:
    """Of the repository that ``workspace`` lies in; nothing if it lies in none."""
    top = next((folder for folder in (workspace, *workspace.parents) if (folder / ".git").exists()), None)
    if top is None:
        return GitPlaces()
    marker = top / ".git"
    if marker.is_dir():
        common = own = marker.resolve()
    else:
        found = _worktree_folder(marker)
        if found is None:
            return GitPlaces(readonly=(marker,))
        own = found
        common = _common_folder(own)
    writable = [common] if own == common or common in own.parents else [common, own]
    readonly = [*_running(common)]
    if marker.is_file():
        readonly.append(marker)
    if own != common:
        # The main checkout and other worktrees are somebody else's work.
        readonly += [path for name in ("HEAD", "index") if (path := common / name).exists()]
        readonly += [
            path for name in ("commondir", "gitdir", "config.worktree") if (path := own / name).exists()
        ]
    worktrees = common / "worktrees"
    if worktrees.is_dir():
        readonly += [path for path in sorted(worktrees.iterdir()) if path != own]
    readonly += _own_hooks(common, top)
    return GitPlaces(tuple(writable), tuple(dict.fromkeys(readonly)))


def _running(folder: Path) -> Iterator[Path]:
    """The files of one git folder, and of the submodules' folders in it, that make git run something."""
    hooks = folder / "hooks"
    if not hooks.exists():
        hooks.mkdir()  # or the agent would make it
    yield hooks
    for name in ("config", "config.worktree"):
        if (folder / name).exists():
            yield folder / name
    modules = folder / "modules"
    if modules.is_dir():
        for config in sorted(modules.rglob("config")):
            if (config.parent / "objects").is_dir():
                yield from _running(config.parent)


def _own_hooks(common: Path, top: Path) -> list[Path]:
    """A ``core.hooksPath`` inside of the project, as some hook managers have it."""
    try:
        config = (common / "config").read_text(errors="replace")
    except OSError:
        return []
    folders = (top / Path(found).expanduser() for found in _HOOKS_PATH.findall(config))
    return [folder for folder in folders if folder.is_dir()]


def _worktree_folder(marker: Path) -> Path | None:
    """What a ``.git`` file points to."""
    text = marker.read_text(errors="replace").strip()
    if not text.startswith("gitdir:"):
        return None
    folder = marker.parent / text.removeprefix("gitdir:").strip()
    return folder.resolve() if folder.is_dir() else None


def _common_folder(own: Path) -> Path:
    try:
        return (own / (own / "commondir").read_text().strip()).resolve()
    except OSError:  # a submodule's folder has no other
        return own
