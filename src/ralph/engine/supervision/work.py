"""Work that is one root agent, restarted until its DONE file is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ralph.domain.loop.assignment import Assignment, Blocked, Drained, Offer
from ralph.domain.loop.claims import Claim
from ralph.domain.loop.decision import Continue, Decision, Outcome, Stop
from ralph.domain.loop.events import CheckEnded, CheckStarted, PauseBegan, Warned
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.prompt import compose
from ralph.domain.loop.session_report import AgentReport, Hindrance, Obstacle
from ralph.domain.loop.state import LoopState
from ralph.domain.supervision.rules import Supervision, completed_line, exhausted_line, restart_lines, span
from ralph.engine.deadline import TimeOver, in_time, no_deadline, until_time_is_over
from ralph.engine.patience import read_patiently
from ralph.engine.ports import Check, Clock, Control, Judging, Publish, When

KEY = "root agent"
SHOWN_CHILDREN = 10
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
    ``children``: the child runs that are still active, each named; ``stop_children`` ends them when the user wants
    everything to end at once. ``checks`` deny a DONE that nobody proved yet. ``prepare`` is called before each launch.
    """

    def __init__(
        self,
        read: Callable[[], str],
        done: DoneMark,
        supervision: Supervision,
        *,
        waits: Callable[[], str],
        children: Callable[[], Sequence[str]],
        environment: Mapping[str, str],
        clock: Clock,
        control: Control,
        publish: Publish,
        checks: Sequence[Check] = (),
        max_time: float | None = None,
        time_over: TimeOver = no_deadline,
        stop_children: Callable[[], None] = lambda: None,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._read = read
        self._done = done
        self._supervision = supervision
        self._waits = waits
        self._children = children
        self._environment = environment
        self._clock = clock
        self._control = control
        self._publish = publish
        self._checks = tuple(checks)
        self._time_over = time_over
        self._max_time = float("inf") if max_time is None else max_time
        self._stop_children = stop_children
        self._prepare = prepare
        self._launches = 0
        self._has_run = False
        self._reason_to_wait = ""

    async def next(self, state: LoopState) -> Offer:
        is_after_run, self._has_run = self._has_run, False
        self._launches = state.iteration
        if self._control.stopping and not is_after_run:
            return self._assignment("")  # it is not started: the loop stops first
        denied: Sequence[Feedback] = ()
        if state.accepted == KEY:
            return await self._completed(state)
        if self._done.exists():
            evidence = await self._checked(state)
            if evidence.proven:
                return await self._completed(state)
            if (hindrance := evidence.hindrance) is not None:
                return _unjudged(hindrance)
            if not self._control.stopping:  # then it may have been cut off
                self._reject(evidence.failing)
                denied = evidence.feedback
        if self._control.stopping:
            return self._assignment("")
        if reason := self._reason_to_wait or self._waits():
            self._publish(Warned(WAIT_DETECTED))
            return Blocked(reason)
        if state.iteration >= self._supervision.max_restarts:
            return Drained(exhausted_line(state.iteration), unfinished=(KEY,))
        objective = await read_patiently(self._read)
        self._prepare()
        return self._assignment(compose(objective, denied))

    def is_due(self) -> bool:
        """Asked during every wait: DONE, or word that the agent is not to be restarted."""
        self._reason_to_wait = self._reason_to_wait or self._waits()
        return bool(self._reason_to_wait) or self._done.exists()

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        self._has_run = True
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

    async def _checked(self, state: LoopState) -> Evidence:
        evidence = Evidence(AgentReport())
        async with until_time_is_over(self._control, self._time_over) as control:
            judging = Judging(
                iteration=state.iteration + 1,
                attempt=0,
                assignment=self._assignment(""),
                report=evidence.report,
                publish=self._publish,
                control=control,
            )
            for check in self._checks:
                if check.when is When.BEFORE_ACCEPT and not evidence.proven:
                    continue
                self._publish(CheckStarted(check.name, check.command))
                result = in_time(await check.run(judging), self._time_over)
                self._publish(CheckEnded(result))
                evidence = Evidence(judging.report, results=(*evidence.results, result))
        return evidence

    def _reject(self, failing: Sequence[str]) -> None:
        aside = self._done.reject() if self._done.exists() else None
        if aside is None:
            return  # settled already, or taken back by the agent
        self._publish(Warned(f"DONE was denied by {', '.join(failing)}; it is kept as {aside.name}"))

    # --- children ---

    async def _completed(self, state: LoopState) -> Drained:
        patience = max(0.0, min(self._supervision.wait_timeout, self._max_time - state.seconds))
        active = await self._wait_for_children(patience)
        if active:
            shown = ", ".join(active[:SHOWN_CHILDREN]) + (" …" if len(active) > SHOWN_CHILDREN else "")
            waited = "" if self._control.stopping else f" after {span(patience)}"
            self._publish(Warned(f"child runs still running{waited}: {shown}"))
            if self._control.stopping_now:
                self._stop_children()
        return Drained(completed_line(active))

    async def _wait_for_children(self, patience: float) -> Sequence[str]:
        """Those that are still active when the time is over, or the user does not want to wait."""
        clock = self._clock
        began = clock.monotonic()
        is_told = False
        while active := self._children():
            left = patience - (clock.monotonic() - began)
            if left <= 0 or self._control.stopping:
                return active
            if not is_told:
                is_told = True
                number = f"{len(active)} active child run{'' if len(active) == 1 else 's'}"
                self._publish(PauseBegan(f"DONE is there; waiting for {number}", clock.now() + left))
            await self._sleep(min(left, self._supervision.poll_interval))
        return ()

    async def _sleep(self, seconds: float) -> None:
        stop = asyncio.ensure_future(self._control.stop_requested())
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait({stop, sleep}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            sleep.cancel()


def _unjudged(hindrance: Hindrance) -> Offer:
    """DONE stays as it is: it is neither accepted nor denied."""
    reason = f"DONE is not judged yet: {hindrance.reason}"
    is_over = hindrance.obstacle is Obstacle.LIMIT_REACHED
    return Drained(reason, unfinished=(KEY,)) if is_over else Blocked(reason)
