"""Work that is one prompt: drained by its first acceptance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ralph.domain.assignment import Assignment, Drained, Offer
from ralph.domain.decision import Accept, Decision
from ralph.domain.evidence import Evidence
from ralph.domain.state import LoopState
from ralph.errors import UsageError

KEY = "prompt"
READ_AGAIN = 5
READ_AGAIN_SECONDS = 0.1


class PromptWork:
    """``read`` gives the prompt anew for every iteration: a prompt file may be edited while the loop runs."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._accepted = ""

    async def next(self, state: LoopState) -> Offer:
        if state.accepted == KEY:
            return Drained(self._accepted or "accepted before the run was interrupted")
        return Assignment(key=KEY, objective=await self._read_patiently())

    async def _read_patiently(self) -> str:
        """Editors replace a file by another one: it may be away for a moment."""
        for _ in range(READ_AGAIN):
            try:
                return self._read()
            except UsageError:
                await asyncio.sleep(READ_AGAIN_SECONDS)
        return self._read()

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        if isinstance(decision, Accept):
            self._accepted = decision.reason
