"""Tells every session which tests an unaccepted run left bent: an honest one cannot know, and would be denied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.state import LoopState
from ralph.domain.proof.tree import Tree
from ralph.domain.proof.unaccepted_changes import tell_agent
from ralph.engine.proof.comparison import ComparisonCheck
from ralph.engine.proof.ports import ProofStore


class Undo(Protocol):
    """Puts files back."""

    @property
    def command(self) -> str: ...

    async def write(self, paths: Sequence[str], now: Tree, then: Tree) -> str:
        """Makes ready what the command applies; gives the beginning of it."""
        ...


class LeftChangesAdviser:
    """``paths``: what run ``run_id`` left; told as long as it would deny the work or be reviewed."""

    def __init__(
        self, store: ProofStore, comparison: ComparisonCheck, undo: Undo, *, run_id: str, paths: Sequence[str]
    ) -> None:
        self._store = store
        self._comparison = comparison
        self._undo = undo
        self._run_id = run_id
        self._paths = frozenset(paths)

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        found = await self._comparison.compare()
        left = sorted(self._paths.intersection(one.path for one in (*found.denied, *found.pending)))
        if not left:
            return ()
        patch = await self._undo.write(left, await self._store.snapshot(), self._store.base)
        return (Feedback(tell_agent(self._run_id, left, undo=self._undo.command, patch=patch)),)
