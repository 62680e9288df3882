"""Work that is one root agent, restarted until its DONE file is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ralph.domain.loop.assignment import Assignment, Blocked, Drained, Judged, Offer
from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.loop.decision import Continue, Decision, Outcome, Stop
from ralph.domain.loop.events import Warned
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.prompt import compose
from ralph.domain.loop.session_report import AgentReport, Ending
from ralph.domain.loop.state import LoopState
from ralph.domain.supervision.rules import Supervision, completed_line, exhausted_line, restart_lines
from ralph.engine.deadline import TimeOver, no_deadline, until_time_is_over
from ralph.engine.patience import read_patiently
from ralph.engine.ports import Check, Control, Judging, Publish, When
from ralph.engine.supervision.children import Family, unjudged_reason
from ralph.engine.tally import Tally
from ralph.values import replace

KEY = "root agent"
WAIT_DETECTED = "Wait-without-restart signal detected"


class DoneMark(Protocol):
    """How the agent says that it is done."""

    def exists(self) -> bool: ...

    def reject(self) -> Path | None:
        """Keep it under another name; None: it is not there any more."""
        ...


class SupervisedWork:
    """Stop requested? DONE before the run? Restarts left? Then the agent runs, and the same is asked again.

    ``waits``: why the agent is not to be restarted, if it said so since the last look; empty: it did not.
    ``family`` waits for the runs that the agent started: before ``checks`` judge a DONE, or before a DONE is believed
    that nothing judges. ``prepare`` is called before each launch.
    """

    def __init__(
        self,
        read: Callable[[], str],
        done: DoneMark,
        supervision: Supervision,
        *,
        waits: Callable[[], str],
        family: Family,
        environment: Mapping[str, str],
        control: Control,
        publish: Publish,
        checks: Sequence[Check] = (),
        time_over: TimeOver = no_deadline,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._read = read
        self._done = done
        self._supervision = supervision
        self._waits = waits
        self._family = family
        self._environment = environment
        self._control = control
        self._publish = publish
        self._checks = tuple(checks)
        self._time_over = time_over
        self._prepare = prepare
        self._launches = 0
        self._has_run = False
        self._judged: Evidence | None = None
        self._is_unjudged = False
        self._reason_to_wait = ""

    async def next(self, state: LoopState) -> Offer:
        is_after_run, self._has_run = self._has_run, False
        judged, self._judged = self._judged, None
        self._launches = state.iteration
        is_news = is_after_run or judged is not None
        if self._control.stopping and not is_news:
            return self._assignment("")  # it is not started: the loop stops first
        if state.accepted == KEY or (judged is not None and judged.proven):
            return await self._completed()
        if self._control.stopping:  # whatever was judged may have been cut off
            return self._assignment("")
        if state.unjudged is not None:
            return self._assignment(await read_patiently(self._read))
        denied: Sequence[Feedback] = ()
        if judged is not None and judged.hindrance is None:
            self._reject(judged.failing)
            denied = judged.feedback
        elif self._done.exists() and (offer := await self._judge_done(state)) is not None:
            return offer
        if reason := self._reason_to_wait or self._waits():
            self._publish(Warned(WAIT_DETECTED))
            return Blocked(reason)
        if state.iteration >= self._supervision.max_restarts:
            return Drained(exhausted_line(state.iteration), unfinished=(KEY,))
        objective = await read_patiently(self._read)
        self._prepare()
        return self._assignment(compose(objective, denied))

    def is_due(self) -> bool:
        """Asked during every wait: DONE, or word that the agent is not to be restarted.

        While the wait is for whoever should judge a DONE, only that it was taken back is news.
        """
        self._reason_to_wait = self._reason_to_wait or self._waits()
        return bool(self._reason_to_wait) or self._done.exists() is not self._is_unjudged

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        self._has_run = True
        self._is_unjudged = evidence is not None and evidence.claimed and evidence.hindrance is not None
        match decision:
            case Continue() if evidence is not None:
                if evidence.claimed:
                    self._reject(evidence.failing)
                for line in restart_lines(
                    evidence.report,
                    launches=self._launches + 1,
                    maximum=self._supervision.max_restarts,
                    agent_timeout=self._supervision.agent_timeout,
                ):
                    self._publish(Warned(line))
            case Stop(Outcome.WAITING) if evidence is not None and evidence.claim(Claim.WAITING):
                self._publish(Warned(WAIT_DETECTED))
            case _:
                pass

    def _assignment(self, objective: str) -> Assignment:
        environment = {**self._environment, "RALPH_ATTEMPT": str(self._launches)}
        return Assignment(key=KEY, objective=objective, environment=environment)

    # --- a DONE that was there before anybody could judge it ---

    async def _judge_done(self, state: LoopState) -> Offer | None:
        """None: it was taken back."""
        if self._checks:
            cut = await self._family.wait()
            if cut is not None and cut.ending is Ending.STOPPED:
                return self._assignment("")
            if cut is not None:
                return Drained(unjudged_reason(cut.reason), unfinished=(KEY,))
            if not self._done.exists():
                return None
            if (limit := self._time_over()) is not None:
                return Drained(unjudged_reason(limit), unfinished=(KEY,))
        self._judged = await self._checked(state)
        self._is_unjudged = self._judged.hindrance is not None
        return Judged(self._judged)

    async def _checked(self, state: LoopState) -> Evidence:
        evidence = Evidence(AgentReport(), signals=(Signal(Claim.DONE, "DONE"),))
        assignment = self._assignment(await read_patiently(self._read))
        tally = Tally(self._publish)
        async with until_time_is_over(self._control, self._time_over) as control:
            judging = Judging(
                iteration=state.iteration + 1,
                attempt=0,
                assignment=assignment,
                report=evidence.report,
                publish=tally,
                control=control,
            )
            for check in self._checks:
                if check.when is When.BEFORE_ACCEPT and not evidence.proven:
                    continue
                result = await tally.run(check, judging, time_over=self._time_over)
                evidence = replace(evidence, results=(*evidence.results, result))
        return evidence

    def _reject(self, failing: Sequence[str]) -> None:
        aside = self._done.reject() if self._done.exists() else None
        if aside is None:
            return  # settled already, or taken back by the agent
        self._publish(Warned(f"DONE was denied by {', '.join(failing)}; it is kept as {aside.name}"))

    async def _completed(self) -> Drained:
        """Children were waited for before anything was judged; where nothing is, the agent's word is enough."""
        cut = None if self._checks else await self._family.wait()
        if cut is not None and cut.ending is Ending.LIMITED:
            self._publish(Warned(cut.reason))
        return Drained(completed_line(cut.active if cut is not None else (), launches=self._launches))
