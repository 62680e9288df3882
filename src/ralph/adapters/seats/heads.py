"""What a clone has checked out and which branches it has, read from its files: its git obeys what a session may have written."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.seats.record import CARRIED, MOST_REFS, is_id, is_inside, is_ref

MOST_BYTES = 10_000_000
_REF = "ref: "
_OWN = "_"
"""Begins the names of worktrees that ralph makes for itself and makes again when it needs them."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """``path``: below the project; empty: the project. ``folder``: git's own. ``head``: empty if there is no commit."""

    path: str
    folder: Path
    branch: str
    head: str
    merging: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heads:
    """The project's own checkout is the first."""

    refs: dict[str, str]
    checkouts: tuple[Checkout, ...]


def read_heads(project: Path) -> Heads:
    git = project / ".git"
    refs = _refs(git)
    found = [_checkout("", git, git, refs)]
    for name in _names(git / "worktrees", git):
        folder = git / "worktrees" / name
        marker = Path(os.fsdecode((_read(folder / "gitdir", git)).rstrip(b"\n")))
        path = _below(marker.parent, project)
        if marker.name != ".git" or not is_inside(path):
            continue
        one = _checkout(path, folder, git, refs)
        is_own = not one.branch and Path(path).name.startswith(_OWN)
        with suppress(OSError):
            about = beneath.status(project / path, project)
            if one.head and not is_own and about is not None and stat.S_ISDIR(about.st_mode):
                found.append(one)
    return Heads(refs, tuple(found))


def _checkout(path: str, folder: Path, git: Path, refs: dict[str, str]) -> Checkout:
    text = _text(folder / "HEAD", git)
    branch = text.removeprefix(_REF).strip() if text.startswith(_REF) else ""
    head = refs.get(branch, "") if branch else text
    merging = tuple(line for line in _text(folder / "MERGE_HEAD", git).split() if is_id(line))
    return Checkout(path, folder, branch if branch in refs else "", head if is_id(head) else "", merging)


def _refs(git: Path) -> dict[str, str]:
    """Those that travel. A loose one overrules a packed one."""
    found: dict[str, str] = {}
    for line in _text(git / "packed-refs", git).splitlines():
        commit, _, name = line.partition(" ")
        _note(found, name, commit)
    with suppress(OSError), beneath.parent_of(git / "refs", git) as (above, first):
        for way, descriptor, names in trees.walk(above, first):
            for name in names:
                if stat.S_ISREG(beneath.mode_in(descriptor, name)):
                    path = "/".join((*way, name))
                    _note(found, path, _text(git / path, git))
    if len(found) > MOST_REFS:  # those that are checked out are among the first
        found = dict(sorted(found.items())[:MOST_REFS])
    return found


def _note(found: dict[str, str], name: str, commit: str) -> None:
    if name.startswith(CARRIED) and is_ref(name) and is_id(commit):
        found[name] = commit


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
    return _read(file, top).decode(errors="replace").strip()
