"""Commits what an accepted session left uncommitted: work is never discarded, and the next role sees all of it."""

from __future__ import annotations

from typing import Protocol

from ralph.engine.ports import ActionResult, Judging, Trigger
from ralph.errors import GitFailed


class Committer(Protocol):
    async def commit_all(self, message: str) -> str: ...


class CommitLeftovers:
    """After an assignment was accepted."""

    name = "commit"
    trigger = Trigger.ON_ACCEPT

    def __init__(self, git: Committer) -> None:
        self._git = git

    async def run(self, judging: Judging) -> ActionResult:
        try:
            commit = await self._git.commit_all(
                f"{judging.assignment.key}: what the session left uncommitted"
            )
        except GitFailed as error:
            return ActionResult(False, error.message)
        return ActionResult(ok=True, message=f"committed {commit[:12]}" if commit else "nothing to commit")
