"""Where git keeps a repository's files, and its configuration read as text: asking git would cost a process each time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ralph.adapters.files import expand_home, is_true, read_whole, real_path
from ralph.domain.text.git_config import GitConfig, has_no_control, parse_git_config, without_subsection
from ralph.errors import ConfigError

MARKER = ".git"
WORKTREES = "worktrees"
COMMON_DIR = "commondir"
ITSELF = ".\n"
"""A ``commondir`` that leads nowhere else, as there is one while a confined agent works."""
_MARKER_BYTES = 1 << 20  # git's own limit
_HEAD_BYTES = 255  # git reads no more of it
_MOST_BYTES = 1_000_000
_MOST_INCLUDED = 100
_POINTS = b"gitdir: "


class NotExamined(ConfigError):
    """Git may read ``file`` otherwise than we do, and use what nobody has looked at."""

    def __init__(self, file: Path) -> None:
        message = f"{file} cannot be examined: git could read it otherwise than ralph does"
        super().__init__(message, hint="write it as git does, or use --no-sandbox")
        self.file = file


class GitFolders(NamedTuple):
    """``own`` is ``common`` except in a worktree, whose own folder is inside the main checkout's."""

    top: Path
    own: Path
    common: Path


def git_folders(start: Path) -> GitFolders | None:
    """Of the repository that contains ``start``; None if there is none, or git could not tell either.

    Raises ConfigError if it is there, but closed; NotExamined if git may find another one.
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
    return None if own is None else GitFolders(top, own, common_folder(own))


def is_surely_valid(folders: GitFolders) -> bool:
    """Whether git stops here. What only looks like a repository it passes over, and takes the next one above."""
    if (folders.top / MARKER).is_file():
        return True
    head = folders.own / "HEAD"
    if head.is_symlink():
        is_valid = os.readlink(head).startswith("refs/")  # noqa: PTH115 - as it is written
    else:
        content = (read_whole(head, _HEAD_BYTES) or b"").removesuffix(b"\n")
        is_valid = content.startswith(b"ref: refs/") or _is_hash(content)
    return is_valid and all(
        (folder := folders.common / name).is_dir() and os.access(folder, os.X_OK)
        for name in ("objects", "refs")
    )


def _is_hash(content: bytes) -> bool:
    return len(content) in (40, 64) and not content.strip(b"0123456789abcdef")


def is_marked(folder: Path) -> bool:
    """As git sees it: a folder without a HEAD is not a repository."""
    marker = folder / MARKER
    return marker.is_file() or (marker / "HEAD").exists() or (marker / "HEAD").is_symlink()


def _worktree_folder(marker: Path) -> Path | None:
    """What a ``.git`` file points to."""
    found = read_whole(marker, _MARKER_BYTES) or b""
    if not found.startswith(_POINTS):
        return None
    folder = _named_in(found.removeprefix(_POINTS), marker)
    try:
        return real_path(folder) if folder.is_dir() else None
    except OSError:  # too long for us, say: git may take a shorter way
        raise NotExamined(marker) from None


def common_folder(own: Path) -> Path:
    """Only a worktree's folder has another one: git does not write ``commondir`` into a plain repository."""
    file = own / COMMON_DIR
    if own.parent.name != WORKTREES or _is_missing(file):
        return own
    return real_path(_named_in(read_whole(file, _MARKER_BYTES) or b"", file))


def _named_in(content: bytes, file: Path) -> Path:
    """By the very bytes that git takes for the name: it drops the line's end, and no space."""
    name = content.rstrip(b"\r\n")
    if not name or not has_no_control(name):
        raise NotExamined(file)
    return file.parent / os.fsdecode(name)


def known_worktrees(folders: GitFolders) -> list[Path]:
    """Git's own folder of each worktree of this repository, wherever that is."""
    try:
        names = os.listdir(folders.common / WORKTREES)  # noqa: PTH208 names are enough
    except OSError:
        return []
    return [folders.common / WORKTREES / name for name in sorted(names)]


def leads_to_itself(common_dir: Path) -> bool:
    """Whether it is a ``commondir`` as ralph puts it there. A kill may have left it."""
    return read_whole(common_dir, len(ITSELF), follow=False) == ITSELF.encode()


def entries(config: Path) -> tuple[tuple[str, str], ...]:
    """``section.name``, or ``section.subsection.name``, and the value; nothing if it cannot be read."""
    return _parsed(config).entries


def unexamined(config: Path) -> Path | None:
    """The first file of this configuration that git may read and we cannot, or otherwise than we do: too long, no plain
    file, one of too many, unclear, or with an include that leads where only git knows."""
    files = _with_included(config)
    if len(files) > _MOST_INCLUDED:
        return [*files][-1]
    return next((file for file, parsed in files.items() if not parsed.is_clear), None)


def included(config: Path) -> list[Path]:
    """Files that ``config`` includes, directly or not, whatever the condition; missing ones too."""
    return [*_with_included(config)][1:]


def included_in_tree(folders: GitFolders) -> list[Path]:
    """Files of a working tree that git obeys, because its configuration, or the user's, includes them."""
    tops = f"{real_path(folders.top)}/", f"{real_path(folders.common.parent)}/"
    named = (folder / name for folder in folders[1:] for name in ("config", "config.worktree"))
    found = (file for config in dict.fromkeys((*named, *user_configs())) for file in included(config))
    return [
        file
        for file in dict.fromkeys(found)
        if os.path.abspath(file).startswith(tops) or str(real_path(file)).startswith(tops)  # noqa: PTH100 no link
    ]


def _with_included(config: Path) -> dict[Path, GitConfig]:
    found: dict[Path, GitConfig] = {}
    waiting = [config]
    while waiting and len(found) <= _MOST_INCLUDED:
        file = waiting.pop(0)
        if file not in found:
            found[file] = parsed = _parsed(file)
            waiting += (
                _included_path(file, value) for key, value in parsed.entries if _is_include(key) and value
            )
    return found


def _parsed(file: Path) -> GitConfig:
    data = read_whole(file, _MOST_BYTES)
    if data is None:
        return GitConfig(is_clear=_is_missing(file))
    parsed = parse_git_config(data)
    if all(_is_followed(value) for key, value in parsed.entries if _is_include(key)):
        return parsed
    return GitConfig(parsed.entries, is_clear=False)


def _is_include(key: str) -> bool:
    return without_subsection(key) in ("include.path", "includeif.path")


def _is_followed(value: str) -> bool:
    """Not what only git can expand, and no folder."""
    is_expanded = not expand_home(value).startswith("~") and not value.startswith(("%(", ":("))
    return is_expanded and value.rpartition("/")[2] not in ("", ".", "..")


def _included_path(file: Path, value: str) -> Path:
    return file.parent / os.fsdecode(expand_home(value).encode(errors="surrogateescape"))


def _is_missing(path: Path) -> bool:
    """As git says it; what cannot be told, or has too long a name for us, may be there for git."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        pass
    return False


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
