"""Three kinds of loop in miniature over one unchanged ``run_loop``; tasks and plans have tests of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from ralph.adapters.signals.probes import MarkerFileProbe, TagProbe
from ralph.domain.loop.assignment import Assignment, Drained, Offer
from ralph.domain.loop.budget import Budget, Pace
from ralph.domain.loop.claims import Claim
from ralph.domain.loop.decision import Acceptance, Decision, Outcome, Rules
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.feedback import Feedback, Placement
from ralph.domain.loop.prompt import compose, fill
from ralph.domain.loop.session_report import Transient
from ralph.domain.loop.state import LoopState
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.ports import AgentRequest
from ralph.engine.prompts.work import PromptWork
from ralph.engine.stop_token import StopToken
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal
from ralph.testing.scripted_agent import ScriptedAgent, Turn
from ralph.testing.scripted_check import ScriptedCheck


def run(make: Callable[[], Coroutine[Any, Any, RunResult]]) -> RunResult:
    return asyncio.run(make())


def parts(agent: ScriptedAgent, **given: Any) -> LoopParts:
    journal = given.pop("journal", None) or MemoryJournal()
    return LoopParts(
        agent=agent,
        journal=journal,
        clock=given.pop("clock", None) or FakeClock(),
        control=StopToken(),
        publish=lambda event: journal.append(event, at=0.0),
        **given,
    )


def test_a_response_tag_counts_only_once_the_guardrail_passes() -> None:
    agent = ScriptedAgent([Turn("<response>DONE</response>"), Turn("fixed <response>done</response>")])
    guardrail = ScriptedCheck(
        "tests", lambda judging: judging.iteration == 2, Feedback("tests fail", Placement.PREPEND)
    )

    async def loop() -> RunResult:
        return await run_loop(
            parts(
                agent,
                work=PromptWork(lambda: "make it work"),
                probes=[TagProbe("response", "DONE", first=True)],
                checks=[guardrail],
                budget=Budget(iterations=2),
            )
        )

    result = run(loop)

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 2)
    assert agent.prompts == ["make it work", "tests fail\n\nmake it work"]


class PersistedPromise:
    """The promise profile in miniature: the loop's state is a file, and the second prompt is a continuation."""

    template = "ITERATION {{ITERATION}}/{{MAX}}: <promise>{{PROMISE}}</promise>\n{{PROMPT}}"

    def __init__(self, path: Path, task: str) -> None:
        self._path = path
        self._inner = PromptWork(lambda: task)

    def saved(self) -> LoopState | None:
        if not self._path.exists():
            return None
        return LoopState(iteration=json.loads(self._path.read_text())["iteration"])

    async def next(self, state: LoopState) -> Offer:
        self._path.write_text(json.dumps({"active": True, "iteration": state.iteration}))
        return await self._inner.next(state)

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        await self._inner.settle(assignment, evidence, decision)

    def prompt(
        self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
    ) -> str:
        if iteration == 1:
            return compose(assignment.objective, feedback)
        values = {
            "ITERATION": str(iteration),
            "MAX": str(maximum),
            "PROMISE": "SHIPPED",
            "PROMPT": assignment.objective,
        }
        return compose(fill(self.template, values), feedback)


class Killed(Exception):
    pass


def test_a_promise_loop_goes_on_from_its_persisted_state_after_a_kill(tmp_path: Path) -> None:
    state_file = tmp_path / "ralph-loop.json"

    def die(request: AgentRequest) -> None:
        raise Killed

    def loop(agent: ScriptedAgent) -> RunResult:
        async def go() -> RunResult:
            work = PersistedPromise(state_file, "task with {{MAX}} in it")
            return await run_loop(
                parts(
                    agent,
                    work=work,
                    prompt=work.prompt,
                    probes=[TagProbe("promise", "SHIPPED", first=False)],
                    budget=Budget(iterations=4),
                    state=work.saved() or LoopState(),
                )
            )

        return asyncio.run(go())

    first = ScriptedAgent([Turn("not yet"), Turn("nor now"), Turn(does=die)])
    try:
        loop(first)
    except Killed:
        pass
    else:
        raise AssertionError("the first run was to be killed")
    second = ScriptedAgent([Turn("<promise>DONE</promise>"), Turn("<promise> shipped </promise>")])
    result = loop(second)

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 4)
    assert second.prompts[0] == "ITERATION 3/4: <promise>SHIPPED</promise>\ntask with {{MAX}} in it"


class UntilMarker:
    """The supervised profile in miniature: a DONE file before the launch drains the work."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    async def next(self, state: LoopState) -> Offer:
        if self._marker.is_file():
            return Drained("DONE marker present")
        return Assignment(key="root agent", objective="go on")

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        return None


def test_a_root_agent_is_restarted_whatever_its_exit_until_the_done_file_is_there(tmp_path: Path) -> None:
    done = tmp_path / "DONE"
    clock = FakeClock()
    agent = ScriptedAgent(
        [
            Turn("<response>DONE</response>", exit_code=0),
            Turn(exit_code=1, fault=Transient("crashed")),
            Turn("ok", does=lambda request: done.touch()),
        ]
    )

    async def loop() -> RunResult:
        return await run_loop(
            parts(
                agent,
                clock=clock,
                work=UntilMarker(done),
                probes=[MarkerFileProbe(done, Claim.DONE)],
                rules=Rules(acceptance=Acceptance.CLAIM, faults_count=True),
                budget=Budget(iterations=100),
                pace=Pace(delay=1.0),
            )
        )

    result = run(loop)

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 3)
    assert sum(clock.slept) == 3.0
