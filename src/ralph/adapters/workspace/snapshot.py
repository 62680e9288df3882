"""What a git working tree looks like, in one cheap call: to see whether there is progress."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.git import Git
from ralph.engine.ports import ProcessRunner, Snapshot

HEAD = b"# branch.oid "
SECONDS = 60.0
READ_BYTES = 1_000_000
_FIELDS = {b"1 ": 8, b"2 ": 9, b"u ": 10, b"? ": 1}  # before the path, by the kind of entry


class GitWorkspace:
    """Commits, changes and new files count; what ralph itself writes does not."""

    def __init__(self, root: Path, runner: ProcessRunner, *, top: Path) -> None:
        self._git = Git(root, runner, seconds=SECONDS)
        self._top = top  # the status names files as seen from there, wherever it is asked

    async def snapshot(self) -> Snapshot:
        """Empty if git cannot tell: then nothing counts as a lack of progress."""
        ran = await self._git.run(
            "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--", *self._git.not_own
        )
        if not ran.ok:
            return Snapshot(concern=self._loss())
        entries = ran.output.split(b"\0")
        digest = blake2b(digest_size=16)
        commit = ""
        for entry in entries:
            digest.update(entry + b"\0")
            if entry.startswith(HEAD):
                commit = entry.removeprefix(HEAD).decode(errors="replace")
            elif path := _path(entry):
                digest.update(self._look(path))
        return Snapshot(digest.hexdigest(), commit if commit != "(initial)" else "")

    def _loss(self) -> str:
        """It was there when the run began."""
        if os.path.lexists(self._top / ".git"):
            return ""
        return f"the git repository of {self._top} was removed during the run: its .git is gone, and with it its history"

    def _look(self, path: bytes) -> bytes:
        """The status names a changed file, but not whether it has changed once more."""
        file = self._top / path.decode(errors="surrogateescape")
        content = beneath.read_whole(file, READ_BYTES, self._top)
        if content is not None:  # the same words written again are no progress
            return content
        try:
            stat = beneath.status(file, self._top)
        except OSError:
            stat = None
        return b"absent" if stat is None else f"{stat.st_mtime_ns} {stat.st_size}".encode()


def _path(entry: bytes) -> bytes:
    """``1 .M N... 100644 100644 100644 <hash> <hash> <path>``, ``? <path>``, or neither."""
    fields = _FIELDS.get(entry[:2], 0)
    return entry.split(b" ", fields)[-1] if fields else b""
