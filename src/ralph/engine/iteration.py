"""One iteration: prompt → session → claims and checks → actions → decision."""

from __future__ import annotations

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.claims import Signal
from ralph.domain.loop.cut_off import cut_off_remark, cut_off_warning
from ralph.domain.loop.decision import STOPPED, Accept, Decision, Outcome, Stop, decide, is_judgeable
from ralph.domain.loop.events import (
    ActionEnded,
    ActionStarted,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.feedback import remark_on, remark_on_promise
from ralph.domain.loop.session_report import AgentReport, Spend
from ralph.domain.loop.stalls import denials_remark, denials_warning, was_denied_everything
from ralph.domain.loop.state import LoopState
from ralph.domain.loop.unjudged import UnjudgedSession
from ralph.engine.deadline import until_time_is_over
from ralph.engine.parts import LoopParts
from ralph.engine.ports import AgentRequest, Judging, Snapshot, Trigger, When
from ralph.engine.progress import Progress
from ralph.engine.tally import Tally
from ralph.errors import RalphError
from ralph.values import replace

LOST = (
    "its files are still there; before you continue, bring .git back from a backup or another clone, "
    "or that of a worktree with `git worktree repair`"
)
PROMPT_SHOWN = 200
"""Characters of the prompt that the event carries; the file has all of it."""


async def iterate(
    parts: LoopParts, assignment: Assignment, state: LoopState, progress: Progress
) -> tuple[LoopState, Evidence, Decision]:
    """The state comes back with what was spent and what is of concern; counting is ``LoopState.after``."""
    began = parts.clock.monotonic()
    state = state.launching(assignment.key, forgets_unjudged=assignment.forgets_unjudged)
    spent_before = state.spend
    if state.unjudged is None:
        report = await _session(parts, assignment, state, progress)
        state = progress.owe(state.spending(report.spend))  # known, whatever happens while it is judged
    else:
        report = _session_before(parts, assignment, state, state.unjudged, progress)
    tally = Tally(parts.publish)
    async with until_time_is_over(parts.control, parts.time_over) as control:
        judging = Judging(
            iteration=state.iteration + 1,
            attempt=state.attempt,
            assignment=assignment,
            report=report,
            publish=tally,
            control=control,
        )
        evidence, decision, state = await _judge(parts, judging, tally, state, progress)
    seconds = parts.clock.monotonic() - began
    if not progress.may_wait:
        progress.pay()  # before: the end of an iteration goes on record with the state that counts it, never with an older one
    parts.publish(ending(state, evidence, decision, spend=state.spend - spent_before, seconds=seconds))
    return state, evidence, decision


def ending(
    state: LoopState, evidence: Evidence, decision: Decision, *, spend: Spend, seconds: float
) -> IterationEnded:
    """Of the iteration under way; ``state`` does not count it yet."""
    return IterationEnded(
        iteration=state.iteration + 1,
        attempt=state.attempt,
        decision=decision.kind,
        reason=decision.reason,
        claimed=evidence.claimed,
        proven=evidence.proven and evidence.has_proof,
        spend=spend,
        seconds=seconds,
        commit=evidence.commit,
    )


async def _session(
    parts: LoopParts, assignment: Assignment, state: LoopState, progress: Progress
) -> AgentReport:
    number = state.iteration + 1
    feedback = list(state.feedback)
    for adviser in parts.advisers:
        feedback += await adviser.advise(state, assignment)
    prompt = parts.prompt(assignment, feedback, iteration=number, maximum=parts.budget.iterations)
    files = parts.journal.open_session(prompt, iteration=number, attempt=state.attempt)
    shown = parts.redact(prompt)
    parts.publish(
        IterationStarted(
            iteration=number,
            attempt=state.attempt,
            maximum=parts.budget.iterations,
            assignment=assignment.key,
            role=assignment.role,
            prompt=shown[:PROMPT_SHOWN],
            prompt_chars=len(prompt),
            prompt_file=str(files.prompt),
            commit=state.commit,
            used=assignment.used + 1,
            limit=assignment.limit,
            promise=assignment.promise,
        )
    )
    progress.save(state)
    request = AgentRequest(
        prompt=prompt,
        prompt_file=files.prompt,
        log_file=files.log,
        cwd=parts.root,
        role=assignment.role,
        environment={"RALPH_ITERATION": str(number), **assignment.environment},
        # Secrets are taken out of the output before it is read, so the texts must be without them too.
        parts=(shown, *map(parts.redact, (assignment.objective, *(item.text for item in feedback)))),
    )
    return await parts.agent.run(request, parts.publish, stop=parts.control.stop_now())


def _session_before(
    parts: LoopParts, assignment: Assignment, state: LoopState, session: UnjudgedSession, progress: Progress
) -> AgentReport:
    """What it left is in the workspace: only whoever should have judged it must be asked again."""
    parts.publish(
        IterationStarted(
            iteration=state.iteration + 1,
            attempt=state.attempt,
            maximum=parts.budget.iterations,
            assignment=assignment.key,
            role=assignment.role,
            commit=state.commit,
            used=assignment.used + 1,
            limit=assignment.limit,
            promise=assignment.promise,
        )
    )
    progress.save(state)
    return session.report


async def _judge(
    parts: LoopParts, judging: Judging, tally: Tally, state: LoopState, progress: Progress
) -> tuple[Evidence, Decision, LoopState]:
    report, control = judging.report, judging.control
    evidence = Evidence(report)
    if not is_judgeable(report, parts.rules):
        return evidence, _decide(parts, judging, state, evidence), state
    if control.stopping:
        return evidence, _interrupted(), state
    if loss := parts.loss():
        return evidence, Stop(Outcome.FAILED, loss, LOST, is_final=True), state

    signals: list[Signal] = []
    for probe in parts.probes:
        progress.raise_failure()
        signals += await probe.look(judging)
    evidence = replace(evidence, signals=tuple(signals))
    for check in (*parts.checks, *parts.checks_of(judging.assignment)):
        if check.when is When.WITH_CLAIM and not evidence.claimed:
            continue
        if check.when is When.BEFORE_ACCEPT and not isinstance(
            _decide(parts, judging, state, evidence), Accept
        ):
            continue
        if check.when is When.ON_CLAIM and not evidence.claimed:
            result = CheckResult(check.name, Verdict.SKIPPED, reason="nothing was claimed")
        else:
            progress.raise_failure()
            try:
                result = await tally.run(check, judging, time_over=parts.time_over)
            except RalphError:
                _add_spend(state, tally.take(), progress)
                raise
        evidence = replace(evidence, results=(*evidence.results, result))
        state = _add_spend(state, result.spend, progress)
        if result.concern:
            state = state.concerned(result.concern)
        if control.stopping:
            return evidence, _interrupted(), state
    promise = "" if signals else judging.assignment.promise
    remarks = (remark_on(report), cut_off_remark(report), remark_on_promise(report.tags, promise))
    if warning := cut_off_warning(report):
        parts.publish(Warned(warning))
    snapshot = await parts.workspace.snapshot() if parts.workspace is not None else Snapshot()
    evidence = replace(
        evidence,
        remarks=tuple(remark for remark in remarks if remark is not None),
        fingerprint=snapshot.fingerprint,
        commit=snapshot.commit,
        # A session that is judged once more was over when the snapshot before was taken.
        change=snapshot.change if state.unjudged is None else None,
    )
    changed = bool(state.fingerprint) and snapshot.fingerprint != state.fingerprint
    if was_denied_everything(report, claimed=evidence.claimed, changed=changed):
        parts.publish(Warned(denials_warning(report, agent=parts.agent.name)))
        evidence = replace(evidence, remarks=(*evidence.remarks, denials_remark(report)))
    if evidence.proven:
        state, evidence, is_cut = await _act(parts, Trigger.ON_PROOF, judging, state, evidence, progress)
        if is_cut:
            return evidence, _interrupted(), state
    parts.publish(ClaimsSought(tuple(f"{signal.claim}: {signal.source}" for signal in signals)))
    decision = _decide(parts, judging, state, evidence)
    if isinstance(decision, Accept):
        state, evidence, _ = await _act(parts, Trigger.ON_ACCEPT, judging, state, evidence, progress)
    return evidence, decision, state


def _add_spend(state: LoopState, spend: Spend, progress: Progress) -> LoopState:
    """What a check or an action asked an agent costs as well."""
    return progress.save(state.spending(spend)) if spend != Spend() else state


def _decide(parts: LoopParts, judging: Judging, state: LoopState, evidence: Evidence) -> Decision:
    return decide(
        evidence,
        parts.rules,
        now=parts.clock.now(),
        troubles=state.troubles,
        acceptance=judging.assignment.acceptance,
        promise=judging.assignment.promise,
    )


def _interrupted() -> Decision:
    return Stop(Outcome.CANCELLED, f"{STOPPED} before the session was judged; its changes stay as they are")


async def _act(
    parts: LoopParts,
    trigger: Trigger,
    judging: Judging,
    state: LoopState,
    evidence: Evidence,
    progress: Progress,
) -> tuple[LoopState, Evidence, bool]:
    """A failed action never ends a run. One that the agent can fix denies the proof, like a check;
    any other is a concern of the user's. True: a stop came in between, and the rest was left."""
    for action in parts.actions:
        if action.trigger is not trigger:
            continue
        progress.pay()
        judging.publish(ActionStarted(action.name))
        began = parts.clock.monotonic()
        # What is proven is finished, and an action says itself what it cost.
        result = await action.run(replace(judging, control=parts.control, publish=parts.publish))
        seconds = parts.clock.monotonic() - began
        judging.publish(ActionEnded(action.name, result.ok, result.message, seconds))
        state = _add_spend(state, result.spend, progress)
        if result.is_cut:
            return state, evidence, True
        if result.ok:
            continue
        if result.feedback is not None:
            denial = CheckResult(action.name, Verdict.FAILED, feedback=result.feedback, reason=result.message)
            evidence = replace(evidence, results=(*evidence.results, denial))
        else:
            state = state.concerned(f"{action.name}: {result.message}")
    return state, evidence, False
