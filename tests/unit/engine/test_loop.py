"""The loop's own promises, with fakes: counting, waiting, stopping, concerns, records."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from ralph.adapters.signals.probes import TagProbe
from ralph.domain.loop.assignment import Assignment, Blocked, Offer
from ralph.domain.loop.budget import Budget, Pace
from ralph.domain.loop.decision import Decision, Outcome, Rules
from ralph.domain.loop.events import (
    AgentEnded,
    CheckEnded,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    RunEnded,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import Fatal, Hindrance, Obstacle, RateLimited, Spend, Transient
from ralph.domain.loop.state import LoopState
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.ports import ActionResult, AgentRequest, Judging, Snapshot, Trigger, When
from ralph.engine.prompts.work import PromptWork
from ralph.engine.recording import Recorder
from ralph.engine.stop_token import StopToken
from ralph.errors import GitFailed, StoreError, UsageError
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal
from ralph.testing.scripted_agent import ScriptedAgent, Turn
from ralph.testing.scripted_check import ScriptedCheck

DONE = "<response>DONE</response>"


@dataclass
class Loop:
    """One run with fakes; what is not given is the plainest."""

    agent: ScriptedAgent
    given: dict[str, Any] = field(default_factory=dict)
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    clock: FakeClock = field(default_factory=FakeClock)
    setup: Callable[[StopToken], None] = lambda token: None

    def run(self, state: LoopState | None = None) -> RunResult:
        return asyncio.run(self._run(state))

    async def _run(self, state: LoopState | None) -> RunResult:
        token = StopToken()
        self.setup(token)
        parts: dict[str, Any] = {
            "work": PromptWork(lambda: "task"),
            "probes": [TagProbe("response", "DONE", first=True)],
            "budget": Budget(iterations=5),
            **self.given,
        }
        return await run_loop(
            LoopParts(
                agent=self.agent,
                journal=self.journal,
                clock=self.clock,
                control=token,
                publish=Recorder(self.journal, self.clock),
                state=state or LoopState(),
                **parts,
            )
        )

    def events(self, *kinds: type[LoopEvent]) -> list[Any]:
        return [event for event in self.journal.events if isinstance(event, kinds)]


def test_a_transient_fault_is_retried_with_backoff_and_not_counted() -> None:
    loop = Loop(ScriptedAgent([Turn(fault=Transient("529")), Turn(fault=Transient("529")), Turn(DONE)]))
    result = loop.run()
    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 1)
    assert sum(loop.clock.slept) == 5.0 + 10.0
    assert [(e.iteration, e.attempt) for e in loop.events(IterationStarted)] == [(1, 1), (1, 2), (1, 3)]


def test_a_fault_that_does_not_pass_ends_the_run() -> None:
    result = Loop(ScriptedAgent([Turn(fault=Transient("500"))]), {"rules": Rules(max_attempts=3)}).run()
    assert (result.outcome, result.iterations) == (Outcome.FAILED, 0)
    assert "500" in result.reason


AWAY = Turn(fault=Transient("API Error: Connection error."))


def test_a_network_that_is_away_for_hours_is_waited_for_with_growing_pauses() -> None:
    loop = Loop(ScriptedAgent([AWAY] * 40 + [Turn(fault=Transient("529")), AWAY, Turn(DONE)]))
    result = loop.run()
    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 1)
    began = loop.clock.now() - sum(loop.clock.slept)
    pauses = loop.events(PauseBegan)
    lasting = [later.until - earlier.until for earlier, later in itertools.pairwise(pauses)]
    assert pauses[0].until - began == 5.0
    assert lasting[:7] == [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]
    assert lasting[-2:] == [5.0, 5.0]  # another fault in between: it is counted from the start
    assert "no network for 2h" in pauses[30].reason


def test_a_network_that_stays_away_ends_the_run_in_the_end() -> None:
    rules = Rules(wait_for_network=3_600.0)
    loop = Loop(ScriptedAgent([AWAY]), {"rules": rules})
    result = loop.run()
    assert (result.outcome, result.iterations) == (Outcome.FAILED, 0)
    assert "no network for 1h0m0s" in result.reason
    assert "limits.waitForNetwork" in result.hint
    assert sum(loop.clock.slept) == 3_600.0


@pytest.mark.parametrize("rules", [Rules(wait_for_network=0.0), Rules(wait_for_limits=False)])
def test_without_patience_no_network_is_a_fault_like_any_other(rules: Rules) -> None:
    loop = Loop(ScriptedAgent([AWAY]), {"rules": rules})
    assert "(4 times in a row)" in loop.run().reason
    assert sum(loop.clock.slept) == 35.0


def test_a_fatal_fault_ends_the_run_with_its_hint() -> None:
    result = Loop(ScriptedAgent([Turn(fault=Fatal("not logged in", "log in first"))])).run()
    assert (result.outcome, result.hint) == (Outcome.FAILED, "log in first")


def test_a_limit_is_waited_out_until_its_reset() -> None:
    loop = Loop(ScriptedAgent([Turn(fault=RateLimited("5 hours", 1_700_000_100.0)), Turn(DONE)]))
    assert loop.run().outcome is Outcome.COMPLETED
    assert loop.clock.now() >= 1_700_000_100.0
    assert [pause.until for pause in loop.events(PauseBegan)] == [1_700_000_100.0]


def test_checks_are_not_run_on_a_session_that_failed_for_outside_reasons() -> None:
    seen: list[int] = []

    def passes(judging: Judging) -> bool:
        seen.append(judging.attempt)
        return True

    check = ScriptedCheck("c", passes, Feedback("x"))
    Loop(ScriptedAgent([Turn(fault=Transient("x")), Turn(DONE)]), {"checks": [check]}).run()
    assert seen == [2]


def test_a_check_on_claim_waits_for_a_claim() -> None:
    seen: list[int] = []

    def passes(judging: Judging) -> bool:
        seen.append(judging.iteration)
        return True

    check = ScriptedCheck("c", passes, Feedback("x"), when=When.ON_CLAIM)
    Loop(ScriptedAgent([Turn("no"), Turn(DONE)]), {"checks": [check]}).run()
    assert seen == [2]


def test_limits_and_spend_go_on_from_an_interrupted_run() -> None:
    agent = ScriptedAgent([Turn("no", spend=Spend(cost_usd=0.5))])
    stood = LoopState(
        iteration=3, assignment="prompt", spend=Spend(cost_usd=2.0), feedback=(Feedback("red"),)
    )
    result = Loop(agent).run(stood)
    assert (result.outcome, result.iterations, result.spend.cost_usd) == (Outcome.EXHAUSTED, 5, 3.0)
    assert agent.prompts == ["task\n\nred", "task"]


def test_the_pace_is_kept_between_iterations() -> None:
    loop = Loop(ScriptedAgent([Turn("no")]), {"pace": Pace(2.0), "budget": Budget(iterations=3)})
    loop.run()
    assert sum(loop.clock.slept) == 2 * 2.0  # after the last one there is nothing to wait for


def test_a_stop_request_ends_a_long_pause_at_once() -> None:
    def soon(token: StopToken) -> None:
        asyncio.get_running_loop().call_later(0.01, token.request)

    class StandingClock(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    loop = Loop(ScriptedAgent([Turn(fault=RateLimited("limit", 1e12))]), clock=StandingClock(), setup=soon)
    assert loop.run().outcome is Outcome.CANCELLED


def test_a_stop_request_before_the_start_launches_nothing() -> None:
    agent = ScriptedAgent([Turn(DONE)])

    def stop(token: StopToken) -> None:
        token.request()

    result = Loop(agent, setup=stop).run()
    assert (result.outcome, agent.prompts) == (Outcome.CANCELLED, [])


def test_a_session_that_ends_after_a_stop_request_is_not_judged() -> None:
    tokens: list[StopToken] = []

    def stop(request: AgentRequest) -> None:
        tokens[0].request()

    result = Loop(ScriptedAgent([Turn(DONE, does=stop)]), setup=tokens.append).run()
    assert (result.outcome, result.iterations) == (Outcome.CANCELLED, 0)


def test_blocked_work_ends_the_run_as_waiting() -> None:
    class Stuck:
        async def next(self, state: LoopState) -> Offer:
            return Blocked("needs a human")

        async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
            raise AssertionError("nothing to settle")

    result = Loop(ScriptedAgent([Turn()]), {"work": Stuck()}).run()
    assert (result.outcome, result.reason) == (Outcome.WAITING, "needs a human")


@dataclass
class ScriptedAction:
    result: ActionResult
    trigger: Trigger = Trigger.ON_PROOF
    name: str = "scm"
    ran: list[int] = field(default_factory=list)

    async def run(self, judging: Judging) -> ActionResult:
        self.ran.append(judging.iteration)
        return self.result


def test_an_action_on_proof_runs_after_every_green_iteration_only() -> None:
    green = ScriptedCheck("c", lambda judging: judging.iteration != 2, Feedback("red"))
    action = ScriptedAction(ActionResult(ok=True, spend=Spend(cost_usd=0.1)))
    agent = ScriptedAgent([Turn("no"), Turn("no"), Turn(DONE)])
    result = Loop(agent, {"checks": [green], "actions": [action]}).run()
    assert action.ran == [1, 3]
    assert result.spend.cost_usd == pytest.approx(0.2)
    assert result.iterations == 3


def test_an_action_that_fails_for_outside_reasons_is_a_concern_told_once() -> None:
    action = ScriptedAction(ActionResult(ok=False, message="push rejected"))
    agent = ScriptedAgent([Turn("no"), Turn(DONE)])
    result = Loop(agent, {"actions": [action]}).run()
    assert result.outcome is Outcome.COMPLETED
    assert result.concerns == ("scm: push rejected",)
    assert agent.prompts == ["task", "task"]


def test_an_action_that_the_agent_can_mend_denies_the_completion_and_is_told() -> None:
    refused = ActionResult(ok=False, message="hook", feedback=Feedback("the hook says no"))
    action = ScriptedAction(refused)
    agent = ScriptedAgent([Turn(DONE)])
    result = Loop(agent, {"actions": [action], "budget": Budget(iterations=2)}).run()
    assert (result.outcome, result.iterations) == (Outcome.EXHAUSTED, 2)
    assert agent.prompts[1] == "task\n\nthe hook says no"


def test_work_accepted_before_a_stop_request_is_completed() -> None:
    tokens: list[StopToken] = []

    class StopsMeanwhile(ScriptedAction):
        async def run(self, judging: Judging) -> ActionResult:
            tokens[0].request()
            return await super().run(judging)

    loop = Loop(
        ScriptedAgent([Turn(DONE)]), {"actions": [StopsMeanwhile(ActionResult(ok=True))]}, setup=tokens.append
    )
    assert loop.run().outcome is Outcome.COMPLETED


def test_a_failure_of_the_harness_is_on_record_with_what_was_done_before() -> None:
    class Vanishes(PromptWork):
        async def next(self, state: LoopState) -> Offer:
            if state.iteration == 1:
                message = "prompt file not found"
                raise UsageError(message)
            return await super().next(state)

    loop = Loop(ScriptedAgent([Turn("no", spend=Spend(cost_usd=0.5))]), {"work": Vanishes(lambda: "task")})
    with pytest.raises(UsageError):
        loop.run()
    (ended,) = loop.events(RunEnded)
    assert (ended.outcome, ended.iterations, ended.spend.cost_usd) == (Outcome.FAILED, 1, 0.5)


def test_a_limit_whose_reset_is_over_is_not_hammered() -> None:
    turns = [Turn(fault=RateLimited("limit", 1000.0))] * 5 + [Turn(fault=Transient("529")), Turn(DONE)]
    loop = Loop(ScriptedAgent(turns))
    assert loop.run().outcome is Outcome.COMPLETED
    waits = [pause.until for pause in loop.events(PauseBegan)]
    assert all(later - earlier >= 5 for earlier, later in itertools.pairwise(waits))


def test_an_action_on_acceptance_runs_once() -> None:
    action = ScriptedAction(ActionResult(ok=True), trigger=Trigger.ON_ACCEPT)
    Loop(ScriptedAgent([Turn("no"), Turn(DONE)]), {"actions": [action]}).run()
    assert action.ran == [2]


def test_advice_goes_into_the_next_prompt() -> None:
    class Once:
        async def advise(self, state: LoopState, assignment: Assignment) -> list[Feedback]:
            return [Feedback("use tabs")] if state.iteration == 1 else []

    agent = ScriptedAgent([Turn("no"), Turn("no"), Turn(DONE)])
    Loop(agent, {"advisers": [Once()]}).run()
    assert agent.prompts == ["task", "task\n\nuse tabs", "task"]


def test_a_workspace_that_never_changes_ends_the_run_as_stuck() -> None:
    class Still:
        async def snapshot(self) -> Snapshot:
            return Snapshot("same")

    result = Loop(
        ScriptedAgent([Turn("no")]), {"workspace": Still(), "budget": Budget(iterations=50, stuck_after=3)}
    ).run()
    assert (result.outcome, result.iterations) == (Outcome.EXHAUSTED, 3)
    assert "stuck" in result.reason


def test_the_record_has_the_start_before_the_launch_and_the_end_after_the_judging() -> None:
    loop: Loop

    def look(request: AgentRequest) -> None:
        assert [type(event) for event in loop.journal.events[-1:]] == [IterationStarted]
        assert loop.journal.states[-1].attempt == 1

    loop = Loop(ScriptedAgent([Turn(DONE, does=look)]))
    loop.run()
    assert [e.decision for e in loop.events(IterationEnded)] == ["accept"]
    assert loop.events(RunEnded)[0].outcome is Outcome.COMPLETED
    assert loop.journal.states[-1].iteration == 1


def test_a_broken_listener_is_dropped_and_the_run_goes_on() -> None:
    complaints: list[str] = []
    heard: list[LoopEvent] = []

    def broken(event: LoopEvent, at: float) -> None:
        raise ValueError("oops")

    async def publish() -> None:
        recorder = Recorder(
            MemoryJournal(),
            FakeClock(),
            [broken, lambda event, at: heard.append(event)],
            complain=complaints.append,
        )
        recorder(Warned("a"))
        recorder(Warned("b"))

    asyncio.run(publish())
    assert [event.message for event in heard if isinstance(event, Warned)] == ["a", "b"]
    assert len(complaints) == 1


def test_a_record_that_cannot_be_written_ends_the_run() -> None:
    class FullDisk(MemoryJournal):
        def flush(self) -> None:
            message = "the disk is full"
            raise StoreError(message)

    async def publish() -> None:
        recorder = Recorder(FullDisk(), FakeClock(), flush_after=0.0)
        recorder(Warned("a"))
        for _ in range(3):
            await asyncio.sleep(0)
        recorder(Warned("b"))

    with pytest.raises(StoreError, match="disk is full"):
        asyncio.run(publish())


class SetBack(FakeClock):
    """Its time of day jumps an hour back with every look; what it measures goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def now(self) -> float:
        self.looks += 1
        return self.time - 3600.0 * self.looks


