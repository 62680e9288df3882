"""Accepted work on its way into the user's branch: merged and done, or back to the coder with the reason (seed 002)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ralph.adapters.git import Git
from ralph.adapters.storage.task_history import TaskHistory
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.workspace.integration import Conflict, Integration, Merged, NotTaken, Unverified
from ralph.adapters.workspace.worktrees import Worktree, Worktrees
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import Warned
from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskStatus, merged
from ralph.domain.tasks.work_result import TaskResult
from ralph.wiring.kit import Kit
from ralph.wiring.merge_check import FinalVerification

NOTHING_CHANGED = "accepted without any change: what verifies it passed as it was"


class TakingIn:
    """One at a time: whoever calls takes turns."""

    def __init__(
        self, kit: Kit, store: TaskStore, worktrees: Worktrees, pipeline: Pipeline, *, target: str
    ) -> None:
        self._kit = kit
        self._store = store
        self._worktrees = worktrees
        self._pipeline = pipeline
        self._target = target
        self._history = TaskHistory(kit.database, kit.launch.state_folder / "ralph.db")
        self._integration = Integration(Git(kit.workspace, kit.outside), worktrees, target=target)

    async def take_in(self, task: Task, worktree: Worktree) -> TaskResult | Task:
        """The task again: it must be worked on once more."""
        kit, name = self._kit, task.id
        git = Git(worktree.path, kit.outside, is_top=True)
        await git.unlock()
        if not await _is_on_branch(git, worktree.branch):
            told = f"your worktree has left its branch {worktree.branch}: bring your work onto it and check it out"
            return self._sent_back(task, told, base=task.base_commit)
        await git.commit_all(f"{name}: what was left uncommitted")
        is_empty = (await git.run("diff", "--quiet", worktree.base, "HEAD")).ok
        final = FinalVerification(kit, task, self._pipeline)

        async def verify(path: Path) -> str:
            wrong = await final.verify(path)
            is_wanted = self._store.get(name).status is TaskStatus.ACCEPTED
            return wrong or ("" if is_wanted else "it was cancelled")

        taken = await self._integration.take_in(
            worktree, message=f"Merge {name}: {task.title}", verify=verify
        )
        match taken:
            case Merged(commit):
                self._changed(name, merged)
                self._note(name, "merged", f"into {self._target} as {commit[:12]}")
                await self._worktrees.close(worktree, merged_into=self._target)
                if is_empty:
                    kit.publish(Warned(f"{name}: {NOTHING_CHANGED}"))
                    return TaskResult(name, Outcome.COMPLETED, NOTHING_CHANGED)
                return TaskResult(name, Outcome.COMPLETED, f"merged as {commit[:12]}")
            case NotTaken(reason):
                self._note(name, "not merged", reason)
                return TaskResult(name, Outcome.WAITING, f"accepted, but not merged: {reason}")
            case Conflict(files, target):
                reason = f"merge conflict with {self._target} in {', '.join(files)}"
                told = f"{reason}: resolve it in your worktree and commit the merge"
                return self._sent_back(task, told, base=target)
            case Unverified() if kit.control.stopping_now:
                why = "stopped while its merge was verified"
                return TaskResult(name, Outcome.CANCELLED, why, is_stopped=True)
            case Unverified(reason, target):
                told = f"after merging with {self._target}: {reason}"
                return self._sent_back(task, told, base=target)

    async def catch_up(self, worktree: Worktree) -> None:
        """Merge what the work is based on now; a conflict is left for the coder to resolve. Again after a crash."""
        git = Git(worktree.path, self._kit.outside, is_top=True)
        if await git.is_ancestor(worktree.base, "HEAD") or await git.commit_of("MERGE_HEAD"):
            return
        await git.commit_all(f"{worktree.path.name}: before the merge")
        await git.run("merge", "--no-edit", "--no-verify", worktree.base)

    async def is_in_target(self, worktree: Worktree) -> bool:
        """Commits of the work are in the user's branch. Before its acceptance only somebody else can have put them there."""
        git = Git(self._kit.workspace, self._kit.outside)
        tip = await git.commit_of(f"refs/heads/{worktree.branch}")
        is_new = bool(tip) and not await git.is_ancestor(tip, worktree.base)
        return is_new and await git.is_ancestor(tip, f"refs/heads/{self._target}")

    def _sent_back(self, task: Task, reason: str, *, base: str) -> TaskResult | Task:
        """``base``: what the work is compared with from now on, for it is merged with that."""
        pipeline = self._pipeline

        def back(now: Task) -> Task:
            if now.status is not TaskStatus.ACCEPTED:  # cancelled meanwhile
                return now
            if now.rejections >= pipeline.max_rejections:
                return replace(now, status=TaskStatus.FAILED, reason=reason, stage=pipeline.roles[0])
            return replace(
                now,
                status=TaskStatus.OPEN,
                stage=pipeline.roles[0],
                used=0,
                rejections=now.rejections + 1,
                base_commit=base,
                remarks=(*now.remarks, f"merge: {reason}"),
            )

        now = self._changed(task.id, back)
        match now.status:
            case TaskStatus.OPEN:
                return now
            case TaskStatus.CANCELLED:
                return TaskResult(task.id, Outcome.CANCELLED, now.reason)
            case _:
                return TaskResult(task.id, Outcome.FAILED, reason)

    def _changed(self, name: str, rule: Callable[[Task], Task]) -> Task:
        return self._store.change(name, rule, at=self._kit.clock.now())

    def _note(self, name: str, kind: str, text: str) -> None:
        self._history.note(name, TaskEvent(kind, text, self._kit.clock.now()))


async def _is_on_branch(git: Git, branch: str) -> bool:
    """What was verified is what the worktree holds: a branch that an agent left behind follows it there."""
    if await git.branch() == branch:
        return True
    follows = await git.is_ancestor(f"refs/heads/{branch}", "HEAD")
    return follows and (await git.run("checkout", "--quiet", "-B", branch)).ok
