"""Which files differ between two looks at a working tree: only if a commit was made does that take another process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.git import Git
from ralph.adapters.workspace.object_ids import id_of_file
from ralph.adapters.workspace.tree_status import TreeStatus, digests_of, look
from ralph.domain.loop.session_change import MOST_NAMED, ChangedFile, SessionChange
from ralph.domain.proof.file_names import is_compiled
from ralph.values import dataclass

SHORT = 12
"""Of an object's name, enough to tell one content of a file from another."""
ABSENT = "0" * SHORT
UNBORN = "0" * 40
"""Instead of a commit, where there is none yet."""
MOST_BYTES = 10_000_000
"""Of a file that is read while ralph waits: what an agent leaves may have any size."""
_RAW = 5
"""``:100644 100644 <old> <new> M``, then the path."""


@dataclass(frozen=True, slots=True)
class Blobs:
    old: str
    new: str


async def change_between(git: Git, top: Path, then: TreeStatus, now: TreeStatus) -> SessionChange | None:
    """None if git cannot tell. A commit of what was there already is no change of a file."""
    if then.fingerprint == now.fingerprint:
        return SessionChange()
    committed = await _committed(git, then.commit, now.commit)
    if committed is None:
        return None
    paths = sorted(
        path
        for path in {*then.uncommitted, *now.uncommitted, *committed}
        if not (path in now.new and is_compiled(path)) and _differs(path, top, then, now)
    )
    named = [_described(path, top, then, now, committed) for path in paths[:MOST_NAMED]]
    return SessionChange(len(paths), tuple(named))


def _differs(path: str, top: Path, then: TreeStatus, now: TreeStatus) -> bool:
    earlier, later = then.uncommitted.get(path), now.uncommitted.get(path)
    if earlier is None:
        return True  # else it would be named by none of the three
    if earlier == later:
        return False
    # Of two files that git does not know, or knew both times, the digests tell; else it may have learned of the same one.
    is_new = path in then.new and path in now.new
    is_known = path in then.heads and path in now.heads
    return is_new or is_known or earlier not in digests_of(look(top / path, top))


def _described(
    path: str, top: Path, then: TreeStatus, now: TreeStatus, committed: Mapping[str, Blobs]
) -> ChangedFile:
    blobs = committed.get(path)
    if path in now.uncommitted:
        after = _content(top / path, top, like=now.commit)
    else:
        after = blobs.new if blobs is not None else then.heads.get(path, ABSENT)
    if path in then.uncommitted:
        before = ""  # what an earlier session made of it is in that one's ``after``
    elif blobs is not None:
        before = blobs.old
    else:
        before = now.heads.get(path, ABSENT)
    return ChangedFile(path, before[:SHORT], after[:SHORT])


def _content(file: Path, top: Path, *, like: str) -> str:
    """Git's name for it, unless a filter changes the file on its way into the repository; empty if it is too large to look at."""
    if found := id_of_file(file, like or UNBORN, top, most=MOST_BYTES):
        return found
    try:
        return ABSENT if beneath.status(file, top) is None else ""
    except OSError:
        return ""


async def _committed(git: Git, begin: str, end: str) -> dict[str, Blobs] | None:
    if begin == end:
        return {}
    if not begin or not end:
        return None
    ran = await git.run("diff", "--raw", "--no-abbrev", "--no-renames", "-z", begin, end, "--", *git.not_own)
    if not ran.ok:
        return None
    entries = iter(ran.names)
    found = {}
    for entry in entries:
        fields = entry.split(" ")
        if len(fields) != _RAW:
            return None
        found[next(entries, "")] = Blobs(fields[2], fields[3])
    return found
