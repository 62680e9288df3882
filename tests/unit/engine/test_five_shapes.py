"""Five profiles in miniature, one unchanged ``run_loop``: the proof that the abstraction carries all seeds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ralph.adapters.checks.transitions import TransitionCheck
from ralph.adapters.signals.marker_file import MarkerFileProbe
from ralph.adapters.signals.tag import RejectProbe, TagProbe
from ralph.adapters.work.prompt_work import PromptWork
from ralph.adapters.work.workflow_work import WorkflowWork
from ralph.domain.assignment import Assignment, Drained, Offer
from ralph.domain.budget import Budget, Pace
from ralph.domain.completion import CompletionCriteria, Role, TaskCompletionSpec
from ralph.domain.decision import Acceptance, Decision, Outcome, Rules
from ralph.domain.evidence import Evidence
from ralph.domain.feedback import Feedback, Placement
from ralph.domain.prompt import compose, fill
from ralph.domain.report import Transient
from ralph.domain.role_defaults import CompletionDefaults, RoleDefaults
from ralph.domain.signals import Claim
from ralph.domain.state import LoopState
from ralph.domain.story import Review, Story
from ralph.domain.task import Task, TaskStatus
from ralph.domain.workflows.pipeline import Pipeline
from ralph.domain.workflows.review_cycle import ReviewCycle
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.ports import AgentRequest
from ralph.engine.stopping import StopToken
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal
from ralph.testing.memory_store import MemoryStore
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
    """Seed 000 in miniature: the loop's state is a file, and the second prompt is a continuation."""

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
    """Seed 003 in miniature: a DONE file before the launch drains the work."""

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


def test_a_task_goes_through_the_pipeline_and_back_when_a_verification_fails() -> None:
    criteria = {role.value: CompletionCriteria(promise=f"{role.name}_OK", max_iterations=2) for role in Role}
    spec = TaskCompletionSpec.of("people can log in", ["a form"], criteria)
    task = Task(id="T-1", title="add login", completion_spec=spec)
    workflow = Pipeline()
    store = MemoryStore([task], key=lambda task: task.id)
    agent = ScriptedAgent(
        [
            Turn("<promise>CODER_OK</promise>"),  # verification fails: the coder goes on
            Turn("<promise>CODER_OK</promise>"),
            Turn("<promise>CODER_OK</promise>"),  # another role's promise is no claim of the reviewer
            Turn("<reject>no tests</reject>"),  # back to the coder
            Turn("<promise>CODER_OK</promise>"),
            Turn("<promise>REVIEWER_OK</promise>"),
            Turn("<promise>TESTER_OK</promise>"),
            Turn("<promise>QA_OK</promise>"),
        ]
    )
    verification = ScriptedCheck("verify", lambda judging: judging.iteration > 1, Feedback("nothing built"))

    async def loop() -> RunResult:
        return await run_loop(
            parts(
                agent,
                work=WorkflowWork(
                    store,
                    workflow,
                    objective=lambda task, step: "\n".join([f"{step.role}: {task.title}", *task.remarks]),
                ),
                probes=[TagProbe("promise", "", first=False), RejectProbe()],
                checks=[verification],
            )
        )

    result = run(loop)

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 8)
    assert store.get("T-1").status is TaskStatus.DONE
    assert [prompt.split(":")[0] for prompt in agent.prompts] == [
        "coder", "coder", "reviewer", "reviewer", "coder", "reviewer", "tester", "qa",
    ]  # fmt: skip
    assert agent.prompts[1] == "coder: add login\n\nnothing built"
    assert agent.prompts[4] == "coder: add login\nreviewer: no tests"


def test_a_story_that_approves_itself_is_undone_and_passes_only_by_review() -> None:
    store = MemoryStore([Story(id="US-1", title="search")], key=lambda story: story.id)

    def write(**changes: Any) -> Callable[[AgentRequest], None]:
        return lambda request: store.put("US-1", replace(store.get("US-1"), **changes))

    agent = ScriptedAgent(
        [
            Turn("all mine", does=write(passes=True, review=Review.APPROVED)),
            Turn("built", does=write(review=Review.NEEDED)),
            Turn("no", does=write(review=Review.CHANGES, review_count=1, review_feedback="handle empty")),
            Turn("fixed", does=write(review=Review.NEEDED, review_feedback="")),
            Turn("good", does=write(review=Review.APPROVED, review_count=2, passes=True)),
        ]
    )
    workflow = ReviewCycle()

    async def loop() -> RunResult:
        return await run_loop(
            parts(
                agent,
                work=WorkflowWork(store, workflow, objective=lambda story, step: f"{step.role} {story.id}"),
                checks=[TransitionCheck(store, workflow)],
                budget=Budget(iterations=15),
            )
        )

    result = run(loop)

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 5)
    assert store.get("US-1").passes
    assert agent.prompts[1].startswith("Your changes were undone:")
    assert [prompt.split("\n")[-1] for prompt in agent.prompts] == [
        "implement US-1", "implement US-1", "review US-1", "review-fix US-1", "review US-1",
    ]  # fmt: skip


def test_a_task_that_was_given_up_does_not_count_as_done() -> None:
    rows = {"coder": RoleDefaults(promise="OK", max_iterations=2)}
    workflow = Pipeline(("coder",), CompletionDefaults(roles=rows))
    store = MemoryStore([Task(id="T-1", title="one"), Task(id="T-2", title="two")], key=lambda task: task.id)
    agent = ScriptedAgent([Turn("no"), Turn("no"), Turn("<promise>OK</promise>")])
    red = ScriptedCheck("tests", lambda judging: "T-2" in judging.assignment.key, Feedback("T-1 is red"))

    async def loop() -> RunResult:
        return await run_loop(
            parts(
                agent,
                work=WorkflowWork(store, workflow, objective=lambda task, step: task.title),
                probes=[TagProbe("promise", "", first=False)],
                checks=[red],
            )
        )

    result = run(loop)

    assert (result.outcome, result.reason) == (Outcome.EXHAUSTED, "given up: T-1")
    assert agent.prompts == ["one", "one\n\nT-1 is red", "two"]
