"""Sessions that get nowhere: because nothing is permitted, or because nothing changes.

Only the user can change the first, and is warned; the agent is told of both and may find another way.
"""

from __future__ import annotations

from collections import Counter

from ralph.domain.loop.budget import Budget
from ralph.domain.loop.feedback import Feedback, Placement
from ralph.domain.loop.session_report import AgentReport
from ralph.domain.loop.state import LoopState

WARN_BEFORE = 2
"""Sessions that are left when the agent is warned."""


def was_denied_everything(report: AgentReport, *, claimed: bool, changed: bool = False) -> bool:
    """Tools were denied, none worked, nothing was claimed and nothing changed.

    ``changed``: the workspace differs from before the session, if known.
    """
    has_worked = report.tools > report.tool_errors
    return bool(report.denials) and not has_worked and not claimed and not changed


def denials_warning(report: AgentReport, *, agent: str) -> str:
    """For the user: only they can change it."""
    return (
        f"{agent} could do nothing in this session: not permitted to use {_listed(report)}; "
        f"permit it in agent.flags, or leave the choice of permissions to ralph"
    )


def denials_remark(report: AgentReport) -> Feedback:
    """For the next session, which may find another way."""
    return Feedback(
        f"The previous session could do nothing: it was not permitted to use {_listed(report)}. "
        "Use other tools, or say what you need."
    )


def _listed(report: AgentReport) -> str:
    counts = Counter(report.denials)
    return ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in counts.items())


def standstill_remark(state: LoopState, budget: Budget) -> Feedback | None:
    """For the next session, before the run ends because nothing changes; None: too early."""
    patience = budget.patience(state)
    if not patience or state.standstill < max(1, patience - WARN_BEFORE):
        return None
    last = "The last session" if state.standstill == 1 else f"The last {state.standstill} sessions"
    left = patience - state.standstill
    end = f" After {left} more like {'it' if state.standstill == 1 else 'these'} the run is ended."
    if state.failing:
        is_same = state.unchanged >= state.repeated
        what = "nothing changed" if is_same else "the same checks fail in exactly the same way"
        return Feedback(f"{last} made no progress: {what}. Try something else.{end}", Placement.PREPEND)
    nothing = "changed nothing, and no check fails" if state.green else "changed nothing"
    return Feedback(
        f"{last} {nothing}. If the work is done, say so in the way this prompt asks for; otherwise do what is left.{end}",
        Placement.PREPEND,
    )
