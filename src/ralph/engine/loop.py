"""The loop. Every profile runs through this one function; none needs a special case in it."""

from __future__ import annotations

import contextlib

from ralph.domain.loop.assignment import Assignment, Blocked, Drained, Judged, Pending, Settled
from ralph.domain.loop.decision import STOPPED, GiveUp, Outcome, Retry, Stop, decide
from ralph.domain.loop.events import RunEnded, Warned
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.engine.iteration import ending, iterate
from ralph.engine.parts import LoopParts
from ralph.engine.pause import pause_after, stand_by, wait_for_work
from ralph.engine.ports import Snapshot
from ralph.engine.progress import Progress
from ralph.engine.shift import ShiftOver
from ralph.errors import GitFailed, RalphError
from ralph.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, and its state at that point."""

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


async def run_loop(parts: LoopParts) -> RunResult:
    """Iterate until the work is drained, a limit is reached, or someone says stop."""
    state = await _with_snapshot(parts)
    progress = Progress(parts, state)
    try:
        return await _run(parts, state, progress)
    finally:
        with contextlib.suppress(RalphError):  # something else failed before
            progress.pay()


async def _run(parts: LoopParts, state: LoopState, progress: Progress) -> RunResult:
    while True:
        try:
            stop, state = await _turn(parts, state, progress)
        except ShiftOver:
            progress.save(progress.saved)
            raise
        except RalphError as error:
            if isinstance(error, GitFailed) and parts.control.stopping:  # it was not given the time
                return await _end(parts, progress, progress.saved, Stop(Outcome.CANCELLED, STOPPED))
            with contextlib.suppress(RalphError):  # it may be the record itself that failed
                await _end(parts, progress, progress.saved, Stop(Outcome.FAILED, error.message, error.hint))
            raise
        if stop is not None:
            return await _end(parts, progress, progress.now(state), stop)


async def _with_snapshot(parts: LoopParts) -> LoopState:
    """With the workspace as it is before the first session: what the run changes is told by that.

    A later process looks as well: what has changed since the last one ended is not its first session's doing.
    """
    state = parts.state
    if parts.workspace is None:
        return state
    found = await parts.workspace.snapshot()
    if state.fingerprint:
        return state
    return replace(state, fingerprint=found.fingerprint, commit=found.commit)


async def _turn(parts: LoopParts, state: LoopState, progress: Progress) -> tuple[Stop | None, LoopState]:
    """One turn: what is next, whether it may be done, doing it, taking the decision in."""
    stopping = await stand_by(parts.control, lambda: parts.budget.exceeded(progress.now(state)))
    offered = await parts.work.next(progress.now(state))
    state = progress.now(state)  # a pause takes time, and so may looking for work
    match offered:
        case Drained(reason, unfinished):  # also if a stop was requested: what is done is done
            return Stop(Outcome.EXHAUSTED if unfinished else Outcome.COMPLETED, reason), state
        case Blocked(reason, hint):
            return Stop(Outcome.WAITING, reason, hint), state
        case Pending(seconds=seconds):
            if stopping:
                return Stop(Outcome.CANCELLED, STOPPED), state
            if time_over := parts.budget.of_waiting().exceeded(state):
                return Stop(Outcome.EXHAUSTED, time_over, parts.budget.hint(state)), state
            await wait_for_work(seconds, state, parts)
            await _look_at_workspace(parts)
            return None, state
        case Judged(evidence):
            return await _take_in(parts, state, evidence, progress)
        case Settled() as settled:
            return None, progress.save(await _count(parts, state, settled))
        case Assignment() as assignment:
            pass

    if stopping:
        return Stop(Outcome.CANCELLED, STOPPED), state
    if assignment.is_exhausted:
        given_up = GiveUp(f"{assignment.key}: limit of {assignment.limit} iterations reached")
        await parts.work.settle(assignment, None, given_up)
        # The work is asked again at once, and must know of it; whoever is next has not stalled yet.
        return None, progress.save(replace(state, unchanged=0, repeated=0))
    # After the work was asked: a claim accepted on the last allowed iteration is a success.
    if exceeded := parts.budget.exceeded(state):
        return Stop(Outcome.EXHAUSTED, exceeded, parts.budget.hint(state)), state

    parts.shift.begin_session()
    if assignment.key != state.assignment:
        await _look_at_workspace(parts)
    state, evidence, decision = await iterate(parts, assignment, state, progress)
    if (
        progress.may_wait
    ):  # owed before anything can be waited for: the iteration's end is not written without it
        state = progress.owe(state.after(evidence, decision))
        await parts.work.settle(assignment, evidence, decision)
    else:
        await parts.work.settle(assignment, evidence, decision)
        state = progress.save(state.after(evidence, decision))
    if isinstance(decision, Stop):
        return decision, state
    if await pause_after(decision, state, parts):
        await _look_at_workspace(parts)
    return None, state


async def _look_at_workspace(parts: LoopParts) -> None:
    """What ralph or others did since the last session is not the next one's doing."""
    if parts.workspace is not None:
        await parts.workspace.snapshot()


async def _take_in(
    parts: LoopParts, state: LoopState, evidence: Evidence, progress: Progress
) -> tuple[Stop | None, LoopState]:
    """What was judged without a session: nothing was launched that could count, so faults are retried, and it is
    no matter how many launches are left."""
    rules = replace(parts.rules, faults_count=False)
    decision = decide(evidence, rules, now=parts.clock.now(), troubles=state.troubles)
    state = progress.save(state.judged(evidence, decision))
    if isinstance(decision, Retry):
        await pause_after(decision, state, replace(parts, budget=parts.budget.of_session()))
    return decision if isinstance(decision, Stop) else None, state


async def _count(parts: LoopParts, state: LoopState, settled: Settled) -> LoopState:
    """Put on record what an earlier process judged; what it cost is in the state already."""
    found = await parts.workspace.snapshot() if parts.workspace is not None else Snapshot()
    evidence = replace(settled.evidence, fingerprint=found.fingerprint, commit=found.commit)
    decision = decide(evidence, parts.rules, now=parts.clock.now(), acceptance=settled.acceptance)
    parts.publish(
        Warned(f"iteration {state.iteration + 1} was judged just before ralph was cut off: it counts")
    )
    spend = evidence.report.spend
    parts.publish(ending(state, evidence, decision, spend=spend, seconds=spend.seconds))
    for concern in filter(None, (result.concern for result in evidence.results)):
        state = state.concerned(concern)
    return state.after(evidence, decision)


async def _end(parts: LoopParts, progress: Progress, state: LoopState, stop: Stop) -> RunResult:
    if stop.outcome is Outcome.CANCELLED and (why := parts.why_stopped()):
        stop = replace(stop, reason=stop.reason.replace(STOPPED, why, 1))
    is_limited = stop.outcome is Outcome.EXHAUSTED
    parts.publish(
        RunEnded(
            outcome=stop.outcome,
            reason=stop.reason,
            iterations=state.iteration,
            spend=state.spend,
            seconds=state.seconds,
            concerns=state.concerns,
            hint=stop.hint,
            denied=state.denied,
            more=parts.budget.raised(state) if is_limited else "",
            tree=await parts.tree_change(),
        )
    )
    progress.commit(state)
    return RunResult(stop.outcome, stop.reason, state, stop.hint)
