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
from ralph.domain.trust.git_settings import is_secret, leads_elsewhere, names_program
from ralph.domain.trust.pushed_to import PUSHES, Named, addresses_of, without_login

_MOST_BYTES = 100_000_000
_MOST_OF_OLD = 100_000


def git_programs(workspace: Path, *, with_hooks: bool = True) -> tuple[Demand, ...]:
    """Of the repository that git finds from there, and of its submodules, into which git looks. Runs nothing.

    ``with_hooks`` False: for a git that runs none, but logs in and goes where the settings say.
    """
    found: dict[Path, list[Demand]] = {}
    for folders in _repositories(workspace):
        _look_into(folders, found, with_hooks=with_hooks)
    return tuple(dict.fromkeys(chain.from_iterable(found.values())))


def push_addresses(workspace: Path, remote: str) -> tuple[Demand, ...]:
    """Where the repository itself says that ``remote`` is, without passwords. Runs nothing."""
    found: list[Demand] = []
    for folders in _repositories(workspace):
        files = [*_in_files_of_old(folders.common, remote)]
        found += (Demand(PUSHES, without_login(one.value), "", one.source, whole=one.source) for one in files)
        settings = addresses_of(remote, _named(folders), [one.value for one in files])
        found += (
            Demand(PUSHES, without_login(one.value), without_login(one.key), one.source) for one in settings
        )
    return tuple(dict.fromkeys(found))


def _repositories(workspace: Path) -> Iterator[GitFolders]:
    """The one that git finds from there, and whatever on the way there it may take for one."""
    for folder in (workspace.absolute(), *workspace.absolute().parents):
        if not is_true(partial(is_marked, folder)):
            continue
        try:
            folders = git_folders(folder)
        except NotExamined:  # which is asked about for itself
            return
        if folders is None:
            return
        yield folders
        if is_true(partial(is_surely_valid, folders)):
            return


def _in_files_of_old(common: Path, remote: str) -> Iterator[Named]:
    """Git still reads these, if no setting says where a remote is."""
    if "/" in remote or remote in ("", ".", ".."):
        return
    for folder, sign in (("remotes", "URL:"), ("branches", "")):
        file = common / folder / remote
        lines = (read_whole(file, _MOST_OF_OLD) or b"").decode(errors="replace").splitlines()
        for line in lines if sign else lines[:1]:
            if line.startswith(sign) and (value := line.removeprefix(sign).strip()):
                yield Named("", value if sign else value.partition("#")[0], str(file))


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
    for key, value, file in _named(folders):
        if names_program(key, value):
            yield Demand("runs", value, key, file)
        elif is_secret(key) and value:
            whole = _digest(value.encode(errors="surrogateescape"))
            yield Demand("makes git send", value.partition(":")[0], key, file, whole=whole)
        elif leads_elsewhere(key, value):
            yield Demand("makes git use", value, key, file)


def _named(folders: GitFolders) -> Iterator[Named]:
    files = dict.fromkeys(file for config in configs_of(folders) for file in (config, *included(config)))
    return (Named(key, value, str(file)) for file in files for key, value in entries(file))


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