def test_a_clock_that_is_set_back_neither_gives_time_back_nor_stretches_a_delay() -> None:
    loop = Loop(
        ScriptedAgent([Turn("no")]),
        {"pace": Pace(2.0), "budget": Budget(seconds=9.0)},
        clock=SetBack(),
    )
    result = loop.run()
    assert (result.outcome, result.iterations) == (Outcome.EXHAUSTED, 5)
    assert sum(loop.clock.slept) == 9.0


def test_the_time_of_a_pause_counts_before_the_next_launch() -> None:
    class Paused(StopToken):
        async def checkpoint(self) -> bool:
            if agent.prompts:
                clock.time += 60.0
            return await super().checkpoint()

    async def run() -> RunResult:
        journal = MemoryJournal()
        return await run_loop(
            LoopParts(
                agent=agent,
                journal=journal,
                clock=clock,
                control=Paused(),
                publish=Recorder(journal, clock),
                work=PromptWork(lambda: "task"),
                budget=Budget(seconds=30.0),
            )
        )

    agent, clock = ScriptedAgent([Turn("no")]), FakeClock()
    result = asyncio.run(run())
    assert (result.outcome, result.iterations) == (Outcome.EXHAUSTED, 1)


def test_what_a_session_cost_is_known_even_if_it_cannot_be_judged_or_taken_in() -> None:
    class Broken(PromptWork):
        async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
            message = "the work cannot be written"
            raise StoreError(message)

    agent = ScriptedAgent([Turn(DONE, spend=Spend(cost_usd=0.5))])
    loop = Loop(agent, {"work": Broken(lambda: "task")})
    with pytest.raises(StoreError):
        loop.run()
    (end,) = loop.events(RunEnded)
    assert (end.outcome, end.spend.cost_usd) == (Outcome.FAILED, 0.5)
    assert loop.journal.states[-1].spend.cost_usd == 0.5


