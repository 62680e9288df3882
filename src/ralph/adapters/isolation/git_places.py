"""Where git keeps what it *runs*: hooks and configuration. An agent may commit, but not change these.

The rest of git's own folder is writable. Configuration and hooks alone decide what ralph or the user runs later,
outside, so these are read-only, and so are the files that say where they are. What worktrees share is read-only but for
data: ralph's own git, and other agents, use it at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

from ralph.adapters.files import expand_home, is_true, real_path
from ralph.adapters.git_folders import (
    COMMON_DIR,
    ITSELF,
    MARKER,
    WORKTREES,
    GitFolders,
    entries,
    git_folders,
    included,
    is_marked,
    leads_to_itself,
    unexamined,
    user_configs,
)
from ralph.adapters.way import way_to
from ralph.errors import ConfigError
from ralph.values import dataclass

# Two old ways to name a remote: a push to a repository of the agent would run its hooks.
_FOLDERS = ("hooks", "branches", "remotes")
_FALSE = ("false", "no", "off", "0")
_MOST_PROTECTED = 1000  # each is a mount: a process takes a second to start
# Of what worktrees share, all that is written for a commit.
_DATA = ("objects", "refs", "logs", "reftable", "rr-cache", "lfs", "annex")


@dataclass(frozen=True, slots=True)
class GitPlaces:
    """``top``: of the repository, if it is above the workspace. ``barred``: does not exist, and must not be created."""

    top: Path | None = None
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    readonly: tuple[Path, ...] = ()
    barred: tuple[Path, ...] = ()


def git_places(workspace: Path) -> GitPlaces:
    """Of the repository that contains ``workspace``. The agent may not make one: it could not be trusted."""
    marker = workspace / MARKER
    barred = [] if is_marked(workspace) else [marker]
    _refuse_link(marker)
    found = git_folders(workspace)
    if found is None:
        return GitPlaces(readonly=() if barred else (marker,), barred=(*barred, *_unbelievable(workspace)))
    top, own, common = found.top, found.own, found.common
    readable, writable, readonly = [], [own], []
    if (top / MARKER).is_file():
        readonly.append(top / MARKER)
    if own == common:
        _require_plain(found)
        readonly += _running(common)
        readonly += [path for path in (common / COMMON_DIR,) if path.exists()]
        if (worktrees := common / WORKTREES).is_dir():
            readonly += sorted(worktrees.iterdir())
    else:
        (common / "logs").mkdir(exist_ok=True)  # git makes it, but for a first commit
        readable.append(common)
        writable += [path for name in _DATA if (path := common / name).is_dir()]
        readonly += [path for name in (COMMON_DIR, "gitdir") if (path := own / name).exists()]
        readonly += _configuration(own, common)
    if len(readonly) > _MOST_PROTECTED:
        message = f"{common} holds too many worktrees and submodules to protect each"
        hint = (
            "remove those that are not yours (`git worktree prune`; .git/modules), or work in a fresh clone"
        )
        raise ConfigError(message, hint=hint)
    for config in dict.fromkeys((common / "config", common / "config.worktree", own / "config.worktree")):
        if (hidden := unexamined(config)) is not None:
            message = (
                f"{hidden} cannot be examined: it is too long, no plain file, one of too many, or unclear"
            )
            raise ConfigError(message, hint="write it as git does, shorter and plainly, or use --no-sandbox")
        readonly += _in_the_project(config, top, common)
    for config in user_configs():  # a relative path there leads into every project
        readonly += (path for path in _in_the_project(config, top) if top in path.parents)
        if is_true(config.is_file) and (place := _steady(config, {real_path(top)}, [], config.name)):
            readonly.append(place)  # a project of settings, to which those of the home are links
    above = top if top != workspace else None
    return GitPlaces(
        above,
        tuple(readable),
        tuple(writable),
        tuple(dict.fromkeys(readonly)),
        (*barred, *_unbelievable(workspace)),
    )


def _unbelievable(workspace: Path) -> Iterator[Path]:
    """A folder with a HEAD, objects and refs is a repository too, if there is no better one: the agent may break that.

    Git gives up at one whose ``commondir`` is no file. A ``HEAD`` would be in the way of ``git diff HEAD``.
    """
    path = workspace / COMMON_DIR
    if not os.path.lexists(path) or _is_empty(path):  # left by a ralph that was killed
        yield path


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _running(top: Path) -> Iterator[Path]:
    """The files of one git folder, and of the submodules' folders in it, that make git run something."""
    for folder in (top, *_submodules(top / "modules")):
        for name in _FOLDERS:
            path = folder / name
            _refuse_link(path)
            if not path.exists():
                path.mkdir()  # or the agent could
            yield path
        yield from _configuration(folder, folder)


