"""Merging accepted work: done and verified beside the user's tree, then moved there by a fast-forward only."""

from __future__ import annotations

from ralph.adapters.git import Git
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.domain.sandbox.own_git import OWN
from ralph.domain.tasks.pipeline import Conflict, Merged, MergeResult, NotMerged, Unverified
from ralph.engine.tasks.ports import Verify, Worktree

PLACE = "_integration"
TRIES = 5
"""The target may move while a merge is verified; then it is merged again, on the new tip."""


class Integration:
    """Merges into one branch. One at a time: callers take turns."""

    def __init__(self, git: Git, worktrees: Worktrees, *, target: str) -> None:
        self._git = git  # of the main checkout
        self._worktrees = worktrees
        self._target = target

    async def return_to_branch(self, worktree: Worktree) -> bool:
        """What was verified is what the worktree holds: a branch that an agent left behind follows it there."""
        git = self._git.at(worktree.path)
        await git.unlock()
        if await git.branch() == worktree.branch:
            return True
        follows = await git.is_ancestor(f"refs/heads/{worktree.branch}", "HEAD")
        return follows and (await git.run("checkout", "--quiet", "-B", worktree.branch)).ok

    async def commit_rest(self, worktree: Worktree, message: str) -> None:
        await self._git.at(worktree.path).commit_all(message)

    async def is_unchanged(self, worktree: Worktree) -> bool:
        return (await self._git.at(worktree.path).run("diff", "--quiet", worktree.base, "HEAD")).ok

    async def catch_up(self, worktree: Worktree) -> None:
        git = self._git.at(worktree.path)
        if await git.is_ancestor(worktree.base, "HEAD") or await git.commit_of("MERGE_HEAD"):
            return
        await git.commit_all(f"{worktree.path.name}: before the merge")
        await git.run("merge", "--no-edit", "--no-verify", worktree.base)

    async def is_in_target(self, worktree: Worktree) -> bool:
        """Before the work is accepted only someone else can have put its commits there."""
        tip = await self._git.commit_of(f"refs/heads/{worktree.branch}")
        is_new = bool(tip) and not await self._git.is_ancestor(tip, worktree.base)
        return is_new and await self._git.is_ancestor(tip, f"refs/heads/{self._target}")

    async def merge(self, worktree: Worktree, *, message: str, verify: Verify) -> MergeResult:
        """What is merged already is not merged again, but still verified: an agent may have merged it."""
        for _ in range(TRIES):
            tip = await self._git.commit_of(f"refs/heads/{self._target}")
            if not tip:
                return NotMerged(f"there is no branch {self._target} any more")
            if await self._git.is_ancestor(f"refs/heads/{worktree.branch}", tip):
                return await self._merged_already(tip, verify)
            if own := await self._changes_of_ours(worktree, tip):
                return Unverified(f"it changes what is ralph's own, and not part of the work: {own}", tip)
            merged = await self._merge(worktree, tip, message)
            if isinstance(merged, Conflict | NotMerged):
                return merged
            if wrong := await verify(self._worktrees.place(PLACE)):
                return Unverified(wrong, tip)
            # What a verification wrote into the tree is not part of the merge.
            if (result := await self._forward(merged, tip)) is not None:
                return result
        return NotMerged(f"{self._target} moves faster than its merges can be verified")

    async def _changes_of_ours(self, worktree: Worktree, tip: str) -> str:
        """Settings run commands: a task must not bring its own into the user's checkout."""
        work = f"{tip}...refs/heads/{worktree.branch}"
        changed = await self._git.run("diff", "--name-only", work, "--", *OWN)
        return ", ".join(changed.text.splitlines())

    async def _merged_already(self, tip: str, verify: Verify) -> Merged | Unverified:
        wrong = await verify(await self._worktrees.detached(PLACE, tip))
        return Unverified(wrong, tip) if wrong else Merged(tip)

    async def _merge(self, worktree: Worktree, tip: str, message: str) -> str | Conflict | NotMerged:
        path = await self._worktrees.detached(PLACE, tip)
        git = self._git.at(path)
        ran = await git.run("merge", "--no-ff", "--no-verify", "-m", message, f"refs/heads/{worktree.branch}")
        if ran.ok:
            return await git.commit_of("HEAD")
        files = await git.conflicts()
        await git.run("merge", "--abort")
        return Conflict(files, tip) if files else NotMerged(f"git cannot merge: {ran.why}")

    async def _forward(self, commit: str, tip: str) -> Merged | NotMerged | None:
        """None: the target has moved meanwhile."""
        branch = f"refs/heads/{self._target}"
        if await self._git.commit_of(branch) != tip:
            return None
        is_here = await self._git.branch() == self._target
        if is_here:
            ran = await self._git.run("merge", "--ff-only", "--quiet", "--no-autostash", commit)
        else:  # like `update-ref`, but refused where another worktree has the branch checked out or rebases it
            move = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", ".", f"{commit}:{branch}")
            ran = await self._git.run(*move)
        if ran.ok:
            return Merged(commit)
        if await self._git.commit_of(branch) != tip:
            return None
        why = "your working tree is in the way" if is_here else f"{self._target} cannot be moved"
        return NotMerged(f"{why}: {ran.why}")