@dataclass
class ForgetfulJudge:
    """Its session costs 0.25, of which its result says nothing, or it fails before there is one."""

    fails: bool
    name: str = "judge"
    command: str = ""
    when: When = When.ALWAYS

    async def run(self, judging: Judging) -> CheckResult:
        judging.publish(AgentEnded("exited", 0, 1.0, Spend(cost_usd=0.25)))
        if self.fails:
            message = "git: object not found"
            raise GitFailed(message)
        return CheckResult(self.name, Verdict.PASSED)


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_judge_cost_is_known_even_if_nobody_says_so(fails: bool) -> None:
    loop = Loop(ScriptedAgent([Turn(DONE, spend=Spend(cost_usd=0.5))]), {"checks": [ForgetfulJudge(fails)]})
    with pytest.raises(GitFailed) if fails else nullcontext():
        loop.run()
    (end,) = loop.events(RunEnded)
    assert end.spend.cost_usd == 0.75
    assert loop.journal.states[-1].spend.cost_usd == 0.75


@dataclass
class LimitedJudge:
    """Cannot be asked the first ``times``; then it says yes."""

    obstacle: Obstacle
    times: int = 1
    asked: int = 0
    name: str = "judge"
    command: str = ""
    when: When = When.ON_CLAIM

    async def run(self, judging: Judging) -> CheckResult:
        self.asked += 1
        if self.asked > self.times:
            return CheckResult(self.name, Verdict.PASSED)
        return CheckResult(self.name, Verdict.ERRORED, hindrance=Hindrance(self.obstacle, "limited"))


