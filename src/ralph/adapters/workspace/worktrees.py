"""A git worktree and a branch for each task: parallel tasks cannot get in each other's way."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from time import time

from ralph.adapters.git import Git
from ralph.engine.tasks.ports import Worktree
from ralph.errors import GitFailed

BRANCHES = "ralph/"
FOLDER = "worktrees"


class Worktrees:
    """All worktrees of one project, below ``<state folder>/worktrees``. Nothing in one is ever discarded."""

    def __init__(self, git: Git, state_folder: Path, *, now: Callable[[], float] = time) -> None:
        self._git = git
        self._folder = state_folder / FOLDER
        self._now = now

    def place(self, name: str) -> Path:
        return self._folder / name

    def names(self) -> list[str]:
        """Of all that are there."""
        return sorted(path.name for path in self._folder.iterdir()) if self._folder.is_dir() else []

    async def open(self, name: str, *, start: str, base: str = "") -> Worktree:
        """The worktree of a task, made from ``start`` unless it has one already (of an earlier run)."""
        path, branch = self.place(name), f"{BRANCHES}{name}"
        begin = await self._git.commit_of(start)
        if not begin:
            message = f"{start} is not a commit"
            raise GitFailed(message, hint="make a first commit: tasks are worked on in branches of it")
        if await self._is_worktree(path):
            await self._git.at(path).unlock()
            return Worktree(path, branch, base or await self._base(branch, begin))
        self._put_aside(path)
        await self._git.must("worktree", "prune")
        self._folder.mkdir(parents=True, exist_ok=True)
        if await self._git.commit_of(f"refs/heads/{branch}"):
            await self._git.must("worktree", "add", "--quiet", "--force", str(path), branch)
            return Worktree(path, branch, base or await self._base(branch, begin))
        await self._git.must("worktree", "add", "--quiet", "--no-track", "-b", branch, str(path), begin)
        return Worktree(path, branch, begin)

    async def detached(self, name: str, commit: str) -> Path:
        """A clean worktree at ``commit``, on no branch. For our own use only."""
        path = self.place(name)
        if await self._is_worktree(path):
            git = self._git.at(path)
            await git.unlock()
            await git.must("checkout", "--quiet", "--force", "--detach", commit)  # also out of a merge
            await git.must("clean", "-ffdqx")
            return path
        self._put_aside(path)
        await self._git.must("worktree", "prune")
        self._folder.mkdir(parents=True, exist_ok=True)
        await self._git.must("worktree", "add", "--quiet", "--detach", str(path), commit)
        return path

    async def close(self, worktree: Worktree, *, merged_into: str) -> bool:
        """Remove worktree and branch of work that is merged; False if something in it is not."""
        git = self._git.at(worktree.path)
        with contextlib.suppress(GitFailed):
            if await self._is_worktree(worktree.path) and not (
                await git.is_clean() and await git.is_ancestor("HEAD", merged_into)
            ):
                return False
        if not await self._git.is_ancestor(f"refs/heads/{worktree.branch}", merged_into):
            return False
        if (await self._git.run("worktree", "remove", "--force", str(worktree.path))).code not in (0, 128):
            return False
        await self._git.run("branch", "-D", worktree.branch)
        return True

    async def _base(self, branch: str, start: str) -> str:
        ran = await self._git.run("merge-base", f"refs/heads/{branch}", start)
        return ran.text if ran.ok else start

    async def _is_worktree(self, path: Path) -> bool:
        if not (path / ".git").is_file():
            return False
        ran = await self._git.at(path).run("rev-parse", "--show-toplevel")
        return ran.ok and _same(Path(ran.out.rstrip("\n")), path)

    def _put_aside(self, path: Path) -> None:
        """Something is there that git does not know, left by a crash or by a person: keep it."""
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
        elif path.exists() or path.is_symlink():
            shutil.move(path, path.with_name(f"{path.name}.left-{int(self._now())}"))


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
