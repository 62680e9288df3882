"""Which files are part of the work, whatever the repository's own index and excludes say about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISLNK

from ralph.adapters.git import Git
from ralph.adapters.own_output import own_output
from ralph.domain.sandbox.own_git import OWN
from ralph.values import dataclass, field

LARGE = 100_000_000
"""Bytes; a file that git does not track and that is larger is treated like one that it ignores. So is one that may not
be read."""
_LISTS = ("ls-files", "--others", "--exclude-standard", "-z")


@dataclass(frozen=True, slots=True)
class WorkFiles:
    """Paths relative to the top. ``ignored`` are files, and folders that end with ``/``, as ``nested`` repositories do."""

    part: set[str] = field(default_factory=set)
    ignored: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)


async def list_work(
    top: Path,
    *,
    neutral: Callable[[Path], Git],
    own: Callable[[Path], Git],
    is_tracked: bool,
    with_ignored: bool = True,
) -> WorkFiles:
    """What is tracked, changed or new, in repositories below ``top`` too. Raises GitFailed.

    ``neutral`` is git without the user's index and configuration, in some folder; ``own`` the user's.
    ``is_tracked``: ``top`` is a repository, and it is an error if it no longer is one.
    """
    found = WorkFiles()
    waiting = [("", is_tracked)]
    while waiting:
        prefix, is_repository = waiting.pop()
        folder = top / prefix
        tracked = (await own(folder).must("ls-files", "-z")).names if is_repository else []
        others = (await neutral(folder).must(*_LISTS)).names
        nested = _take(found, folder, prefix, tracked, others)
        if with_ignored:
            ignored = (await neutral(folder).must(*_LISTS, "--ignored", "--directory")).names
            found.ignored.extend(f"{prefix}{name}" for name in ignored if not _is_own(name))
        found.nested.extend(nested)
        waiting += [(place, (top / place / ".git").exists()) for place in nested]
    return found


def _take(
    found: WorkFiles, folder: Path, prefix: str, tracked: Collection[str], others: Iterable[str]
) -> Iterable[str]:
    """Sort the names that git gave; gives the repositories among them. Tracked files count even if they are ignored."""
    known, nested = frozenset(tracked) - _behind_links(folder, tracked), set[str]()
    for name in known.union(others).difference(own_output(folder)):
        if _is_own(name) and name not in known:
            continue
        with suppress(OSError):  # listed, but not there
            about = (folder / name).lstat()
            if S_ISDIR(about.st_mode):
                nested.add(f"{prefix}{name.rstrip('/')}/")
            elif S_ISLNK(about.st_mode) or (
                os.access(folder / name, os.R_OK) and (name in known or about.st_size <= LARGE)
            ):
                found.part.add(f"{prefix}{name}")
            else:
                found.ignored.append(f"{prefix}{name}")
    return nested


def _behind_links(folder: Path, tracked: Collection[str]) -> frozenset[str]:
    """Tracked, but their folder was replaced by a link: they are not there, whatever the link leads to."""
    folders = {parent for name in tracked for parent in PurePosixPath(name).parents}
    links = {parent for parent in folders if (folder / parent).is_symlink()}
    return frozenset(name for name in tracked if links and not links.isdisjoint(PurePosixPath(name).parents))


def _is_own(path: str) -> bool:
    return any(part in OWN for part in path.split("/"))
