"""One iteration: prompt → session → claims and checks → actions → decision."""

from __future__ import annotations

from dataclasses import replace

from ralph.domain.assignment import Assignment
from ralph.domain.decision import Accept, Decision, Outcome, Stop, decide, is_judgeable
from ralph.domain.evidence import CheckResult, Evidence
from ralph.domain.feedback import Feedback
from ralph.domain.loop_events import (
    ActionEnded,
    ActionStarted,
    CheckEnded,
    CheckStarted,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
)
from ralph.domain.report import AgentReport, Ending
from ralph.domain.signals import Claim, Signal
from ralph.domain.state import LoopState
from ralph.engine.parts import LoopParts
from ralph.engine.ports import AgentRequest, Check, Judging, Trigger, When

PROMPT_SHOWN = 200
"""Characters of the prompt that the event carries (seed 001's verbose line); the file has it whole."""


async def iterate(
    parts: LoopParts, assignment: Assignment, state: LoopState
) -> tuple[LoopState, Evidence, Decision]:
    """The state comes back with what was spent and what is of concern; counting is ``LoopState.after``."""
    began = parts.clock.monotonic()
    state = state.launching()
    number, attempt = state.iteration + 1, state.attempt
    report = await _session(parts, assignment, state, number)
    state = state.spending(report.spend)
    judging = Judging(
        run_id=parts.run_id,
        iteration=number,
        attempt=attempt,
        assignment=assignment,
        report=report,
        publish=parts.publish,
        control=parts.control,
    )
    evidence, decision, state = await _judge(parts, judging, state)
    parts.publish(
        IterationEnded(
            iteration=number,
            attempt=attempt,
            decision=type(decision).__name__.lower(),
            reason=decision.reason,
            claimed=evidence.claimed,
            proven=evidence.proven,
            spend=report.spend,
            seconds=parts.clock.monotonic() - began,
        )
    )
    return state, evidence, decision


async def _session(parts: LoopParts, assignment: Assignment, state: LoopState, number: int) -> AgentReport:
    advice: list[Feedback] = []
    for adviser in parts.advisers:
        advice += await adviser.advise(state, assignment)
    prompt = parts.prompt(
        assignment, (*state.feedback, *advice), iteration=number, maximum=parts.budget.iterations
    )
    files = parts.journal.open_session(prompt, iteration=number, attempt=state.attempt)
    parts.publish(
        IterationStarted(
            iteration=number,
            attempt=state.attempt,
            maximum=parts.budget.iterations,
            assignment=assignment.key,
            role=assignment.role,
            prompt=prompt[:PROMPT_SHOWN],
            prompt_chars=len(prompt),
            prompt_file=str(files.prompt),
        )
    )
    parts.journal.commit(state)
    request = AgentRequest(
        prompt=prompt,
        prompt_file=files.prompt,
        log_file=files.log,
        cwd=parts.root,
        iteration=number,
        attempt=state.attempt,
        environment={"RALPH_ITERATION": str(number), **assignment.environment},
    )
    return await parts.agent.run(request, parts.publish, stop=parts.control.stop_now())


async def _judge(
    parts: LoopParts, judging: Judging, state: LoopState
) -> tuple[Evidence, Decision, LoopState]:
    evidence = Evidence(judging.report)
    if not is_judgeable(judging.report, parts.rules):
        return evidence, decide(evidence, parts.rules, attempt=judging.attempt), state
    if judging.control.stopping:
        return evidence, _interrupted(), state

    signals: list[Signal] = []
    for probe in parts.probes:
        signals += await probe.look(judging)
    claimed = any(signal.claim is Claim.DONE for signal in signals)
    results: list[CheckResult] = []
    for check in parts.checks:
        if check.when is When.ALWAYS or claimed:
            results.append(await _run_check(check, judging))
        if judging.control.stopping:
            return Evidence(judging.report, tuple(signals), tuple(results)), _interrupted(), state
    evidence = Evidence(
        judging.report,
        tuple(signals),
        tuple(results),
        remarks=_remarks(judging.report),
        fingerprint=await parts.workspace.fingerprint() if parts.workspace else "",
    )
    if evidence.proven:
        state, evidence = await _act(parts, Trigger.ON_PROOF, judging, state, evidence)
    parts.publish(ClaimsSought(tuple(f"{signal.claim}: {signal.source}" for signal in signals)))
    decision = decide(
        evidence, parts.rules, attempt=judging.attempt, acceptance=judging.assignment.acceptance
    )
    if isinstance(decision, Accept):
        state, evidence = await _act(parts, Trigger.ON_ACCEPT, judging, state, evidence)
    return evidence, decision, state


def _interrupted() -> Decision:
    return Stop(Outcome.CANCELLED, "stopped by the user before the session was judged")


def _remarks(report: AgentReport) -> tuple[Feedback, ...]:
    match report.ending:
        case Ending.TIMED_OUT:
            return (Feedback("The previous session was ended by the harness: it ran out of time."),)
        case Ending.IDLE:
            return (
                Feedback("The previous session was ended by the harness: it printed nothing for too long."),
            )
        case _:
            return ()


async def _run_check(check: Check, judging: Judging) -> CheckResult:
    judging.publish(CheckStarted(check.name, check.command))
    result = await check.run(judging)
    judging.publish(CheckEnded(result))
    return result


async def _act(
    parts: LoopParts, trigger: Trigger, judging: Judging, state: LoopState, evidence: Evidence
) -> tuple[LoopState, Evidence]:
    """A failed action never ends a run: it is a concern of the user's and a remark to the agent."""
    for action in parts.actions:
        if action.trigger is not trigger:
            continue
        judging.publish(ActionStarted(action.name))
        began = parts.clock.monotonic()
        result = await action.run(judging)
        judging.publish(ActionEnded(action.name, result.ok, result.message, parts.clock.monotonic() - began))
        state = state.spending(result.spend)
        if not result.ok:
            state = state.concerned((f"{action.name}: {result.message}",))
        if result.feedback is not None:
            evidence = replace(evidence, remarks=(*evidence.remarks, result.feedback))
    return state, evidence