def _require_plain(found: GitFolders) -> None:
    """Raises ConfigError if its configuration says that the working tree is elsewhere, or that there is none."""
    config = found.own / "config"
    named = dict(entries(config))
    elsewhere = real_path(found.own / named.get("core.worktree", found.top)) != real_path(found.top)
    if elsewhere or named.get("core.bare", "false").lower() not in _FALSE:
        message = f"{config} sets core.worktree or core.bare, so that {found.own} cannot be protected"
        raise ConfigError(message, hint="work in a plain clone, or use --no-sandbox")


def make_common_dir(workspace: Path) -> None:
    """It says where git finds its configuration, and an agent could make one: so there is one, which leads nowhere else.

    With it git takes no notice of ``core.worktree`` and ``core.bare``: ``git_places`` refuses a repository where these count.
    """
    found = git_folders(workspace)
    if found is not None and found.own == found.common and not os.path.lexists(found.own / COMMON_DIR):
        file = found.own / COMMON_DIR
        try:
            file.write_text(ITSELF)
        except OSError as error:
            message = f"{file} cannot be written: {error.strerror}; without it an agent could change git's configuration"
            raise ConfigError(message, hint="make it writable, or use --no-sandbox") from error


def remove_common_dir(workspace: Path) -> None:
    """If it is there, and ours."""
    found = git_folders(workspace)
    if found is not None and leads_to_itself(path := found.own / COMMON_DIR):
        path.unlink(missing_ok=True)


def _submodules(modules: Path) -> list[Path]:
    """All of them. Not recursive: an agent could nest folders deeper than the stack."""
    found, waiting = [], [modules]
    while waiting:
        folder = waiting.pop()
        try:
            entries_in = [*os.scandir(folder)]
        except OSError:  # no such folder, or one with too long a name
            continue
        folders = {entry.name for entry in entries_in if entry.is_dir(follow_symlinks=False)}
        # Its configuration alone tells: that cannot be moved away, as all else in it can.
        if "config" in {entry.name for entry in entries_in} - folders:
            found.append(folder)
            folders -= {*_DATA, *_FOLDERS}
        waiting += (folder / name for name in folders)
    return sorted(found)


def _configuration(folder: Path, common: Path) -> Iterator[Path]:
    config, extra = folder / "config", folder / "config.worktree"
    for path in (config, extra):
        _refuse_link(path)
    if not extra.exists() and "extensions.worktreeconfig" in dict(entries(common / "config")):
        extra.touch()  # or the agent could
    yield from (path for path in (config, extra) if path.exists())


def _in_the_project(config: Path, top: Path, *more: Path) -> Iterator[Path]:
    """Hooks and included configuration among the project's files, where some tools keep them, or in ``more``."""
    project = {real_path(folder) for folder in (top, *more)}
    parts = [config, *included(config)]
    held = [real_path(config)]
    for part in parts[1:]:
        place = _steady(part, project, held, "include.path")
        if place is not None:
            _make_sure(place.touch, place, "include.path")  # or the agent could
            held.append(place)
            yield place
    for key, value in (entry for part in parts for entry in entries(part)):
        if key == "core.hookspath" and value:
            folder = top / expand_home(value)
            place = _steady(folder, project, held, "core.hooksPath")
            if place is not None:
                _make_sure(partial(place.mkdir, parents=True), place, "core.hooksPath")
                yield place
            elif folder.is_dir():
                yield real_path(folder)


def _steady(path: Path, project: set[Path], held: list[Path], key: str) -> Path | None:
    """Where git finds it, if that is in the project; None if not. It cannot be led elsewhere by a change on the way.

    What contains one of ``held`` cannot be renamed (``places``).
    """
    end = path
    for step in way_to(str(path.absolute())):
        end = Path(step.place)
        is_ours = not project.isdisjoint(end.parents)
        if is_ours and step.is_link:
            _refuse(f"{end} is a link", path, key, f"replace the link {end} with what it points to")
        if is_ours and step.is_left and not any(end in one.parents for one in held):
            _refuse(f'"{end.name}/.." is on the way', path, key, f"name {path} without it")
    return None if project.isdisjoint(end.parents) else end


def _make_sure(make: Callable[[], object], place: Path, key: str) -> None:
    if os.path.lexists(place):
        return
    try:
        make()
    except OSError as error:
        _refuse(f"it cannot be made ({error.strerror})", place, key, "create it")


def _refuse(what: str, path: Path, key: str, remedy: str) -> NoReturn:
    message = f"git's configuration leads to {path} ({key}), and {what}: in a sandbox the agent could put its own there"
    raise ConfigError(
        message, hint=f"{remedy}, or remove {key} from git's configuration, or use --no-sandbox"
    )


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        message = f"{path} is a link: in a sandbox the agent could replace it with a folder of its own"
        raise ConfigError(message, hint="replace the link with what it points to, or use --no-sandbox")
