"""Taking accepted work in: merged and verified beside the user's tree, then moved there by a fast-forward only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.git import OWN, Git
from ralph.adapters.workspace.worktrees import Worktree, Worktrees

PLACE = "_integration"
TRIES = 5
"""The target may move while a merge is verified; then it is merged again, on the new tip."""

Verify = Callable[[Path], Awaitable[str]]
"""Looks at a merged tree; empty if it is good, else what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The target stands at ``commit`` now."""

    commit: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """The work and the target changed the same places."""

    files: tuple[str, ...]
    target: str  # the commit it conflicts with


@dataclass(frozen=True, slots=True)
class Unverified:
    """Merged with the target as it is now, the work no longer holds."""

    reason: str
    target: str


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The work is good, but the user's tree is in the way; nothing was touched."""

    reason: str


Integrated = Merged | Conflict | Unverified | NotTaken


class Integration:
    """Merges into one branch. One at a time: callers take turns."""

    def __init__(self, git: Git, worktrees: Worktrees, *, target: str) -> None:
        self._git = git  # of the main checkout
        self._worktrees = worktrees
        self._target = target

    async def take_in(self, worktree: Worktree, *, message: str, verify: Verify) -> Integrated:
        """Idempotent: what is merged already is not merged again. Verified it is all the same: an agent may have merged it."""
        for _ in range(TRIES):
            tip = await self._git.commit_of(f"refs/heads/{self._target}")
            if not tip:
                return NotTaken(f"there is no branch {self._target} any more")
            if await self._git.is_ancestor(f"refs/heads/{worktree.branch}", tip):
                return await self._merged_already(tip, verify)
            if own := await self._changes_of_ours(worktree, tip):
                return Unverified(f"it changes what is ralph's own, and not part of the work: {own}", tip)
            merged = await self._merge(worktree, tip, message)
            if isinstance(merged, Conflict | NotTaken):
                return merged
            path = self._worktrees.place(PLACE)
            if wrong := await verify(path):
                return Unverified(wrong, tip)
            # What a verification wrote into the tree is not part of the merge.
            result = await self._forward(merged, tip)
            if result is not None:
                return result
        return NotTaken(f"{self._target} moves faster than its merges can be verified")

    async def _changes_of_ours(self, worktree: Worktree, tip: str) -> str:
        """Settings run commands: a task must not bring its own into the user's checkout."""
        changed = await self._git.run(
            *("diff", "--name-only", "--no-ext-diff", f"{tip}...refs/heads/{worktree.branch}", "--", *OWN)
        )
        return ", ".join(changed.text.splitlines())

    async def _merged_already(self, tip: str, verify: Verify) -> Merged | Unverified:
        wrong = await verify(await self._worktrees.detached(PLACE, tip))
        return Unverified(wrong, tip) if wrong else Merged(tip)

    async def _merge(self, worktree: Worktree, tip: str, message: str) -> str | Conflict | NotTaken:
        path = await self._worktrees.detached(PLACE, tip)
        git = self._git.at(path)
        ran = await git.run("merge", "--no-ff", "--no-verify", "-m", message, f"refs/heads/{worktree.branch}")
        if ran.ok:
            return await git.commit_of("HEAD")
        files = await git.conflicts()
        await git.run("merge", "--abort")
        return Conflict(files, tip) if files else NotTaken(f"git cannot merge: {ran.err or ran.text}")

    async def _forward(self, commit: str, tip: str) -> Merged | NotTaken | None:
        """None: the target has moved meanwhile."""
        if await self._git.branch() != self._target:
            # Like `update-ref`, but refused where another worktree has the branch checked out or rebases it.
            moved = f"{commit}:refs/heads/{self._target}"
            ran = await self._git.run("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", ".", moved)
            if ran.ok:
                return Merged(commit)
            if await self._git.commit_of(f"refs/heads/{self._target}") != tip:
                return None
            return NotTaken(f"{self._target} cannot be moved: {ran.err or ran.text}")
        if await self._git.commit_of("HEAD") != tip:
            return None
        ran = await self._git.run("merge", "--ff-only", "--quiet", "--no-autostash", commit)
        if ran.ok:
            return Merged(commit)
        if await self._git.commit_of("HEAD") != tip:
            return None
        return NotTaken(f"your working tree is in the way: {ran.err or ran.text}")
