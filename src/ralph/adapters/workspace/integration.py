"""Merging accepted work: done and verified beside the user's tree, then moved there by a fast-forward only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import real_path
from ralph.adapters.git import Git
from ralph.adapters.git_folders import git_folders, included_in_tree
from ralph.adapters.workspace.fast_forward import FastForward
from ralph.adapters.workspace.preparation import Preparation
from ralph.adapters.workspace.repository_lock import lock_folder
from ralph.adapters.workspace.worktrees import Worktrees, make_project_folder
from ralph.domain.sandbox.own_git import OWN
from ralph.domain.tasks.pipeline import Conflict, Merged, MergeResult, NotMerged, Unverified
from ralph.engine.tasks.ports import Verify, Worktree

PLACE = "_integration"
TRIES = 5
"""The target may move while a merge is verified; then it is merged again, on the new tip."""
MOST_NAMED = 5


def place_of(run_folder: Path) -> str:
    """The name of the worktree in which a run merges."""
    return f"{PLACE}-{run_folder.name}"


class Integration:
    """Merges into one branch. One at a time: callers take turns. Each run has a tree of its own for it."""

    def __init__(
        self,
        git: Git,
        worktrees: Worktrees,
        forward: FastForward,
        *,
        target: str,
        run_folder: Path,
        preparation: Preparation | None = None,
    ) -> None:
        self._git = git  # of the main checkout
        self._worktrees = worktrees
        self._fast_forward = forward
        self._target = target
        self._preparation = preparation
        self._place = place_of(run_folder)
        self._index = run_folder / "merge.index"
        self._held: int | None = None

    async def prepare(self) -> None:
        """Remove what killed runs left: nobody else will."""
        await self._worktrees.discard_abandoned(PLACE)

    async def finish(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None
        await self._worktrees.discard(self._place)

    async def return_to_branch(self, worktree: Worktree) -> bool:
        """What was verified is what the worktree holds: a branch that an agent left behind follows it there."""
        git = self._git.at(worktree.path)
        await git.unlock()
        if await git.branch() == worktree.branch:
            return True
        follows = await git.is_ancestor(f"refs/heads/{worktree.branch}", "HEAD")
        return follows and (await git.run("checkout", "--quiet", "-B", worktree.branch)).ok

    async def changed_since(self, worktree: Worktree, commit: str) -> Sequence[str] | None:
        """What is only changed inside a submodule would not be committed here."""
        git = self._git.at(worktree.path)
        if not await git.commit_of(commit):
            return None
        only = ("--name-only", "-z", "--no-renames", "--ignore-submodules=dirty")
        changed = await git.must("diff", *only, commit, "--", *git.not_own)
        new = await git.must("ls-files", "--others", "--exclude-standard", "-z", "--", *git.not_own)
        return sorted({*changed.names, *new.names})

    async def is_unchanged(self, worktree: Worktree, commit: str) -> bool:
        return (await self._git.at(worktree.path).run("diff", "--quiet", worktree.base, commit)).ok

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

    async def moved_by_others(self) -> str:
        """What the user does in the tree is in its own reflog; what `git update-ref` does from another tree is not."""
        if await self._git.branch() != self._target:
            return ""
        tip = await self._git.commit_of(f"refs/heads/{self._target}")
        seen = (await self._git.run("log", "--walk-reflogs", "-1", "--format=%H", "HEAD", "--")).text
        if not tip or not seen or tip == seen:
            return ""
        names = ("--name-only", "-z", "--no-renames", "--no-relative")
        changed = (await self._git.run("diff", *names, seen, tip)).names
        staged = (await self._git.run("diff", "--cached", *names, seen)).names
        if not changed or not set(staged).isdisjoint(changed):
            return ""
        return (
            f"{self._target} was moved to {tip[:12]} behind your working tree, which still has the files of "
            f"{seen[:12]}: `git diff {seen[:12]} {tip[:12]}` shows the change, "
            f"`git update-ref refs/heads/{self._target} {seen[:12]}` undoes it, and then `git merge {tip[:12]}` takes it over"
        )

    async def merge(self, worktree: Worktree, commit: str, *, message: str, verify: Verify) -> MergeResult:
        """What is merged already is not merged again, but still verified: an agent may have merged it."""
        for _ in range(TRIES):
            tip = await self._git.commit_of(f"refs/heads/{self._target}")
            if not tip:
                return NotMerged(f"there is no branch {self._target} any more")
            if moved := await self.moved_by_others():
                return NotMerged(moved)
            is_merged = await self._git.is_ancestor(commit, tip)
            if not is_merged and (own := await self._changes_of_ours(commit, tip)):
                return Unverified(f"it changes what ralph or git obeys, and not part of the work: {own}", tip)
            merged = tip if is_merged else await self._merge(commit, tip, message)
            if isinstance(merged, Conflict | NotMerged):
                return merged
            if wrong := await self._verify(worktree, merged, tip, verify):
                return Unverified(wrong, tip)
            # What a verification wrote into the tree is not part of the merge.
            if is_merged:
                return Merged(tip)
            if (result := await self._forward(merged, tip)) is not None:
                return result
        return NotMerged(f"{self._target} moves faster than its merges can be verified")

    async def _changes_of_ours(self, commit: str, tip: str) -> str:
        """Settings run commands, ralph's and git's: a task must not bring its own into the user's checkout."""
        obeyed = (*OWN, *_obeyed_by_git(self._git.root))
        changed = await self._git.run("diff", "--name-only", f"{tip}...{commit}", "--", *obeyed)
        return ", ".join(changed.text.splitlines())

    async def _open(self, commit: str) -> Path:
        path = await self._worktrees.detached(self._place, commit)
        if self._held is None:
            self._held = lock_folder(path)
        return path

    async def _verify(self, worktree: Worktree, commit: str, tip: str, verify: Verify) -> str:
        """What is merged must be what was seen: nobody may have written to the merged files meanwhile."""
        path = await self._open(commit)
        place = make_project_folder(path, worktree.folder)
        if self._preparation is not None and (
            wrong := await self._preparation.prepare_merge(path, tip=tip, commit=commit)
        ):
            return wrong
        git = self._git.at(path)
        index = git.root / (await git.must("rev-parse", "--git-path", "index")).out.rstrip("\n")
        beneath.remove(self._index, self._index.parent)
        trees.copy(index, self._index, index.parent, self._index.parent)
        try:
            if wrong := await verify(place):
                return wrong
            own_index = {"GIT_INDEX_FILE": str(self._index.absolute())}
            await git.run("update-index", "-q", "--refresh", environment=own_index)
            ran = await git.run("diff-files", "--name-only", "-z", environment=own_index)
        finally:
            beneath.remove(self._index, self._index.parent)
        if not ran.ok:
            return (
                f"git could not tell whether the merged files were changed while they were checked: {ran.why}"
            )
        if not (names := ran.names):
            return ""
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return (
            f"{', '.join(names[:MOST_NAMED])}{more} changed while the merge was checked, so what was checked is not what "
            "would be merged: commit files as the checks leave them, and leave nothing running that edits them"
        )

    async def _merge(self, commit: str, tip: str, message: str) -> str | Conflict | NotMerged:
        git = self._git.at(await self._open(tip))
        ran = await git.run("merge", "--no-ff", "--no-verify", "-m", message, commit)
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
            ran = await self._fast_forward.run(self._target, tip=tip, commit=commit)
        else:  # like `update-ref`, but refused where another worktree has the branch checked out or rebases it
            move = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", ".", f"{commit}:{branch}")
            ran = await self._git.run(*move)
        if ran.ok:
            return Merged(commit)
        if (now := await self._git.commit_of(branch)) != tip:
            return Merged(commit) if now == commit else None
        why = "your working tree is in the way" if is_here else f"{self._target} cannot be moved"
        return NotMerged(f"{why}: {ran.why}")


def _obeyed_by_git(root: Path) -> list[str]:
    folders = git_folders(root)
    files = [] if folders is None else included_in_tree(folders)
    names = {os.path.relpath(real_path(file), real_path(root)) for file in files}
    return [f":(literal){name}" for name in sorted(names) if not name.startswith("..")]
