"""Everything one run is made of. ``wiring`` builds it; a library user or a test may build another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.budget import Budget, Pace
from ralph.domain.loop.decision import Rules
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.prompt import compose
from ralph.domain.loop.state import LoopState
from ralph.domain.loop.tree_change import TreeChange
from ralph.engine.deadline import TimeOver, no_deadline
from ralph.engine.ports import (
    Action,
    Adviser,
    Agent,
    Check,
    Clock,
    Control,
    Journal,
    Probe,
    PromptStyle,
    Publish,
    Work,
    Workspace,
)
from ralph.engine.shift import ENDLESS, Shift
from ralph.values import dataclass, field


def as_given(
    assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
) -> str:
    """The plainest prompt: the objective with its feedback."""
    return compose(assignment.objective, feedback)


def no_checks(assignment: Assignment) -> Sequence[Check]:
    """No assignment has checks of its own."""
    return ()


async def not_known() -> TreeChange | None:
    """Nobody looks at what becomes of the working tree."""
    return None


def no_loss() -> str:
    """Nothing is lost."""
    return ""


def never() -> bool:
    """Nothing but time, a stop and the limits end a wait."""
    return False


def by_the_user() -> str:
    """Whoever stops a run is its user."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoopParts:
    """What ``run_loop`` runs."""

    work: Work
    agent: Agent
    journal: Journal
    clock: Clock
    control: Control
    publish: Publish
    root: Path = field(default_factory=Path)
    probes: Sequence[Probe] = ()
    checks: Sequence[Check] = ()
    checks_of: Callable[[Assignment], Sequence[Check]] = no_checks  # besides: those of this assignment alone
    actions: Sequence[Action] = ()
    advisers: Sequence[Adviser] = ()
    prompt: PromptStyle = as_given
    rules: Rules = Rules()
    budget: Budget = Budget()
    pace: Pace = Pace()
    is_due: Callable[[], bool] = never  # something came up that makes waiting pointless
    why_stopped: Callable[[], str] = by_the_user  # what stopped it instead of its user; empty: the user did
    time_over: TimeOver = no_deadline  # asked while a session is judged
    workspace: Workspace | None = None
    tree_change: Callable[[], Awaitable[TreeChange | None]] = not_known  # since the run began
    loss: Callable[[], str] = no_loss  # what a session destroyed, without which the work cannot continue
    state: LoopState = LoopState()  # where an interrupted run stood; limits and spend count from there
    shift: Shift = ENDLESS  # how much of the run this process does
    redact: Callable[[str], str] = str  # takes secrets out of what is shown and recorded
