"""Going on with the session before: which sessions do, and which begin afresh."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.domain.agent.events import SessionStarted, Usage
from ralph.domain.loop.events import AgentActed, AgentEnded, LoopEvent
from ralph.domain.loop.session_report import AgentReport, Fatal, Fault, Spend, Transient
from ralph.engine.agents.continued_session import ContinuingAgent
from ralph.engine.ports import AgentRequest, Publish

REQUEST = AgentRequest(
    prompt="make x", prompt_file=Path("p"), log_file=Path("l"), cwd=Path("/project"), role="coder"
)


class Naming:
    """Every session has a name of its own, unless it goes on with another."""

    name = "naming"

    def __init__(self) -> None:
        self.continued: list[str] = []
        self.used_before: list[Usage] = []
        self.next_report = AgentReport()

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        self.continued.append(request.continues)
        self.used_before.append(request.used_before)
        name = request.continues or f"s-{len(self.continued)}"
        publish(AgentActed((SessionStarted(name), SessionStarted("", "model"))))
        report, self.next_report = self.next_report, AgentReport()
        publish(ended_with(report))
        return replace(report, spend=Spend(usage=Usage(10, len(self.continued))))


def ended_with(report: AgentReport) -> AgentEnded:
    return AgentEnded(
        ending=report.ending,
        exit_code=report.exit_code,
        seconds=0.0,
        spend=report.spend,
        tools=0,
        tool_errors=0,
        fault=report.fault,
    )


def played(agent: Naming, *requests: AgentRequest) -> list[LoopEvent]:
    events: list[LoopEvent] = []
    continuing = ContinuingAgent(agent)

    async def play() -> None:
        for request in requests:
            await continuing.run(request, events.append)

    asyncio.run(play())
    return events


def test_each_iteration_goes_on_with_the_one_before() -> None:
    agent = Naming()

    events = played(agent, REQUEST, REQUEST, REQUEST)

    assert agent.continued == ["", "s-1", "s-1"]
    assert len(events) == 6


def test_what_a_session_has_used_before_it_is_continued_is_known() -> None:
    agent = Naming()

    played(agent, REQUEST, REQUEST, replace(REQUEST, role="reviewer"), REQUEST)

    assert agent.used_before == [Usage(), Usage(10, 1), Usage(), Usage(20, 3)]


def test_every_role_and_every_place_has_its_own_session() -> None:
    agent = Naming()
    reviewer = replace(REQUEST, role="reviewer")
    elsewhere = replace(REQUEST, cwd=Path("/other"))

    played(agent, REQUEST, reviewer, elsewhere, REQUEST, reviewer, elsewhere)

    assert agent.continued == ["", "", "", "s-1", "s-2", "s-3"]


def test_a_session_for_another_purpose_is_fresh_and_not_gone_on_with() -> None:
    agent = Naming()

    played(agent, REQUEST, replace(REQUEST, purpose="commit"), REQUEST)

    assert agent.continued == ["", "", "s-1"]


def test_a_session_that_failed_is_not_gone_on_with() -> None:
    for report in (AgentReport(fault=Transient("lost")), AgentReport(is_orderly=False)):
        agent = Naming()
        agent.next_report = report

        played(agent, REQUEST, REQUEST, REQUEST)

        assert agent.continued == ["", "", "s-2"]


@pytest.mark.parametrize(
    ("fault", "when_continued"),
    [
        (Fatal("too long", "shorten it", is_full=True), Transient("too long")),
        (Fatal("not logged in", "log in"), Fatal("not logged in", "log in")),
    ],
)
def test_only_a_fresh_session_is_full_for_good(fault: Fault, when_continued: Fault) -> None:
    agent = Naming()
    continuing = ContinuingAgent(agent)
    ended: list[Fault | None] = []

    def listen(event: LoopEvent) -> None:
        if isinstance(event, AgentEnded):
            ended.append(event.fault)

    async def play() -> list[Fault | None]:
        seen = []
        for report in (AgentReport(), *[AgentReport(fault=fault)] * 2):
            agent.next_report = report
            seen.append((await continuing.run(REQUEST, listen)).fault)
        return seen

    faults = [None, when_continued, fault]
    assert asyncio.run(play()) == faults
    assert ended == faults
    assert agent.continued == ["", "s-1", ""]


def test_it_has_the_name_of_the_agent_it_is() -> None:
    assert ContinuingAgent(Naming()).name == "naming"
