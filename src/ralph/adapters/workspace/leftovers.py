"""Files of a worktree that git ignores, and so does not merge: which there are, and how they are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from stat import S_ISREG

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder
from ralph.domain.tasks.leftovers import is_made_again

CHUNK = 1_000_000
DEEPEST = 100
UNLIKE = ""
"""The state of what is never the same as before: a folder that stays whole, a link, what cannot be looked at."""


def states_of(ignored: Sequence[str], root: Path) -> dict[str, str]:
    """Each file, without those that are made again, with a state that no writing to it leaves as it was."""
    names = (each for one in ignored for each in _expand(root, one.rstrip("/")))
    return {name: _state(root / name, root) for name in names}


def _state(file: Path, root: Path) -> str:
    try:
        found = beneath.status(file, root)
    except OSError:
        return UNLIKE
    if found is None or not S_ISREG(found.st_mode):
        return UNLIKE
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def move_away(names: Sequence[str], source: Path, place: Path, users: Path) -> tuple[str, ...]:
    """Except links, and copies of what the user has already. Raises OSError."""
    moved = []
    for name in names:
        file = source / name
        if beneath.read_link(file, source) or _is_copy(file, source, users / name, users):
            continue
        make_private_folder(place)
        trees.move(file, next(free_names(place / name, place)), source, place)
        moved.append(name)
    return tuple(moved)


def _expand(root: Path, top: str) -> Iterator[str]:
    """The files in a folder, without those that are made again; a repository stays whole, and so does what is nested deeply."""
    waiting = [top]
    while waiting:
        name = waiting.pop()
        if is_made_again(name):
            continue
        try:
            names = beneath.list_names(root / name, root)
        except OSError:  # a file, or a link
            names = [".git"]
        if ".git" in names or name.count("/") > DEEPEST:
            yield name
        else:
            waiting += (f"{name}/{each}" for each in reversed(names))


def _is_copy(one: Path, one_top: Path, other: Path, other_top: Path) -> bool:
    try:
        with beneath.open_plain(one, one_top) as a, beneath.open_plain(other, other_top) as b:
            if os.fstat(a.fileno()).st_size != os.fstat(b.fileno()).st_size:
                return False
            while (chunk := a.read(CHUNK)) == b.read(CHUNK):
                if not chunk:
                    return True
    except OSError:
        pass
    return False


def free_names(path: Path, top: Path) -> Iterator[Path]:
    """Names like this one that are not taken."""
    names = (path if not number else path.with_name(f"{path.name}.{number}") for number in count())
    return (name for name in names if beneath.status(name, top) is None)
