"""Where git keeps a repository's files, and its configuration read as text: asking git would cost a process each time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ralph.adapters.files import expand_home, is_true, read_whole, real_path
from ralph.domain.text.git_config import parse_git_config
from ralph.errors import ConfigError

MARKER = ".git"
WORKTREES = "worktrees"
COMMON_DIR = "commondir"
ITSELF = ".\n"
"""A ``commondir`` that leads nowhere else, as there is one while a confined agent works."""
_MARKER_BYTES = 1 << 20  # git's own limit
_MOST_BYTES = 1_000_000
_MOST_INCLUDED = 100


@dataclass(frozen=True, slots=True)
class GitFolders:
    """``own`` is ``common`` except in a worktree, whose own folder is inside the main checkout's."""

    top: Path
    own: Path
    common: Path


def git_folders(start: Path) -> GitFolders | None:
    """Of the repository that contains ``start``; None if there is none, or git could not tell either.

    Raises ConfigError if it is there, but closed.
    """
    # Others' folders may be private.
    above = (folder for folder in start.parents if is_true(partial(is_marked, folder)))
    try:
        top = start if is_marked(start) else next(above, None)
    except PermissionError as error:  # an agent may have closed it
        message = f"{start / MARKER} cannot be examined: permission denied"
        raise ConfigError(message, hint=f"open it: chmod u+rwx {start / MARKER}") from error
    if top is None:
        return None
    marker = top / MARKER
    own = real_path(marker) if marker.is_dir() else _worktree_folder(marker)
    return None if own is None else GitFolders(top, own, _common_folder(own))


def is_surely_valid(folders: GitFolders) -> bool:
    """Whether git stops here. What only looks like a repository it passes over, and takes the next one above."""
    if (folders.top / MARKER).is_file():
        return True
    head = folders.own / "HEAD"
    text = str(head.readlink()) if head.is_symlink() else ""
    if not text:
        text = (read_whole(head, _MARKER_BYTES) or b"").decode(errors="replace").rstrip()
        text = (
            text.removeprefix("ref:").lstrip() if text.startswith("ref:") else f"refs/{text}" * _is_hash(text)
        )
    return text.startswith("refs/") and all((folders.common / name).is_dir() for name in ("objects", "refs"))


def _is_hash(text: str) -> bool:
    return len(text) in (40, 64) and all(char in "0123456789abcdef" for char in text)


def is_marked(folder: Path) -> bool:
    """As git sees it: a folder without a HEAD is not a repository."""
    marker = folder / MARKER
    return marker.is_file() or (marker / "HEAD").exists() or (marker / "HEAD").is_symlink()


def _worktree_folder(marker: Path) -> Path | None:
    """What a ``.git`` file points to."""
    text = (read_whole(marker, _MARKER_BYTES) or b"").decode(errors="replace").strip()
    if not text.startswith("gitdir:"):
        return None
    folder = marker.parent / text.removeprefix("gitdir:").strip()
    return real_path(folder) if folder.is_dir() else None


def _common_folder(own: Path) -> Path:
    """Only a worktree's folder has another one: git does not write ``commondir`` into a plain repository."""
    if own.parent.name != WORKTREES:
        return own
    named = read_whole(own / COMMON_DIR, _MARKER_BYTES)
    return own if named is None else real_path(own / named.decode(errors="surrogateescape").strip())


def leads_to_itself(common_dir: Path) -> bool:
    """Whether it is a ``commondir`` as ralph puts it there. A kill may have left it."""
    return read_whole(common_dir, len(ITSELF), follow=False) == ITSELF.encode()


def entries(config: Path) -> Iterator[tuple[str, str]]:
    """``section.name``, or ``section.subsection.name``, and the value; nothing if it is ``unexamined``."""
    text = read_whole(config, _MOST_BYTES)
    if text is not None:
        yield from parse_git_config(text.decode(errors="replace"))


def unexamined(config: Path) -> Path | None:
    """The first file of this configuration that git may read and we cannot: too long, no plain file, one of too many, or
    somewhere that only git knows."""
    files = [config, *included(config)]
    if len(files) > _MOST_INCLUDED:
        return files[-1]
    for file in files:
        if os.path.lexists(file) and read_whole(file, _MOST_BYTES) is None:
            return file
        if any(_is_include(key) and value.startswith("%(") for key, value in entries(file)):
            return file
    return None


def _is_include(key: str) -> bool:
    return without_subsection(key) in ("include.path", "includeif.path")


def without_subsection(key: str) -> str:
    section, _, rest = key.partition(".")
    return f"{section}.{rest.rpartition('.')[2]}"


def included(config: Path) -> list[Path]:
    """Files that ``config`` includes, directly or not, whatever the condition; missing ones too."""
    found: dict[Path, None] = {}
    waiting = [config]
    while waiting and len(found) < _MOST_INCLUDED:
        file = waiting.pop(0)
        for key, value in entries(file):
            if _is_include(key) and value:
                path = file.parent / expand_home(value)
                if path not in found and path != config:
                    found[path] = None
                    waiting.append(path)
    return [*found]


def user_configs(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The user's own configuration and the system's, whether or not they exist."""
    home = Path(environ.get("HOME") or "/nonexistent")
    found = (
        []
        if environ.get("GIT_CONFIG_NOSYSTEM")
        else [Path(environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")]
    )
    if "GIT_CONFIG_GLOBAL" in environ:
        return [*found, Path(environ["GIT_CONFIG_GLOBAL"])]
    xdg = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [*found, xdg / "git" / "config", home / ".gitconfig"]
