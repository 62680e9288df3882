"""A thousand iterations of the real loop with a made-up agent and check: how long the prompts are, and what the ledger takes of
an iteration. Prints bytes and milliseconds as JSON."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from statistics import median

from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import Continue
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.ledger import attempt_of
from ralph.domain.loop.session_change import ChangedFile, SessionChange
from ralph.domain.loop.session_report import AgentReport
from ralph.domain.loop.state import LoopState
from ralph.engine.loop import run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.ports import Judging, Snapshot, When
from ralph.engine.prompts.advisers import LedgerAdviser
from ralph.engine.prompts.work import PromptWork
from ralph.engine.recording import Recorder
from ralph.engine.stop_token import StopToken
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal
from ralph.testing.scripted_agent import ScriptedAgent, Turn

EARLY = 10
LATE = 1000
TIMES = 2000
OBJECTIVE = (
    "Make the totals of all invoices agree with the ledger of the year, and keep every test green.\n" * 5
)


def change_of(number: int) -> SessionChange:
    named = (ChangedFile(f"src/package/module_{number % 7}_{one}.py", "", str(number)) for one in range(4))
    return SessionChange(4, tuple(named))


def failure_of(number: int) -> CheckResult:
    line = f"E  assert {number % 5} == 12345"
    told = Feedback(f'Guardrail "pytest" failed with exit code 1.\nOutput:\n{line}')
    return CheckResult("pytest", Verdict.FAILED, feedback=told, exit_code=1, last_lines=(line,))


@dataclass
class Workspace:
    number: int = 0

    async def snapshot(self) -> Snapshot:
        self.number += 1
        return Snapshot(str(self.number), "", change_of(self.number))


@dataclass
class Failing:
    name: str = "pytest"
    command: str = "pytest"
    when: When = field(default=When.ALWAYS)

    async def run(self, judging: Judging) -> CheckResult:
        return failure_of(judging.iteration)


async def prompts() -> list[str]:
    """All of a run's."""
    agent, clock, journal = ScriptedAgent([Turn("working")]), FakeClock(), MemoryJournal()
    parts = LoopParts(
        work=PromptWork(lambda: OBJECTIVE),
        agent=agent,
        journal=journal,
        clock=clock,
        control=StopToken(),
        publish=Recorder(journal, clock),
        checks=[Failing()],
        advisers=[LedgerAdviser()],
        workspace=Workspace(),
        budget=Budget(iterations=LATE),
    )
    await run_loop(parts)
    return agent.prompts


def milliseconds() -> float:
    """To note an attempt and to tell a full ledger."""
    state, taken = LoopState(), []
    for number in range(1, TIMES + 1):
        evidence = Evidence(AgentReport(), results=(failure_of(number),) * 2, change=change_of(number))
        began = time.perf_counter()
        ledger = state.ledger.noted(attempt_of(number, "prompt", evidence, Continue("red")))
        ledger.text("prompt", is_told=True)
        taken.append(time.perf_counter() - began)
        state = LoopState(ledger=ledger)
    return 1000 * median(taken)


if __name__ == "__main__":
    found = asyncio.run(prompts())
    sizes = {str(number): len(found[number - 1].encode()) for number in (EARLY, LATE)}
    print(json.dumps({**sizes, "longest": max(len(one.encode()) for one in found), "ms": milliseconds()}))
