"""What git says about a working tree, in one cheap call, with a digest of each file that is not committed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.git import Git
from ralph.domain.trust.digest import blake2b
from ralph.values import dataclass

HEAD = b"# branch.oid "
READ_BYTES = 1_000_000
_FIELDS = {b"1 ": 8, b"u ": 10, b"? ": 1}  # before the path, by the kind of entry
_NOT_STAGED = (b".M", b".D", b".T")


@dataclass(frozen=True, slots=True)
class TreeStatus:
    """``uncommitted``: the digest of each file that differs from the commit, by its path from the top; ``new``: those
    that git does not know; ``staged``: those that differ in the index; ``heads``: what the commit has instead, by git's name
    for it."""

    fingerprint: str
    commit: str
    uncommitted: Mapping[str, str]
    new: frozenset[str]
    staged: frozenset[str]
    heads: Mapping[str, str]


async def read_status(git: Git, top: Path) -> TreeStatus | None:
    """None if git cannot tell. The status names files as seen from ``top``, wherever it is asked."""
    options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")
    ran = await git.run("status", *options, "--", *git.not_own)
    if not ran.ok:
        return None
    whole = blake2b(digest_size=16)
    commit, found, new, staged, heads = "", {}, set(), set(), {}
    for entry in ran.output.split(b"\0"):
        whole.update(entry + b"\0")
        if entry.startswith(HEAD):
            commit = entry.removeprefix(HEAD).decode(errors="replace")
        elif path := _path(entry):
            content = look(top / path, top)
            whole.update(content)
            found[path] = _digest(entry[:2], content)
            if entry.startswith(b"1 "):
                heads[path] = entry.split(b" ", 7)[6].decode(errors="replace")
            if entry.startswith(b"? "):
                new.add(path)
            elif entry[2:4] not in _NOT_STAGED:
                staged.add(path)
    commit = "" if commit == "(initial)" else commit
    return TreeStatus(whole.hexdigest(), commit, found, frozenset(new), frozenset(staged), heads)


def digests_of(content: bytes) -> frozenset[str]:
    """Of a file with this content: whether git knows it or not is part of its digest."""
    return frozenset(_digest(kind, content) for kind in (b"1 ", b"? "))


def _digest(kind: bytes, content: bytes) -> str:
    return blake2b(kind + content, digest_size=16).hexdigest()


def look(file: Path, top: Path) -> bytes:
    """The status names a changed file, but not whether it has changed once more."""
    content = beneath.read_whole(file, READ_BYTES, top)
    if content is not None:  # the same words written again are no progress
        return content
    try:
        stat = beneath.status(file, top)
    except OSError:
        stat = None
    return b"absent" if stat is None else f"{stat.st_mtime_ns} {stat.st_size}".encode()


def _path(entry: bytes) -> str:
    """``1 .M N... 100644 100644 100644 <hash> <hash> <path>``, ``? <path>``, or neither. A file that is in the index alone
    is no change of the tree."""
    fields = _FIELDS.get(entry[:2], 0) if entry[:4] != b"1 AD" else 0
    return entry.split(b" ", fields)[-1].decode(errors="surrogateescape") if fields else ""
