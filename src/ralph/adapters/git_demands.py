"""Programs that a repository's own git configuration makes our git run: part of what its user is asked to trust.

A clone brings none, but an unpacked archive may. The user's own configuration (global, system) needs no question. Hooks, monitors,
signing and diff programs never run, and nothing is fetched but to deliver (``domain/sandbox/own_git.py``); filters and merge drivers must run, or files
would look changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from ralph.adapters.files import is_true, real_path
from ralph.adapters.git_folders import (
    COMMON_DIR,
    MARKER,
    GitFolders,
    NotExamined,
    common_folder,
    entries,
    git_folders,
    included,
    is_marked,
    is_surely_valid,
    known_worktrees,
    leads_to_itself,
    unexamined,
)
from ralph.adapters.way import way_to
from ralph.domain.text.git_config import without_subsection
from ralph.domain.trust.demand import Demand

PREPARED = Path(".ralph", "worktrees")
"""Of a project: the worktrees of its tasks."""
_HIDDEN = "has git settings that cannot be examined"
_NOWHERE = "has a .git that leads to no repository we can find"
_OF_THE_TREE = "makes git obey a file of the working tree"
_NOT_THERE = "makes git obey a file that does not exist yet"
_RUN = frozenset({
    "filter.clean", "filter.process", "filter.smudge", "hook.command", "lfs.clean", "lfs.path", "lfs.smudge", "merge.driver",
})  # fmt: skip
# As `git lfs install --local` writes it: a program of the user's, and the same for everyone.
_KNOWN = frozenset({
    "git-lfs clean -- %f", "git-lfs filter-process", "git-lfs filter-process --skip", "git-lfs smudge -- %f",
    "git-lfs smudge --skip -- %f",
})  # fmt: skip


def git_demands(state: Path, workspace: Path) -> tuple[Demand, ...]:
    """Of every place where our git works: both of them, all worktrees that git knows, and those prepared for tasks.

    A worktree has settings of its own, and says itself where the shared ones are. Runs nothing.
    """
    places: dict[Path, GitFolders] = {}
    listed: set[Path] = set()
    found = [demand for start in dict.fromkeys((state, workspace)) for demand in _find(start, places, listed)]
    for worktree in _prepared(state / PREPARED):
        # Git does not work where there is no repository; ralph makes such a worktree again.
        found += (demand for demand in _find(worktree, places, listed) if demand.means != _NOWHERE)
    configs = {config: folders for folders in places.values() for config in configs_of(folders)}
    found += chain.from_iterable(
        _elsewhere(folder) for folder in {one.common: None for one in places.values()}
    )
    found += chain.from_iterable(_demands(config, folders) for config, folders in configs.items())
    return tuple(dict.fromkeys(found))


def _prepared(folder: Path) -> list[Path]:
    try:
        found = [folder / name for name in sorted(os.listdir(folder))]  # noqa: PTH208 names are enough
    except OSError:
        return []
    return [one for one in found if is_true((one / MARKER).is_file)]


def _find(start: Path, places: dict[Path, GitFolders], listed: set[Path]) -> Iterator[Demand]:
    """Add the repository that contains ``start``, its worktrees, and what only looks like one on the way there.

    ``listed``: repositories whose worktrees were added before: hundreds of worktrees are all of one.
    """
    top = start.absolute()
    for folder in (top, *top.parents):
        if not is_true(partial(is_marked, folder)):
            continue
        try:
            folders = git_folders(folder)
        except NotExamined as error:
            yield not_examined(error.file)
            return
        if folders is None:
            yield _about(_NOWHERE, folder / MARKER)
            return
        places[folders.own] = folders
        for own in () if folders.common in listed else known_worktrees(folders):
            try:
                places.setdefault(own, GitFolders(folders.top, own, common_folder(own)))
            except NotExamined as error:
                yield not_examined(error.file)
        listed.add(folders.common)
        if is_true(partial(is_surely_valid, folders)):
            return


def _elsewhere(common: Path) -> Iterator[Demand]:
    elsewhere = common / COMMON_DIR  # git writes none there, but believes any
    if is_true(elsewhere.exists) and not leads_to_itself(elsewhere):
        yield _about("makes git use another repository's settings", elsewhere)


def configs_of(folders: GitFolders) -> list[Path]:
    return [
        folder / name for folder in (folders.common, folders.own) for name in ("config", "config.worktree")
    ]


def _demands(config: Path, folders: GitFolders) -> Iterator[Demand]:
    if (hidden := unexamined(config)) is not None:
        yield not_examined(hidden)
    parts = included(config)
    yield from (_about(means, file) for file in parts if (means := _obeyed(file, folders)))
    for file in (config, *parts):
        for key, value in entries(file):
            short = without_subsection(key)
            if short in _RUN and value and value not in _KNOWN:
                yield Demand("runs", value, key, str(file))
            elif key == "core.worktree" and not _is_in(config.parent / value, folders):
                yield Demand("makes git work in", value, key, str(file))


def _obeyed(file: Path, folders: GitFolders) -> str:
    """Why it may be another one tomorrow: a checkout may bring what is on the way to it, or anybody what is missing."""
    tops = {real_path(folders.top)} | ({folders.common.parent} if folders.common.name == MARKER else set())
    for step in way_to(str(file.absolute())):
        place = Path(step.place)
        around = {place, *place.parents}
        if tops & around - {place} and not {folders.common, folders.own} & around:
            return _OF_THE_TREE
        if step.is_missing:
            return _NOT_THERE
    return ""


def demands_of_repository(folders: GitFolders) -> Iterator[Demand]:
    for config in dict.fromkeys(configs_of(folders)):
        yield from _demands(config, folders)


def not_examined(file: Path) -> Demand:
    return _about(_HIDDEN, file)


def _about(means: str, file: Path) -> Demand:
    """A yes to it is none to the same of another file."""
    return Demand(means, "", "", str(file), whole=f"{means} {file}")


def _is_in(folder: Path, folders: GitFolders) -> bool:
    """Whether it is the working tree itself, or the main one, which its worktrees' settings name as well."""
    tops = (real_path(folders.top), real_path(folders.common.parent))
    return is_true(folder.exists) and real_path(folder) in tops