def test_a_judge_who_cannot_answer_is_asked_again_without_another_session() -> None:
    judge = LimitedJudge(Obstacle.RATE_LIMITED, times=2)
    agent = ScriptedAgent([Turn(DONE), Turn("a second session")])
    loop = Loop(agent, {"checks": [judge]})

    result = loop.run()

    assert (result.outcome, result.iterations, judge.asked) == (Outcome.COMPLETED, 1, 3)
    assert len(agent.prompts) == 1
    assert sum(loop.clock.slept) == 60.0 + 120.0
    assert [(e.iteration, e.attempt) for e in loop.events(IterationStarted)] == [(1, 1), (1, 2), (1, 3)]


def test_work_that_a_budget_left_unjudged_is_judged_first_when_the_run_is_resumed() -> None:
    judge = LimitedJudge(Obstacle.LIMIT_REACHED)
    agent = ScriptedAgent([Turn(DONE), Turn("a second session")])
    loop = Loop(agent, {"checks": [judge]})

    first = loop.run()

    assert (first.outcome, first.iterations) == (Outcome.EXHAUSTED, 0)
    again = loop.run(first.state)
    assert (again.outcome, again.iterations) == (Outcome.COMPLETED, 1)
    assert len(agent.prompts) == 1


@pytest.mark.parametrize(
    ("requests", "verdict", "reason"), [(1, Verdict.FAILED, ""), (2, Verdict.ERRORED, "it was stopped")]
)
def test_a_check_that_a_stop_may_have_cut_off_says_nothing_about_the_work(
    requests: int, verdict: Verdict, reason: str
) -> None:
    tokens: list[StopToken] = []

    def fail(_: Judging) -> bool:
        for _number in range(requests):
            tokens[0].request()
        return False

    checks = [ScriptedCheck("tests", fail, Feedback("1 failed"))]
    loop = Loop(ScriptedAgent([Turn(DONE)]), {"checks": checks}, setup=tokens.append)
    assert loop.run().outcome is Outcome.CANCELLED
    [ended] = loop.events(CheckEnded)
    assert (ended.result.verdict, ended.result.reason) == (verdict, reason)
    assert ended.result.feedback is None, "no prompt follows that could have it"
