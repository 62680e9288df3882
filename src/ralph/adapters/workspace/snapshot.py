"""What a git working tree looks like, to see whether there is progress, and what a run has made of it in the end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.git import Git
from ralph.adapters.git_folders import git_folders
from ralph.adapters.workspace.sealed_files import remove
from ralph.adapters.workspace.session_changes import change_between
from ralph.adapters.workspace.tree_status import TreeStatus, read_status
from ralph.domain.loop.tree_change import TreeChange
from ralph.domain.proof.file_names import is_compiled
from ralph.engine.ports import ProcessRunner, Snapshot
from ralph.patterns import pattern
from ralph.values import dataclass, replace

SECONDS = 60.0
MOST_NAMED = 20
MOST_BEGUN = 10_000
"""Uncommitted files whose beginning is noted: where there are more, nobody asks which of them a run has changed."""
MOST_BYTES = 10_000_000
_COMMIT = pattern(r"(?:[0-9a-f]{40}|[0-9a-f]{64})?")
MIXED = "mixed"
"""Instead of a digest: both the run and the user have changed the file."""


@dataclass(frozen=True, slots=True)
class Noted:
    """The tree at one moment. ``moved``: the user has made commits during the run, between two processes of it."""

    commit: str
    uncommitted: dict[str, str]
    moved: bool = False


class GitWorkspace:
    """Commits, changes and new files count; what ralph itself writes does not.

    ``beginning``: where the first snapshot of a run is kept, for its end and for whoever resumes it; None: nowhere.
    """

    def __init__(
        self, root: Path, runner: ProcessRunner, *, top: Path, beginning: Path | None = None
    ) -> None:
        self._git = Git(root, runner, seconds=SECONDS)
        self._root = root
        self._top = top
        self._marker = top / ".git"
        self._is_linked = self._marker.is_file()  # to the repository that has its commits
        self._beginning = beginning
        self._is_noted = False
        self._last: TreeStatus | None = None

    async def snapshot(self) -> Snapshot:
        """Empty if git cannot tell: then nothing counts as a lack of progress."""
        status = await read_status(self._git, self._top)
        last, self._last = self._last, status
        if status is None:
            return Snapshot()
        self._note(status)
        change = await change_between(self._git, self._top, last, status) if last is not None else None
        return Snapshot(status.fingerprint, status.commit, change)

    async def take_up(self) -> None:
        """What differs from how the run left it is the user's: undoing the run must not undo that."""
        if self._beginning is None or (begun := self._read(self._beginning)) is None:
            return
        left = self._read(self._ending)
        remove(self._ending)
        now = await read_status(self._git, self._top)
        if left is None or now is None:
            return
        for path, digest in now.uncommitted.items():
            if left.uncommitted.get(path) != digest:
                begun.uncommitted[path] = MIXED if path in left.uncommitted else digest
        self._write(self._beginning, replace(begun, moved=begun.moved or now.commit != left.commit))

    async def changes(self) -> TreeChange | None:
        """Since the first snapshot; None if that or git cannot tell. It is what the run leaves behind."""
        begun = self._read(self._beginning) if self._beginning is not None else None
        now = await read_status(self._git, self._top) if begun is not None else None
        if begun is None or now is None:
            return None
        self._write(self._ending, Noted(now.commit, dict(now.uncommitted)))
        commit, before = begun.commit, begun.uncommitted
        touched = {
            path
            for path, digest in now.uncommitted.items()
            if before.get(path) != digest and not (path in now.new and is_compiled(path))
        }
        committed = await self._committed(commit, now.commit)
        # What was uncommitted, and is now neither that nor part of a commit, was undone.
        undone = {path for path in before if path not in now.uncommitted and path not in committed}
        return TreeChange(
            began_with=commit,
            ended_with=now.commit,
            files=len(touched | committed | undone),
            commits=await self._count(commit, now.commit),
            is_ahead=not begun.moved and await self._is_ahead(commit, now.commit),
            uncommitted=len(touched),
            new=len(touched & now.new),
            staged=len(touched & now.staged),
            named=self._from_here(sorted(touched)[:MOST_NAMED]),
            mixed=sum(path in before for path in touched) + len(undone),
            is_merging=self._is_merging(),
            was_clean=not before,
        )

    def _is_merging(self) -> bool:
        folders = git_folders(self._top)
        return folders is not None and (folders.own / "MERGE_HEAD").is_file()

    def loss(self) -> str:
        """What the user must know at once: it was there when the run began. Empty: it still is."""
        if os.path.lexists(self._marker):
            return ""
        if self._is_linked:
            return f"the worktree {self._top} lost its repository during the run: its .git is gone"
        return f"the git repository of {self._top} was removed during the run: its .git is gone, and with it its history"

    def _from_here(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(os.path.relpath(self._top / path, self._root) for path in paths)

    # --- the beginning ---

    def _note(self, status: TreeStatus) -> None:
        file, is_noted = self._beginning, self._is_noted
        self._is_noted = True  # an agent that removes it does not make its own work the beginning
        if file is None or is_noted or os.path.lexists(file) or len(status.uncommitted) > MOST_BEGUN:
            return
        self._write(file, Noted(status.commit, dict(status.uncommitted)))

    @property
    def _ending(self) -> Path:
        assert self._beginning is not None, "without a beginning nothing is noted"
        return self._beginning.with_name("ending.json")

    @staticmethod
    def _write(file: Path, noted: Noted) -> None:
        """Or not, if something is in the way: then the end of the run has less to tell."""
        with suppress(OSError):
            beneath.write_atomic(file, json.dumps(asdict(noted)), file.parent)

    @staticmethod
    def _read(file: Path) -> Noted | None:
        content = beneath.read_whole(file, MOST_BYTES, file.parent)
        try:
            noted = json.loads(content or b"")
            found = Noted(str(noted["commit"]), dict(noted["uncommitted"]), bool(noted["moved"]))
        except (ValueError, LookupError, TypeError, RecursionError):
            return None
        return (
            found if _COMMIT.fullmatch(found.commit) else None
        )  # it may be an agent's, and git would take an option

    # --- commits since ---

    async def _committed(self, begin: str, end: str) -> set[str]:
        if begin == end:
            return set()
        commits = tuple(filter(None, (begin, end)))  # none: a branch without commits
        listing = ("diff", "--no-renames") if len(commits) == 2 else ("ls-tree", "-r")
        return set((await self._git.run(*listing, "--name-only", "-z", *commits)).names)

    async def _count(self, begin: str, end: str) -> int:
        if begin == end:
            return 0
        counted = await self._git.run("rev-list", "--count", f"{begin}..{end}" if begin and end else end)
        return int(counted.text) if counted.ok and counted.text.isdecimal() else 0

    async def _is_ahead(self, begin: str, end: str) -> bool:
        if begin in ("", end):
            return True
        return (await self._git.run("merge-base", "--is-ancestor", begin, end)).ok
