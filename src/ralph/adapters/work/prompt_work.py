"""Work that is one prompt: drained by its first acceptance."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.assignment import Assignment, Drained, Offer
from ralph.domain.decision import Accept, Decision
from ralph.domain.evidence import Evidence
from ralph.domain.state import LoopState


class PromptWork:
    """``read`` gives the prompt anew for every iteration: a prompt file may be edited while the loop runs."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._accepted = ""

    async def next(self, state: LoopState) -> Offer:
        if self._accepted:
            return Drained(self._accepted)
        return Assignment(key="prompt", objective=self._read())

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        if isinstance(decision, Accept):
            self._accepted = decision.reason
