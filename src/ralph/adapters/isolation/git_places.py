"""Where git keeps what it *runs*: hooks and configuration. An agent may commit, but not change these.

The rest of git's own folder is writable. Configuration and hooks alone decide what ralph or the user runs later,
outside, so these are read-only, and so are the files that say where they are. Configuration is read as text: asking
git would cost a process for every process in a sandbox.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ralph.adapters.files import is_true, read_plain, read_whole
from ralph.errors import ConfigError

MARKER = ".git"
MARKER_BYTES = 10_000
WORKTREES = "worktrees"
# Two old ways to name a remote: a push to a repository of the agent would run its hooks.
_FOLDERS = ("hooks", "branches", "remotes")
_SECTION = re.compile(r"\s*\[\s*([\w.-]+)(?:\s+\"(?:[^\"\\]|\\.)*\")?\s*\]")
_ENTRY = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_COMMENT = re.compile(r"""\s*[#;].*$""")
MOST_BYTES = 1_000_000
_DEEPEST = 10  # git's own limit for files that include files


@dataclass(frozen=True, slots=True)
class GitPlaces:
    """``top``: of the repository, if it is above the workspace. ``barred``: does not exist, and must not be created."""

    top: Path | None = None
    writable: tuple[Path, ...] = ()
    readonly: tuple[Path, ...] = ()
    barred: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class GitFolders:
    """``own`` is ``common`` except in a worktree, whose own folder is inside the main checkout's."""

    top: Path
    own: Path
    common: Path


def git_folders(start: Path) -> GitFolders | None:
    """Of the repository that contains ``start``; None if there is none, or git could not tell either."""
    above = (
        folder for folder in start.parents if is_true(partial(_is_marked, folder))
    )  # others' may be private
    top = start if _is_marked(start) else next(above, None)
    if top is None:
        return None
    marker = top / MARKER
    own = marker.resolve() if marker.is_dir() else _worktree_folder(marker)
    return None if own is None else GitFolders(top, own, _common_folder(own))


def git_places(workspace: Path) -> GitPlaces:
    """Of the repository that contains ``workspace``. The agent may not make one: it could not be trusted."""
    marker = workspace / MARKER
    barred = () if _is_marked(workspace) else (marker,)
    _refuse_link(marker)
    found = git_folders(workspace)
    if found is None:
        return GitPlaces(readonly=() if barred else (marker,), barred=barred)
    top, own, common = found.top, found.own, found.common
    writable = [common] if own == common else [common, own]
    readonly = [*_running(common)]
    if (top / MARKER).is_file():
        readonly.append(top / MARKER)
    worktrees = common / WORKTREES
    if own != common:
        # The main checkout and all other worktrees, future ones too, are not this agent's work.
        readonly += [path for name in ("HEAD", "index") if (path := common / name).exists()]
        readonly += [path for name in ("commondir", "gitdir") if (path := own / name).exists()]
        readonly += [*_configuration(own, common), *([worktrees] if worktrees in own.parents else [])]
    elif worktrees.is_dir():
        readonly += sorted(worktrees.iterdir())
    readonly += _in_the_project(common / "config", top)
    above = top if top != workspace else None
    return GitPlaces(above, tuple(writable), tuple(dict.fromkeys(readonly)), barred)


def _running(folder: Path) -> Iterator[Path]:
    """The files of one git folder, and of the submodules' folders in it, that make git run something."""
    for name in _FOLDERS:
        path = folder / name
        _refuse_link(path)
        if not path.exists():
            path.mkdir()  # or the agent could
        yield path
    yield from _configuration(folder, folder)
    for submodule in _submodules(folder / "modules"):
        yield from _running(submodule)


def _submodules(modules: Path) -> list[Path]:
    """Top-level submodules only. Not recursive: an agent could nest folders deeper than the stack."""
    found, waiting = [], [modules]
    while waiting:
        folder = waiting.pop()
        try:
            entries_in = [*os.scandir(folder)]
        except OSError:  # no such folder, or one with too long a name
            continue
        if {"objects", "config"} <= {entry.name for entry in entries_in}:
            found.append(folder)
        else:
            waiting += [Path(entry.path) for entry in entries_in if entry.is_dir(follow_symlinks=False)]
    return sorted(found)


def _configuration(folder: Path, common: Path) -> Iterator[Path]:
    config, extra = folder / "config", folder / "config.worktree"
    for path in (config, extra):
        _refuse_link(path)
    if not extra.exists() and "extensions.worktreeconfig" in dict(entries(common / "config")):
        extra.touch()  # or the agent could
    yield from (path for path in (config, extra) if path.exists())


def _in_the_project(config: Path, top: Path) -> Iterator[Path]:
    """Hooks and included configuration among the project's files, where some tools keep them."""
    parts = [config, *included(config)]
    for part in parts[1:]:
        if {top, config.parent} & {*part.resolve().parents}:
            _refuse_link(part)
            if not part.exists() and part.parent.is_dir():
                part.touch()  # or the agent could
            if part.is_file():
                yield part.resolve()
    for key, value in (entry for part in parts for entry in entries(part)):
        if key == "core.hookspath" and value:
            folder = top / Path(value).expanduser()
            if top in folder.resolve().parents:
                _refuse_link(folder)
                folder.mkdir(parents=True, exist_ok=True)
            if folder.is_dir():
                yield folder.resolve()


def _is_marked(folder: Path) -> bool:
    """As git sees it: a folder without a HEAD is not a repository."""
    marker = folder / MARKER
    return marker.is_file() or (marker / "HEAD").exists() or (marker / "HEAD").is_symlink()


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        message = f"{path} is a link: in a sandbox the agent could replace it with a folder of its own"
        raise ConfigError(message, hint="replace the link with what it points to, or use --no-sandbox")


def _worktree_folder(marker: Path) -> Path | None:
    """What a ``.git`` file points to."""
    text = (read_whole(marker, MARKER_BYTES) or b"").decode(errors="replace").strip()
    if not text.startswith("gitdir:"):
        return None
    folder = marker.parent / text.removeprefix("gitdir:").strip()
    return folder.resolve() if folder.is_dir() else None


def _common_folder(own: Path) -> Path:
    """Only a worktree's folder has another one: git does not write ``commondir`` into a plain repository."""
    if own.parent.name != WORKTREES:
        return own
    named = read_whole(own / "commondir", MARKER_BYTES)
    return own if named is None else (own / named.decode(errors="surrogateescape").strip()).resolve()


def entries(config: Path) -> Iterator[tuple[str, str]]:
    """``section.key`` in lower case, without its subsection, and the value; nothing if unreadable."""
    try:
        text = read_plain(config, MOST_BYTES).decode(errors="replace")
    except OSError:
        return
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        if header := _SECTION.match(line):
            section = header[1].lower()
            line = line[header.end() :]
        if entry := _ENTRY.fullmatch(line):
            yield f"{section}.{entry[1].lower()}", _value(entry[2])


def included(config: Path, deepest: int = _DEEPEST) -> Iterator[Path]:
    """Files that ``config`` includes, directly or not, whatever the condition; missing ones too."""
    for key, value in entries(config):
        if key in ("include.path", "includeif.path") and value:
            path = config.parent / Path(value).expanduser()
            yield path
            if deepest:
                yield from included(path, deepest - 1)


def _value(written: str) -> str:
    written = written.strip()
    if written.startswith('"'):
        return written[1:].partition('"')[0]
    return _COMMENT.sub("", written)
