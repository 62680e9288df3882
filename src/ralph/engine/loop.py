"""The loop. Every profile runs through this one function; none needs a special case in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.domain.assignment import Assignment, Blocked, Drained
from ralph.domain.decision import GiveUp, Outcome, Stop
from ralph.domain.loop_events import RunEnded
from ralph.domain.report import Spend
from ralph.domain.state import LoopState
from ralph.engine.iteration import iterate
from ralph.engine.parts import LoopParts
from ralph.engine.pausing import pause_after


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, and where it stood then."""

    outcome: Outcome
    reason: str
    state: LoopState
    hint: str = ""

    @property
    def iterations(self) -> int:
        return self.state.iteration

    @property
    def spend(self) -> Spend:
        return self.state.spend

    @property
    def concerns(self) -> tuple[str, ...]:
        return self.state.concerns


async def run_loop(parts: LoopParts, state: LoopState | None = None) -> RunResult:
    """Iterate until the work is drained, a limit is reached, or somebody says stop.

    ``state`` is where an interrupted run stood; limits and spend go on from there.
    """
    state = replace(state or LoopState(), started_at=parts.clock.now())
    while True:
        if await parts.control.checkpoint():
            return _end(parts, state, Stop(Outcome.CANCELLED, "stopped by the user"))

        match await parts.work.next(state):
            case Drained(reason):
                return _end(parts, state, Stop(Outcome.COMPLETED, reason))
            case Blocked(reason):
                return _end(parts, state, Stop(Outcome.WAITING, reason))
            case Assignment() as assignment:
                pass

        # After the work was asked: a claim accepted on the last allowed iteration is a success.
        if exceeded := parts.budget.exceeded(state, now=parts.clock.now()):
            return _end(parts, state, Stop(Outcome.EXHAUSTED, exceeded))
        if assignment.is_exhausted:
            given_up = GiveUp(f"{assignment.key}: limit of {assignment.limit} iterations reached")
            await parts.work.settle(assignment, None, given_up)
            continue

        state, evidence, decision = await iterate(parts, assignment, state)
        await parts.work.settle(assignment, evidence, decision)
        state = state.after(evidence, decision)
        parts.journal.commit(state)
        if isinstance(decision, Stop):
            return _end(parts, state, decision)
        await pause_after(decision, parts)


def _end(parts: LoopParts, state: LoopState, stop: Stop) -> RunResult:
    seconds = state.elapsed(parts.clock.now())
    parts.publish(
        RunEnded(stop.outcome, stop.reason, state.iteration, state.spend, seconds, state.concerns, stop.hint)
    )
    parts.journal.commit(state)
    return RunResult(stop.outcome, stop.reason, state, stop.hint)
