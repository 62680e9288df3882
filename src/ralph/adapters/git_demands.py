"""Programs that a repository's own git configuration makes our git run: part of what its user is asked to trust.

A clone brings none, but an unpacked archive may. The user's own configuration (global, system) needs no question. Hooks, monitors,
signing and diff programs never run, and nothing is fetched (``domain/sandbox/own_git.py``); filters and merge drivers must run, or files
would look changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ralph.adapters.files import is_true, real_path
from ralph.adapters.git_folders import (
    COMMON_DIR,
    MARKER,
    GitFolders,
    NotExamined,
    entries,
    git_folders,
    included,
    is_marked,
    is_surely_valid,
    leads_to_itself,
    unexamined,
    without_subsection,
)
from ralph.domain.trust.demand import Demand

_RUN = frozenset({
    "filter.clean", "filter.process", "filter.smudge", "hook.command", "lfs.clean", "lfs.path", "lfs.smudge", "merge.driver",
})  # fmt: skip
# As `git lfs install --local` writes it: a program of the user's, and the same for everyone.
_KNOWN = frozenset({
    "git-lfs clean -- %f", "git-lfs filter-process", "git-lfs filter-process --skip", "git-lfs smudge -- %f",
    "git-lfs smudge --skip -- %f",
})  # fmt: skip


def git_demands(start: Path) -> tuple[Demand, ...]:
    """Of the repository that contains ``start``, and of what only looks like one on the way there. Runs nothing."""
    top = start.absolute()
    found: dict[Demand, None] = {}
    for folder in (top, *top.parents):
        if not is_true(partial(is_marked, folder)):
            continue
        try:
            folders = git_folders(folder)
        except NotExamined as error:
            found[_hidden(error.file)] = None
            break
        if folders is None:
            found[
                Demand("has a .git that leads to no repository we can find", "", "", str(folder / MARKER))
            ] = None
            break
        found |= dict.fromkeys(_demands(folders))
        if is_true(partial(is_surely_valid, folders)):
            break
    return tuple(found)


def _demands(folders: GitFolders) -> Iterator[Demand]:
    elsewhere = folders.common / COMMON_DIR  # git writes none there, but believes any
    if is_true(elsewhere.exists) and not leads_to_itself(elsewhere):
        yield Demand("makes git use another repository's settings", "", "", str(elsewhere))
    for config in dict.fromkeys(
        folder / name for folder in (folders.common, folders.own) for name in ("config", "config.worktree")
    ):
        if (hidden := unexamined(config)) is not None:
            yield _hidden(hidden)
        for file in (config, *included(config)):
            for key, value in entries(file):
                short = without_subsection(key)
                if short in _RUN and value and value not in _KNOWN:
                    yield Demand("runs", value, key, str(file))
                elif key == "core.worktree" and not _is_same(config.parent / value, folders.top):
                    yield Demand("makes git work in", value, key, str(file))


def _hidden(file: Path) -> Demand:
    return Demand("has git settings that cannot be examined", "", "", str(file))


def _is_same(folder: Path, top: Path) -> bool:
    return is_true(folder.exists) and real_path(folder) == real_path(top)
