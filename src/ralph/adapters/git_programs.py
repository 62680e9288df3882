"""What the repository itself makes the user's own git commands (``scm``) run, or changes where they go: programs, hooks, addresses.

Ralph's own git runs none of it, so it is asked about only where ``scm`` is used. The user's own configuration needs no question.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from ralph.adapters.files import is_true, read_whole
from ralph.adapters.git_demands import configs_of, demands_of_repository, not_examined
from ralph.adapters.git_folders import (
    GitFolders,
    NotExamined,
    entries,
    git_folders,
    included,
    is_marked,
    is_surely_valid,
)
from ralph.adapters.git_index import submodules_of
from ralph.domain.trust.demand import Demand
from ralph.domain.trust.git_settings import leads_elsewhere, names_program

_MOST_BYTES = 100_000_000


def git_programs(workspace: Path, *, with_hooks: bool = True) -> tuple[Demand, ...]:
    """Of the repository that git finds from there, and of its submodules, into which git looks. Runs nothing.

    ``with_hooks`` False: for a git that runs none, but logs in and goes where the settings say.
    """
    found: dict[Path, list[Demand]] = {}
    for folder in (workspace.absolute(), *workspace.absolute().parents):
        if not is_true(partial(is_marked, folder)):
            continue
        try:
            folders = git_folders(folder)
        except NotExamined:  # which is asked about for itself
            break
        if folders is None:
            break
        _look_into(folders, found, with_hooks=with_hooks)
        if is_true(partial(is_surely_valid, folders)):
            break
    return tuple(dict.fromkeys(chain.from_iterable(found.values())))


def _look_into(folders: GitFolders, found: dict[Path, list[Demand]], *, with_hooks: bool) -> None:
    waiting = [folders]
    while waiting:
        folders = waiting.pop()
        if folders.own in found:
            continue
        hooks = _hooks(folders.common / "hooks") if with_hooks else ()
        demands = found[folders.own] = [*_settings(folders), *hooks]
        for path in submodules_of(folders):
            top = folders.top / path
            try:
                below = git_folders(top) if is_true(partial(is_marked, top)) else None
            except NotExamined as error:
                demands.append(not_examined(error.file))
                continue
            if below is not None:
                demands += demands_of_repository(below)  # of which ralph's own git runs nothing
                waiting.append(below)


def _settings(folders: GitFolders) -> Iterator[Demand]:
    files = dict.fromkeys(file for config in configs_of(folders) for file in (config, *included(config)))
    for file in files:
        for key, value in entries(file):
            if names_program(key, value):
                yield Demand("runs", value, key, str(file))
            elif leads_elsewhere(key, value):
                yield Demand("makes git use", value, key, str(file))


def _hooks(folder: Path) -> Iterator[Demand]:
    """A yes counts for this content."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 names are enough
    except OSError:
        return
    for name in names:
        file = folder / name
        if not name.endswith(".sample") and is_true(file.is_file) and os.access(file, os.X_OK):
            content = read_whole(file, _MOST_BYTES)
            yield Demand("runs the hook", name, "", str(file), whole=f"{file} {_digest(content)}")


def _digest(content: bytes | None) -> str:
    from ralph.domain.trust.digest import blake2b

    return "" if content is None else blake2b(content, digest_size=32).hexdigest()
