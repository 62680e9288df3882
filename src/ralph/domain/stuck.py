"""A word to an agent that stands still, before the run is ended for it."""

from __future__ import annotations

from ralph.domain.budget import Budget
from ralph.domain.feedback import Feedback, Placement
from ralph.domain.state import LoopState

WARN_BEFORE = 2
"""So many chances are left when the agent is told."""


def warning(state: LoopState, budget: Budget) -> Feedback | None:
    if not budget.stuck_after or state.standstill < max(1, budget.stuck_after - WARN_BEFORE):
        return None
    left = budget.stuck_after - state.standstill
    return Feedback(
        f"The last {state.standstill} sessions made no progress: the work is as it was, or fails in exactly the same"
        f" way. Try something else. After {left} more like these the run is ended.",
        Placement.PREPEND,
    )
