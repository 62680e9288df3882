"""Moves the user's checkout forward to a merge. A kill in the middle leaves a record, by which the next command finishes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from time import time

from ralph.adapters import beneath
from ralph.adapters.files import make_private_folder, read_whole, write_atomic
from ralph.adapters.git import Git, Ran
from ralph.errors import GitFailed
from ralph.values import dataclass

FOLDER = "forward"
MOST_BYTES = 100_000_000
BATCH = 200  # names per command line
OURS_FOR = 600.0
"""Seconds. A lock of the index that was made so soon after our merge began is our own, if it stays."""
PATIENCE = 2.0
STEP = 0.05


@dataclass(frozen=True, slots=True)
class _Move:
    """On disk before the user's tree is touched: where the branch is, and where it goes."""

    tip: str
    commit: str
    at: float


class FastForward:
    """Of the branch that is checked out in the user's tree. No file of the user's is lost, not even by a kill."""

    def __init__(self, git: Git, state_folder: Path, *, now: Callable[[], float] = time) -> None:
        self._git = git
        self._folder = state_folder / FOLDER
        self._now = now

    async def run(self, branch: str, *, tip: str, commit: str) -> Ran:
        """If git refuses, it has touched nothing."""
        file = self._file(branch)
        make_private_folder(self._folder)
        write_atomic(file, json.dumps(asdict(_Move(tip, commit, self._now()))))
        ran = await self._git.run("merge", "--ff-only", "--quiet", "--no-autostash", commit)
        if ran.code is None:  # it took too long, and was ended somewhere in between
            await self.finish()
        else:
            beneath.remove(file, self._folder)
        return ran

    async def finish(self) -> str:
        """Finish what a kill left half done in the tree that is checked out here. Returns what to tell the user.

        Raises GitFailed if git cannot do it.
        """
        if not self._folder.is_dir() or not (branch := await self._git.branch()):
            return ""
        file = self._file(branch)
        move = _read(file)
        if move is None:
            return ""
        told = ""
        if (
            await self._git.commit_of(f"refs/heads/{branch}") == move.tip
        ):  # else it is done, or the user went on
            told = await self._redo(branch, move)
        beneath.remove(file, self._folder)
        return told

    def _file(self, branch: str) -> Path:
        from urllib.parse import quote  # every run looks for a merge, and next to none finds one to name

        return self._folder / f"{quote(branch, safe='')}.json"

    async def _redo(self, branch: str, move: _Move) -> str:
        """All changed files were as in ``tip`` when git began: what is neither so, nor as in ``commit``, nor a part of
        that, was written by the user since then, and stays."""
        top = Path((await self._git.must("rev-parse", "--show-toplevel")).out.rstrip("\n"))
        git = self._git.at(top)
        await self._unlock(git, move)
        listed = await git.must("diff-tree", "-r", "-z", "--no-renames", "--name-only", move.tip, move.commit)
        tip, commit = _Tree(git, move.tip, self._folder), _Tree(git, move.commit, self._folder)
        try:
            unfinished = await commit.differing(listed.names)
            edited = await tip.differing(unfinished)
            users = [name for name in edited if not await commit.is_begun(name)]
            await commit.put([name for name in unfinished if name not in set(users)])
        finally:
            tip.forget()
            commit.forget()
        await git.must(
            "read-tree", "-m", "-i", move.tip, move.commit
        )  # what the user has staged stays staged
        why = "merge: finished by ralph after an interruption"
        await git.must("update-ref", "-m", why, f"refs/heads/{branch}", move.commit, move.tip)
        await git.run("update-index", "-q", "--refresh")
        left = f"; you have changed {', '.join(users)} since then, which is as you left it" if users else ""
        return f"a merge into {branch} was interrupted; it is finished now, as {move.commit[:12]}{left}"

    async def _unlock(self, git: Git, move: _Move) -> None:
        """A git that was killed left its lock. One of the user's own is gone soon, or was made much later."""
        lock = git.root / (await git.must("rev-parse", "--git-path", "index.lock")).out.rstrip("\n")
        for _ in range(round(PATIENCE / STEP)):
            if not lock.exists():
                return
            await asyncio.sleep(STEP)
        with suppress(FileNotFoundError):
            if not 0 <= lock.stat().st_mtime - move.at + 1 <= OURS_FOR:
                message = f"a merge was interrupted, and cannot be finished while {lock} is there"
                raise GitFailed(message, hint="if no git is running there, remove it and try again")
            beneath.remove(lock, lock.parent)


class _Tree:
    """One commit compared with the user's files, by an index of its own: the user's is not touched."""

    def __init__(self, git: Git, commit: str, folder: Path) -> None:
        self._git = git
        self._commit = commit
        self._index = folder / f"{commit}.index"
        self._environment = {"GIT_INDEX_FILE": str(self._index.absolute())}
        self._files: frozenset[str] = frozenset()

    async def differing(self, names: Sequence[str]) -> list[str]:
        """Of these, the ones that are not as in this commit."""
        await self._must("read-tree", self._commit)
        self._files = frozenset((await self._must("ls-files", "-z")).names)
        await self._run("update-index", "-q", "--refresh")
        different = set((await self._must("diff-files", "--name-only", "-z")).names)
        return [name for name in names if (name in different if name in self._files else self._is_file(name))]

    async def is_begun(self, name: str) -> bool:
        """It is missing, or holds the beginning of what this commit has there: git was killed while it wrote."""
        path = self._path(name)
        if not self._is_file(name):
            return True
        if beneath.read_link(path, self._git.root) or name not in self._files:
            return False
        content = beneath.read_whole(path, MOST_BYTES, self._git.root)
        ran = await self._git.run("cat-file", "--filters", f"{self._commit}:{name}")
        return content is not None and ran.ok and ran.output.startswith(content)

    async def put(self, names: Collection[str]) -> None:
        """Make them as in this commit. First what it no longer has: a folder may become a file."""
        for name in names:
            if name not in self._files:
                self._delete(self._path(name))
        written = [name for name in names if name in self._files and not S_ISDIR(self._mode(name))]
        for start in range(0, len(written), BATCH):
            await self._must("checkout-index", "--force", "--quiet", "--", *written[start : start + BATCH])

    def forget(self) -> None:
        beneath.remove(self._index, self._index.parent)

    def _delete(self, path: Path) -> None:
        with suppress(OSError):  # a folder that holds something else stays
            beneath.remove(path, self._git.root)
            while path.parent != self._git.root:
                path = path.parent
                beneath.remove_folder(path, self._git.root)

    def _is_file(self, name: str) -> bool:
        mode = self._mode(name)
        return S_ISREG(mode) or S_ISLNK(mode)

    def _mode(self, name: str) -> int:
        """0: it is not there, or lies behind a link."""
        with suppress(OSError):
            found = beneath.status(self._path(name), self._git.root)
            return 0 if found is None else found.st_mode
        return 0

    def _path(self, name: str) -> Path:
        return self._git.root / name

    async def _run(self, *arguments: str) -> Ran:
        return await self._git.run(*arguments, environment=self._environment)

    async def _must(self, *arguments: str) -> Ran:
        ran = await self._run(*arguments)
        if not ran.ok:
            message = f"an interrupted merge cannot be finished: git {arguments[0]} failed: {ran.why}"
            raise GitFailed(message, hint="`git status` shows how far it is")
        return ran


def _read(file: Path) -> _Move | None:
    """None: there is none, or not a whole one, so nothing was begun."""
    content = read_whole(file, MOST_BYTES)
    try:
        return _Move(**json.loads(content or b"null"))
    except (ValueError, TypeError):
        return None
