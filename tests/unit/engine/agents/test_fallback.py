"""Several agents in a row: who works, who waits, what the loop is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralph.domain.agent.events import Usage
from ralph.domain.loop.events import LoopEvent, Warned
from ralph.domain.loop.session_report import AgentReport, Fatal, Fault, RateLimited, Spend, Transient
from ralph.engine.agents.fallback import ASK_AGAIN, FallbackAgent
from ralph.engine.ports import AgentRequest
from ralph.testing.fake_clock import FakeClock
from ralph.testing.scripted_agent import ScriptedAgent, Turn

REQUEST = AgentRequest("do it", Path("prompt_001.txt"), Path("run/agent_001.ndjson"), Path("project"))
NOW = FakeClock().now()
HOUR = 3600.0


@dataclass
class Chain:
    """A chain of scripted agents: each with the faults it meets, in order; then it works."""

    scripts: dict[str, Sequence[Fault]]
    names: Sequence[str] = ()
    clock: FakeClock = field(default_factory=FakeClock)
    launches: list[tuple[str, str]] = field(default_factory=list)
    events: list[LoopEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        agents = [self._agent(name, faults) for name, faults in self.scripts.items()]
        for agent, name in zip(agents, self.names, strict=False):
            agent.name = name
        self.agent = FallbackAgent(agents, self.clock, show_time=lambda moment: f"+{moment - NOW:.0f}s")

    def _agent(self, key: str, faults: Sequence[Fault]) -> ScriptedAgent:
        spend = Spend(0.5, Usage(10), 1.0)

        def note(request: AgentRequest) -> None:
            self.launches.append((key, request.log_file.name))

        turns = [Turn(does=note, fault=fault, spend=spend) for fault in faults]
        return ScriptedAgent([*turns, Turn(f"{key} worked", does=note, spend=spend)], name=key)

    def run(self) -> AgentReport:
        return asyncio.run(self.agent.run(REQUEST, self.events.append))

    @property
    def asked(self) -> list[str]:
        return [name for name, _ in self.launches]

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Warned)]


def test_the_first_works_as_long_as_it_can() -> None:
    chain = Chain({"claude": [], "codex": []})

    assert [chain.run().text, chain.run().text] == ["claude worked"] * 2
    assert chain.launches == [("claude", "agent_001.ndjson")] * 2
    assert chain.warnings == []
    assert chain.agent.name == "claude,codex"


def test_a_limit_hands_over_in_the_same_attempt_and_back_when_it_is_over() -> None:
    chain = Chain({"claude": [RateLimited("5-hour limit", NOW + HOUR)], "codex": []})

    first = chain.run()
    chain.clock.time += HOUR - 1
    second = chain.run()
    chain.clock.time += 1
    third = chain.run()

    assert (first.text, first.fault) == ("codex worked", None)
    assert second.text == "codex worked"
    assert third.text == "claude worked"
    assert chain.asked == ["claude", "codex", "codex", "claude"]
    assert chain.warnings == [
        "claude is limited until +3600s (5-hour limit); going on with codex",
        "claude is available again: switching back to it",
    ]


def test_each_launch_has_its_own_log_and_the_spend_adds_up() -> None:
    chain = Chain({"claude": [Fatal("not logged in")], "codex": [RateLimited("429")], "gemini": []})

    report = chain.run()

    assert [log for _, log in chain.launches] == [
        "agent_001.ndjson",
        "agent_001.codex.ndjson",
        "agent_001.gemini.ndjson",
    ]
    assert report.spend == Spend(1.5, Usage(30), 3.0)


def test_the_same_program_twice_is_told_apart() -> None:
    chain = Chain({"one": [RateLimited("429")], "two": []}, names=["claude", "claude"])

    chain.run()

    assert [log for _, log in chain.launches] == ["agent_001.ndjson", "agent_001.claude-2.ndjson"]
    assert chain.warnings == ["claude-1 is limited (429); going on with claude-2"]


def test_a_fatal_fault_hands_over_and_is_asked_again_after_a_while() -> None:
    chain = Chain({"claude": [Fatal("not logged in", "log in")], "codex": []})

    assert chain.run().fault is None
    assert chain.run().text == "codex worked"
    chain.clock.time += ASK_AGAIN
    assert chain.run().text == "claude worked"
    assert chain.warnings == ["claude cannot work: not logged in; going on with codex", "trying claude again"]


def test_a_passing_fault_stays_with_the_agent() -> None:
    chain = Chain({"claude": [Transient("529")], "codex": []})

    assert chain.run().fault == Transient("529")
    assert chain.run().text == "claude worked"
    assert chain.asked == ["claude", "claude"]


def test_if_all_are_limited_the_earliest_end_is_told() -> None:
    chain = Chain(
        {
            "claude": [RateLimited("5-hour limit", NOW + 2 * HOUR)],
            "codex": [RateLimited("usage limit", NOW + HOUR)],
        }
    )

    first = chain.run()
    again = chain.run()
    chain.clock.time += HOUR
    third = chain.run()

    assert isinstance(first.fault, RateLimited)
    assert first.fault.until == NOW + HOUR
    assert "5-hour limit" in first.fault.reason
    assert "usage limit" in first.fault.reason
    assert again.fault == first.fault
    assert again.spend == Spend()
    assert not again.is_orderly
    assert third.text == "codex worked"
    assert chain.asked == ["claude", "codex", "codex"]


@pytest.mark.parametrize("until", [None, NOW - 5, NOW + 400 * 24 * HOUR])
def test_a_limit_without_a_believable_end_is_looked_at_now_and_then(until: float | None) -> None:
    chain = Chain({"claude": [RateLimited("429", until)] * 2, "codex": []})

    chain.run()
    chain.clock.time += 60
    chain.run()
    chain.clock.time += 60
    chain.run()
    chain.clock.time += 60
    chain.run()

    assert chain.asked == ["claude", "codex", "claude", "codex", "codex", "claude"]


def test_if_all_are_fatal_every_reason_is_told_with_what_to_do() -> None:
    chain = Chain({"claude": [Fatal("not logged in", "log in")], "codex": [Fatal("bad flag", "check flags")]})

    report = chain.run()

    assert report.fault == Fatal(
        "claude cannot work: not logged in; codex cannot work: bad flag", "log in; check flags"
    )
    assert chain.run().text == "claude worked"


def test_a_limit_is_waited_for_when_the_others_cannot_work() -> None:
    chain = Chain({"claude": [Fatal("not logged in")], "codex": [RateLimited("429", NOW + HOUR)]})

    fault = chain.run().fault

    assert isinstance(fault, RateLimited)
    assert fault.until == NOW + HOUR


def test_an_attempt_asks_each_agent_once_however_short_its_limit() -> None:
    class Running(FakeClock):
        def now(self) -> float:
            self.time += 100
            return self.time

    clock = Running()
    chain = Chain({"claude": [RateLimited("429")] * 50, "codex": [RateLimited("429")] * 50}, clock=clock)

    assert isinstance(chain.run().fault, RateLimited)
    assert chain.asked == ["claude", "codex"]


def test_a_chain_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="needs an agent"):
        FallbackAgent([], FakeClock())


def test_nobody_stands_in_once_a_stop_was_asked_for() -> None:
    agents = [
        ScriptedAgent([Turn(fault=RateLimited("5 hours", NOW + HOUR))], name="claude"),
        ScriptedAgent([Turn("worked")], name="codex"),
    ]
    chain = FallbackAgent(agents, FakeClock(), is_stopping=lambda: True)
    report = asyncio.run(chain.run(REQUEST, lambda event: None))
    assert isinstance(report.fault, RateLimited)
    assert agents[1].prompts == []
