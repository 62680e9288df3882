"""When the record is written: before a session begins, and before anything is waited for."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ralph.adapters.signals.probes import TagProbe
from ralph.domain.loop.assignment import Assignment, Offer
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import Decision, Outcome
from ralph.domain.loop.events import AgentEnded, IterationEnded, IterationStarted, LoopEvent
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.session_report import AgentReport, Ending, Spend
from ralph.domain.loop.state import LoopState
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.ports import AgentRequest, Publish, Snapshot
from ralph.engine.prompts.work import PromptWork
from ralph.engine.recording import Recorder
from ralph.engine.stop_token import StopToken
from ralph.errors import StoreError
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal
from ralph.values import dataclass, field

COST = Spend(cost_usd=1.0)


@dataclass(slots=True)
class Disk(MemoryJournal):
    """What would be found after a cut: ``written`` of the events, and the last of the states."""

    written: int = 0
    writes: int = 0
    fails_at: int = 0

    def flush(self) -> None:
        self._write()

    counted: list[tuple[int, int, int]] = field(default_factory=list)

    def commit(self, state: LoopState) -> None:
        self._write()
        self.states.append(state)
        self.counted.append((self.holds(IterationEnded), state.iteration, state.attempt))

    def _write(self) -> None:
        if self.written == len(self.events) and not self.events:
            return
        self.writes += 1
        if self.writes == self.fails_at:
            raise StoreError("the disk is full")
        self.written = len(self.events)

    def holds(self, kind: type[LoopEvent]) -> int:
        return sum(isinstance(event, kind) for event in self.events[: self.written])


@dataclass(slots=True)
class Agent:
    """Asks the disk at the beginning of each session, and says what it has spent at its end."""

    disk: Disk
    exit_code: int = 0
    name: str = "asking"
    found: list[tuple[int, int, float]] = field(default_factory=list)

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        spent = self.disk.states[-1].spend.cost_usd or 0.0
        self.found.append((self.disk.holds(IterationStarted), self.disk.holds(IterationEnded), spent))
        publish(AgentEnded(ending=Ending.EXITED, exit_code=0, seconds=0.0, spend=COST))
        return AgentReport(exit_code=self.exit_code, is_orderly=not self.exit_code, spend=COST)


class KeepingWork:
    """Keeps what was settled outside of the run's state, and asks the disk when it does."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.found: list[float] = []

    async def next(self, state: LoopState) -> Offer:
        return Assignment(key="task", objective="task")

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        self.found.append(self._disk.states[-1].spend.cost_usd or 0.0)


def run(disk: Disk, agent: Agent, **given: Any) -> RunResult:
    async def whole() -> RunResult:
        clock = FakeClock()
        parts: dict[str, Any] = {"work": PromptWork(lambda: "task"), "budget": Budget(iterations=3), **given}
        return await run_loop(
            LoopParts(
                agent=agent,
                journal=disk,
                clock=clock,
                control=StopToken(),
                publish=Recorder(disk, clock),
                probes=[TagProbe("response", "DONE", first=True)],
                **parts,
            )
        )

    return asyncio.run(whole())


def test_an_iteration_that_follows_at_once_is_one_write_with_the_one_before() -> None:
    disk = Disk()
    agent = Agent(disk)
    result = run(disk, agent)
    assert (result.outcome, result.iterations) == (Outcome.EXHAUSTED, 3)
    assert agent.found == [(1, 0, 0.0), (2, 1, 1.0), (3, 2, 2.0)]
    assert len(disk.states) == 4  # three beginnings and the end
    assert disk.states[-1].spend.cost_usd == 3.0
    assert disk.holds(IterationEnded) == 3


def test_what_was_spent_is_on_record_while_the_session_is_judged() -> None:
    disk = Disk()
    found: list[tuple[float, int]] = []

    class SlowWorkspace:
        async def snapshot(self) -> Snapshot:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if disk.states:
                found.append((disk.states[-1].spend.cost_usd or 0.0, disk.holds(AgentEnded)))
            return Snapshot()

    run(disk, Agent(disk), workspace=SlowWorkspace(), budget=Budget(iterations=2))
    assert [each for each in found if each[1]] == [(1.0, 1), (2.0, 2)]


def test_work_that_keeps_what_was_settled_never_knows_more_than_the_record() -> None:
    disk = Disk()
    work = KeepingWork(disk)
    agent = Agent(disk)
    run(disk, agent, work=work)
    assert work.found == [1.0, 2.0, 3.0]
    assert agent.found == [(1, 0, 0.0), (2, 1, 1.0), (3, 2, 2.0)]
    assert len(disk.states) == 3 * 3 + 1


@pytest.mark.parametrize("exit_code", [0, 3], ids=["judged", "failed"])
@pytest.mark.parametrize("keeps", [False, True], ids=["stateless", "keeps"])
def test_an_iteration_ends_on_record_with_the_state_that_counts_it(keeps: bool, exit_code: int) -> None:
    """A cut between the two would make the next process do the iteration again."""
    disk = Disk()
    given = {"work": KeepingWork(disk)} if keeps else {}
    run(disk, Agent(disk, exit_code), **given)
    ends = [0, *(ended for ended, *_ in disk.counted)]
    places = [(0, 1), *((iteration, attempt) for _, iteration, attempt in disk.counted)]
    assert ends[-1] >= 3
    for before, after in itertools.pairwise(zip(ends, places, strict=True)):
        assert after[0] == before[0] or after[1] != before[1], disk.counted


@pytest.mark.parametrize("number", range(1, 9))
def test_a_record_that_cannot_be_written_ends_the_run_before_the_next_session(number: int) -> None:
    """Whichever write it is: also one that nobody waits for."""
    disk = Disk(fails_at=number)
    agent = Agent(disk)

    class Look:
        async def snapshot(self) -> Snapshot:
            await asyncio.sleep(0)
            return Snapshot()

    with pytest.raises(StoreError, match="the disk is full"):
        run(disk, agent, workspace=Look(), budget=Budget(iterations=20))
    sessions = len(agent.found)
    assert sessions <= (number + 1) // 2


def test_a_run_that_is_cancelled_leaves_nothing_unwritten() -> None:
    disk = Disk()

    class Cancelling(PromptWork):
        def __init__(self, cancel: Callable[[], object]) -> None:
            super().__init__(lambda: "task")
            self._cancel, self._asked = cancel, 0

        async def next(self, state: LoopState) -> Offer:
            self._asked += 1
            if self._asked == 3:
                self._cancel()
                await asyncio.sleep(10)
            return await super().next(state)

    async def whole() -> None:
        clock = FakeClock()
        task: asyncio.Task[RunResult]
        work = Cancelling(lambda: task.cancel())
        parts = LoopParts(
            work=work,
            agent=Agent(disk),
            journal=disk,
            clock=clock,
            control=StopToken(),
            publish=Recorder(disk, clock),
            probes=[TagProbe("response", "DONE", first=True)],
        )
        task = asyncio.create_task(run_loop(parts))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(whole())
    assert disk.holds(IterationEnded) == 2
    assert disk.states[-1].iteration == 2
    assert disk.states[-1].spend.cost_usd == 2.0
