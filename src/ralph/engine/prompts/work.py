"""Work that is one prompt: drained by its first acceptance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ralph.domain.loop.assignment import Assignment, Drained, Offer
from ralph.domain.loop.decision import Accept, Decision
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.state import LoopState
from ralph.engine.patience import read_patiently

KEY = "prompt"


class PromptWork:
    """``read`` gives the prompt again for every iteration: a prompt file may be edited while the loop runs.

    ``promise``: what the agent promises when it is done, if that is its claim.
    """

    is_stateless: Literal[True] = True

    def __init__(self, read: Callable[[], str], *, promise: str = "") -> None:
        self._read = read
        self._promise = promise
        self._accepted = ""

    async def next(self, state: LoopState) -> Offer:
        if state.accepted == KEY:
            return Drained(self._accepted or "accepted before the run was interrupted")
        return Assignment(key=KEY, objective=await read_patiently(self._read), promise=self._promise)

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        if isinstance(decision, Accept):
            self._accepted = decision.reason
