"""An agent whose iterations continue the session before, instead of each beginning with a fresh context."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

from ralph.domain.agent.events import SessionStarted, Usage
from ralph.domain.loop.events import AgentActed, AgentEnded, LoopEvent
from ralph.domain.loop.session_report import AgentReport, Fatal, Fault, Transient
from ralph.engine.ports import Agent, AgentRequest, Publish
from ralph.values import replace

ITERATION = "iteration"  # the purpose of a request that says no other


class ContinuingAgent:
    """Remembers, for each role and place, the session that was last; sessions for other purposes stay fresh.

    A session that failed is not continued: it may be the very thing that is wrong. One whose context is full when it is
    continued has failed in passing, because the next one is fresh. Nor is one of another process continued: a run that is
    resumed begins afresh.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._sessions: dict[tuple[str, Path], tuple[str, Usage]] = {}

    @property
    def name(self) -> str:
        return self._agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        if request.purpose != ITERATION:
            return await self._agent.run(request, publish, stop=stop)
        place = (request.role, request.cwd)
        session, used = self._sessions.pop(place, ("", Usage()))
        heard = session

        def listen(event: LoopEvent) -> None:
            nonlocal heard
            if isinstance(event, AgentActed):
                if SessionStarted in map(type, event.events):
                    for happened in event.events:
                        if isinstance(happened, SessionStarted) and happened.session_id:
                            heard = happened.session_id
            elif isinstance(event, AgentEnded) and session:
                event = replace(event, fault=_passing(event.fault))
            publish(event)

        continued = replace(request, continues=session, used_before=used)
        report = await self._agent.run(continued, listen, stop=stop)
        if report.fault is None and report.is_orderly and heard:
            self._sessions[place] = heard, used + report.spend.usage
        return replace(report, fault=_passing(report.fault)) if session else report


def _passing(fault: Fault | None) -> Fault | None:
    return Transient(fault.reason) if isinstance(fault, Fatal) and fault.is_full else fault
