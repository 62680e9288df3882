"""What a clone has checked out and which branches it has, read from its files: its git obeys what a session may have written."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.seats.record import CARRIED, MOST_REFS, is_id, is_inside, is_ref
from ralph.errors import GitFailed
from ralph.values import dataclass

MOST_BYTES = 10_000_000
_REF = "ref: "
_OWN = "_"
"""Begins the names of worktrees that ralph makes for itself and makes again when it needs them."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """``path``: below the project; empty: the project. ``folder``: git's own. ``branch``: empty if none that travels is checked
    out. ``head``: empty if there is no commit. ``is_as_committed``: whatever else is there does not count."""

    path: str
    folder: Path
    branch: str
    head: str
    merging: tuple[str, ...]
    is_as_committed: bool = False


@dataclass(frozen=True, slots=True)
class Heads:
    """``refs``: those that travel, not too many. The project's own checkout is the first."""

    refs: dict[str, str]
    checkouts: tuple[Checkout, ...]


def read_heads(project: Path, *, first: Collection[str] = ()) -> Heads:
    """``first``: refs that travel before others if there are too many; those that are checked out come before these. Raises
    GitFailed if the branches cannot be read."""
    git = project / ".git"
    every = _refs(git)
    folders = [("", git)]
    for name in _names(git / "worktrees", git):
        folder = git / "worktrees" / name
        marker = Path(os.fsdecode((_read(folder / "gitdir", git)).rstrip(b"\n")))
        path = _below(marker.parent, project)
        if marker.name == ".git" and is_inside(path):
            folders.append((path, folder))
    branches = [_branch(folder, git) for _, folder in folders]
    refs = _carried(every, (*branches, *first))
    found = [_checkout(path, folder, git, refs, every) for path, folder in folders]
    return Heads(refs, (found[0], *(one for one in found[1:] if _counts(one, project))))


def _counts(one: Checkout, project: Path) -> bool:
    is_own = not one.branch and Path(one.path).name.startswith(_OWN)
    with suppress(OSError):
        about = beneath.status(project / one.path, project)
        return bool(one.head) and not is_own and about is not None and stat.S_ISDIR(about.st_mode)
    return False


def _branch(folder: Path, git: Path) -> str:
    """That is checked out; empty: none."""
    text = _text(folder / "HEAD", git)
    return text.removeprefix(_REF).strip() if text.startswith(_REF) else ""


def _checkout(
    path: str, folder: Path, git: Path, refs: Mapping[str, str], every: Mapping[str, str]
) -> Checkout:
    """One whose branch cannot travel has its commit all the same."""
    branch = _branch(folder, git)
    head = every.get(branch, "") if branch else _text(folder / "HEAD", git)
    merging = tuple(line for line in _text(folder / "MERGE_HEAD", git).split() if is_id(line))
    return Checkout(path, folder, branch if branch in refs else "", head if is_id(head) else "", merging)


def _refs(git: Path) -> dict[str, str]:
    """A loose one overrules a packed one."""
    found: dict[str, str] = {}
    for line in _packed(git).splitlines():
        commit, _, name = line.partition(" ")
        found[name] = commit
    with suppress(OSError), beneath.parent_of(git / "refs", git) as (above, first):
        for way, descriptor, names in trees.walk(above, first):
            for name in names:
                if stat.S_ISREG(beneath.mode_in(descriptor, name)):
                    path = "/".join((*way, name))
                    found[path] = _text(git / path, git)
    return {name: commit for name, commit in found.items() if is_id(commit)}


def _packed(git: Path) -> str:
    """What a checkout stands on may be in it: one that is too large must not look like none."""
    file = git / "packed-refs"
    with suppress(OSError):
        about = beneath.status(file, git)
        if about is not None and stat.S_ISREG(about.st_mode) and about.st_size > MOST_BYTES:
            message = f"there are too many branches in {git.parent}: {file} has {about.st_size:,} bytes"
            raise GitFailed(message, hint=f"at most {MOST_BYTES:,} are read: a session must not make so many")
    return _text(file, git)


def _carried(every: Mapping[str, str], first: Iterable[str]) -> dict[str, str]:
    """Those that travel; with room for the base, which is put back if it is gone."""
    names = [name for name in dict.fromkeys((*first, *sorted(every))) if name in every]
    able = [name for name in names if name.startswith(CARRIED) and is_ref(name)]
    return {name: every[name] for name in able[: MOST_REFS - 1]}


def _below(path: Path, project: Path) -> str:
    with suppress(ValueError):
        return path.relative_to(project).as_posix()
    return ""


def _names(folder: Path, top: Path) -> list[str]:
    with suppress(OSError):
        return beneath.list_names(folder, top)
    return []


def _read(file: Path, top: Path) -> bytes:
    return beneath.read_whole(file, MOST_BYTES, top) or b""


def _text(file: Path, top: Path) -> str:
    return os.fsdecode(_read(file, top)).strip()
