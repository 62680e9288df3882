"""The supervised algorithm, on the real loop: with a clock that only sleeping moves and a scripted agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.signals.done_file import DoneFile
from ralph.adapters.signals.probes import ExitCodeProbe, MarkerFileProbe
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.loop.decision import Outcome, Rules
from ralph.domain.loop.events import PauseBegan, Warned
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import Fatal, Hindrance, Obstacle, RateLimited, Spend, Transient
from ralph.domain.loop.state import LoopState
from ralph.domain.supervision.rules import Launches, RestartPace, Supervision
from ralph.engine.agents.restarted import RootAgent
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.ports import Agent, AgentRequest, Check, Judging, Probe, When
from ralph.engine.stop_token import StopToken
from ralph.engine.supervision.children import Family, FamilyAgent, SettledProbe
from ralph.engine.supervision.work import SupervisedWork
from ralph.errors import StoreError
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal
from ralph.testing.scripted_agent import ScriptedAgent, Turn
from ralph.testing.scripted_check import ScriptedCheck


@dataclass
class Limited:
    """A check whose judge cannot be asked the first ``times``, and costs money each time; then it passes."""

    times: int = 1
    obstacle: Obstacle = Obstacle.RATE_LIMITED
    tasks: list[str] = field(default_factory=list)
    name: str = "review"
    command: str = ""
    when: When = When.ALWAYS

    async def run(self, judging: Judging) -> CheckResult:
        self.tasks.append(judging.assignment.objective)
        spend = Spend(cost_usd=0.25)
        if len(self.tasks) > self.times:
            return CheckResult(self.name, Verdict.PASSED, spend=spend, concern="tests were changed")
        return CheckResult(
            self.name, Verdict.ERRORED, spend=spend, hindrance=Hindrance(self.obstacle, "limit")
        )


@dataclass
class Supervised:
    """One supervised run in a folder, and what became of it."""

    folder: Path
    turns: Sequence[Turn]
    figures: Supervision = field(default_factory=Supervision)
    checks: Sequence[Check] = ()
    active: Callable[[], Sequence[str]] = tuple
    failures: Callable[[], Sequence[str]] = tuple
    max_time: float | None = None
    first_probes: Sequence[Probe] = ()
    waits: Callable[[], str] = str
    wait_for_limits: bool = True
    stop_first: bool = False
    state: LoopState = field(default_factory=LoopState)
    clock: FakeClock = field(default_factory=FakeClock)
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    requests: list[AgentRequest] = field(default_factory=list)
    agent: ScriptedAgent = field(init=False)
    token: StopToken = field(init=False)
    children_stopped: int = 0

    @property
    def done(self) -> Path:
        return self.folder / "DONE"

    def run(self) -> RunResult:
        return asyncio.run(self._run())

    async def _run(self) -> RunResult:
        done, marker = DoneFile(self.done), self.folder / "WAIT_WITHOUT_RESTART"
        launches = Launches()
        self.agent = ScriptedAgent([self._noted(turn) for turn in self.turns])
        self.token = StopToken()
        if self.stop_first:
            self.token.request()

        def publish(event: Any) -> None:
            self.journal.append(event, at=self.clock.now())

        family = Family(
            self,
            self.figures,
            is_done=done.exists,
            clock=self.clock,
            control=self.token,
            publish=publish,
            time_over=self._time_over,
        )
        agent: Agent = RootAgent(
            self.agent, launches, is_done=done.exists, waits_for_limits=self.wait_for_limits
        )
        return await run_loop(
            LoopParts(
                work=SupervisedWork(
                    lambda: "go on",
                    done,
                    self.figures,
                    waits=self.waits,
                    family=family,
                    environment={"TASK_FOLDER": str(self.folder)},
                    control=self.token,
                    publish=publish,
                    checks=self.checks,
                    time_over=self._time_over,
                ),
                agent=FamilyAgent(agent, family, is_done=done.exists) if self.checks else agent,
                probes=[
                    *self.first_probes,
                    SettledProbe(done, self) if self.checks else done,
                    ExitCodeProbe(42, Claim.WAITING),
                    MarkerFileProbe(marker, Claim.WAITING),
                ],
                checks=self.checks,
                rules=Rules(faults_count=True, wait_for_limits=self.wait_for_limits),
                budget=Budget(iterations=self.figures.max_restarts, seconds=self.max_time),
                pace=RestartPace(
                    delay=self.figures.restart_delay,
                    launches=launches,
                    chance=lambda: 0.5,
                    now=self.clock.now,
                ),
                journal=self.journal,
                clock=self.clock,
                control=self.token,
                publish=publish,
                state=self.state,
            )
        )

    def stop(self) -> None:
        self.children_stopped += 1

    def _time_over(self) -> str | None:
        over = self.max_time is not None and sum(self.clock.slept) >= self.max_time
        return "time is over" if over else None

    def _noted(self, turn: Turn) -> Turn:
        def does(request: AgentRequest) -> None:
            self.requests.append(request)
            turn.does(request)

        return Turn(turn.text, does, turn.exit_code, turn.fault, turn.spend)

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.journal.events if isinstance(event, Warned)]


def finishes(folder: Path, **more: Any) -> Turn:
    return Turn("ok", does=lambda request: (folder / "DONE").touch(), **more)


def test_a_done_file_before_the_run_completes_it_without_a_launch(tmp_path: Path) -> None:
    (tmp_path / "DONE").touch()
    supervised = Supervised(tmp_path, [Turn("never")])

    result = supervised.run()

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 0)
    before = "before this run, which launched no agent"
    assert result.reason == f"task completed {before} (DONE marker present, no active children)"
    assert not supervised.requests


@pytest.mark.parametrize("code", [0, 1, 137])
def test_any_exit_code_is_followed_by_another_launch_until_done_is_there(tmp_path: Path, code: int) -> None:
    supervised = Supervised(
        tmp_path, [Turn("a", exit_code=code), Turn("b", exit_code=code), finishes(tmp_path)]
    )

    result = supervised.run()

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 3)
    assert [request.environment["RALPH_ATTEMPT"] for request in supervised.requests] == ["0", "1", "2"]
    assert sum(supervised.clock.slept) == 2.0  # after each launch that was not the last


def test_the_agent_that_wrote_done_is_believed_whatever_its_exit_code(tmp_path: Path) -> None:
    result = Supervised(tmp_path, [finishes(tmp_path, exit_code=3, fault=Transient("crash"))]).run()
    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 1)


def test_the_last_allowed_launch_may_still_finish(tmp_path: Path) -> None:
    turns = [Turn("a"), Turn("b"), finishes(tmp_path)]
    result = Supervised(tmp_path, turns, Supervision(max_restarts=3)).run()
    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 3)


def test_no_restart_is_left_after_as_many_launches_as_were_allowed(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, [Turn(exit_code=1)], Supervision(max_restarts=3, restart_delay=0))

    result = supervised.run()

    assert (result.outcome, result.reason) == (Outcome.EXHAUSTED, "max restarts exceeded (3)")
    assert len(supervised.requests) == result.iterations == 3
    assert supervised.warnings[0] == "Agent failed with exit code 1, restarting (attempt 2/3)"
    assert supervised.warnings[-1] == "Agent failed with exit code 1, no restart is left"


def test_a_stop_that_was_requested_comes_before_everything_else(tmp_path: Path) -> None:
    (tmp_path / "DONE").touch()
    supervised = Supervised(tmp_path, [Turn("never")], stop_first=True)

    result = supervised.run()

    assert result.outcome is Outcome.CANCELLED
    assert not supervised.requests


def test_a_stop_during_a_launch_is_heeded_before_any_delay(tmp_path: Path) -> None:
    def stop(request: AgentRequest) -> None:
        supervised.token.request()

    supervised = Supervised(tmp_path, [Turn(does=stop, exit_code=1)], Supervision(restart_delay=1000))

    assert supervised.run().outcome is Outcome.CANCELLED
    assert len(supervised.requests) == 1


@pytest.mark.parametrize("fault", [Transient("network"), None])
def test_an_empty_answer_or_passing_fault_counts_as_a_launch(tmp_path: Path, fault: Transient | None) -> None:
    turns = [Turn(exit_code=1, fault=fault)]
    supervised = Supervised(tmp_path, turns, Supervision(max_restarts=4, restart_delay=0))
    assert supervised.run().iterations == len(supervised.requests) == 4


def test_a_fatal_fault_ends_the_run(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, [Turn(fault=Fatal("cannot run x: command not found"))])

    result = supervised.run()

    assert (result.outcome, result.reason) == (Outcome.FAILED, "cannot run x: command not found")
    assert len(supervised.requests) == 1


def test_a_usage_limit_is_waited_out_and_the_launch_counts(tmp_path: Path) -> None:
    clock = FakeClock()
    limited = Turn(fault=RateLimited("limit", clock.now() + 3600))
    supervised = Supervised(tmp_path, [limited, finishes(tmp_path)], clock=clock)

    result = supervised.run()

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 2)
    assert sum(clock.slept) == pytest.approx(3600)


def test_who_does_not_wait_for_limits_ends_waiting(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, [Turn(fault=RateLimited("limit"))], wait_for_limits=False)
    assert supervised.run().outcome is Outcome.WAITING
    assert not supervised.warnings  # it is no word of the agent's


def test_a_crash_loop_slows_down_from_the_sixth_failure_on(tmp_path: Path) -> None:
    crash = Turn(exit_code=1, spend=Spend(seconds=0.1))
    supervised = Supervised(tmp_path, [crash], Supervision(max_restarts=8))

    supervised.run()

    pauses = [event for event in supervised.journal.events if isinstance(event, PauseBegan)]
    assert len(pauses) == 7  # after the last one there is nothing to wait for
    assert sum(supervised.clock.slept) == pytest.approx(5 * 1 + 2 + 4)


def test_a_done_that_could_not_be_judged_is_neither_accepted_nor_denied(tmp_path: Path) -> None:
    (tmp_path / "DONE").touch()
    supervised = Supervised(tmp_path, [Turn("never")], checks=[Limited()], wait_for_limits=False)

    result = supervised.run()

    assert (result.outcome, result.reason) == (Outcome.WAITING, "not judged yet: limit")
    assert supervised.done.exists()
    assert not supervised.requests


def test_whoever_judges_a_done_that_was_there_is_waited_for_told_the_task_and_paid(tmp_path: Path) -> None:
    (tmp_path / "DONE").touch()
    judge = Limited(times=2)
    supervised = Supervised(tmp_path, [Turn("never")], Supervision(max_restarts=1), checks=[judge])
    supervised.state = LoopState(iteration=1)  # no launch is left; that is no reason to hurry

    result = supervised.run()

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 1)
    assert judge.tasks == ["go on"] * 3
    assert result.spend.cost_usd == 0.75
    assert result.concerns == ("tests were changed",)
    assert sum(supervised.clock.slept) > 60
    assert not supervised.requests


def test_a_judge_that_is_limited_after_a_launch_is_waited_for_too(tmp_path: Path) -> None:
    judge = Limited(times=2)
    supervised = Supervised(tmp_path, [finishes(tmp_path)], checks=[judge])

    result = supervised.run()

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 1)
    assert len(supervised.requests) == 1, "only the judging is repeated"
    assert (len(judge.tasks), result.spend.cost_usd) == (3, 0.75)
    assert sum(supervised.clock.slept) > 60, "DONE is there, but that is no news"


@pytest.mark.parametrize(
    ("obstacle", "outcome"),
    [(Obstacle.FATAL, Outcome.FAILED), (Obstacle.LIMIT_REACHED, Outcome.EXHAUSTED)],
)
def test_a_judge_that_cannot_be_waited_for_ends_the_run(
    tmp_path: Path, obstacle: Obstacle, outcome: Outcome
) -> None:
    (tmp_path / "DONE").touch()
    supervised = Supervised(tmp_path, [Turn("never")], checks=[Limited(obstacle=obstacle)])

    assert supervised.run().outcome is outcome
    assert supervised.done.exists()


def test_a_stop_while_done_is_judged_denies_nothing(tmp_path: Path) -> None:
    (tmp_path / "DONE").touch()

    def stops(judging: Judging) -> bool:
        supervised.token.request()
        return False

    supervised = Supervised(tmp_path, [Turn("never")], checks=[ScriptedCheck("slow", stops, Feedback("cut"))])

    assert supervised.run().outcome is Outcome.CANCELLED
    assert supervised.done.exists()


def test_done_as_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "DONE").mkdir()
    with pytest.raises(StoreError, match="DONE is a directory"):
        Supervised(tmp_path, [Turn("never")]).run()


def test_done_as_a_directory_is_an_error_after_a_launch_too(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, [Turn(does=lambda request: (tmp_path / "DONE").mkdir())])
    with pytest.raises(StoreError, match="DONE is a directory"):
        supervised.run()
    assert len(supervised.requests) == 1


def test_a_link_that_leads_nowhere_is_no_done(tmp_path: Path) -> None:
    (tmp_path / "DONE").symlink_to(tmp_path / "nowhere")
    supervised = Supervised(tmp_path, [Turn("a")], Supervision(max_restarts=1))
    assert supervised.run().outcome is Outcome.EXHAUSTED


# --- waiting without restart ---


def test_exit_code_42_ends_the_run_waiting(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, [Turn(exit_code=42)])

    result = supervised.run()

    assert (result.outcome, result.iterations) == (Outcome.WAITING, 1)
    assert "exit 42" in result.reason
    assert "Wait-without-restart signal detected" in supervised.warnings


def test_the_marker_file_ends_the_run_waiting(tmp_path: Path) -> None:
    marker = tmp_path / "WAIT_WITHOUT_RESTART"
    assert Supervised(tmp_path, [Turn(does=lambda request: marker.touch())]).run().outcome is Outcome.WAITING


def test_done_beats_every_signal_to_wait(tmp_path: Path) -> None:
    (tmp_path / "WAIT_WITHOUT_RESTART").touch()
    assert Supervised(tmp_path, [finishes(tmp_path, exit_code=42)]).run().outcome is Outcome.COMPLETED


def test_a_signal_that_comes_between_two_launches_is_heeded_too(tmp_path: Path) -> None:
    said = iter(["", "somebody must decide"])
    supervised = Supervised(tmp_path, [Turn("a")], waits=lambda: next(said))

    result = supervised.run()

    assert (result.outcome, result.reason) == (Outcome.WAITING, "somebody must decide")
    assert len(supervised.requests) == 1


# --- guardrails ---


def test_a_done_that_a_guardrail_denies_is_kept_aside_and_told(tmp_path: Path) -> None:
    check = ScriptedCheck("tests", lambda judging: judging.iteration == 2, Feedback("tests fail"))
    supervised = Supervised(tmp_path, [finishes(tmp_path)], checks=[check])

    result = supervised.run()

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 2)
    assert (tmp_path / "DONE.rejected-1").exists()
    assert supervised.agent.prompts[1] == "go on\n\ntests fail"
    assert any("DONE.rejected-1" in warning for warning in supervised.warnings)


def test_a_done_from_before_the_run_must_be_proven_as_well(tmp_path: Path) -> None:
    (tmp_path / "DONE").touch()
    green: list[bool] = []
    check = ScriptedCheck("tests", lambda judging: bool(green), Feedback("tests fail"))

    def mends(request: AgentRequest) -> None:
        green.append(True)
        (tmp_path / "DONE").touch()

    supervised = Supervised(tmp_path, [Turn(does=mends)], checks=[check])

    result = supervised.run()

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 1)
    assert supervised.agent.prompts == ["go on\n\ntests fail"]
    assert (tmp_path / "DONE.rejected-1").exists()


def test_a_proven_done_from_before_the_run_needs_no_launch(tmp_path: Path) -> None:
    (tmp_path / "DONE").touch()
    supervised = Supervised(
        tmp_path, [Turn("never")], checks=[ScriptedCheck("tests", lambda judging: True, Feedback(""))]
    )
    assert supervised.run().outcome is Outcome.COMPLETED
    assert not supervised.requests


# --- children ---


def test_active_children_are_waited_for(tmp_path: Path) -> None:
    looks = iter([["child-1"], ["child-1"], []])
    supervised = Supervised(tmp_path, [finishes(tmp_path)], active=lambda: next(looks))

    result = supervised.run()

    assert result.reason == "task completed (DONE marker present, no active children)"
    assert sum(supervised.clock.slept) == 2.0


def test_children_that_outlast_the_wait_are_named_and_the_run_completes(tmp_path: Path) -> None:
    figures = Supervision(wait_timeout=5.0, poll_interval=2.0)
    supervised = Supervised(tmp_path, [finishes(tmp_path)], figures, active=lambda: ["child-1", "child-2"])

    result = supervised.run()

    assert result.outcome is Outcome.COMPLETED
    assert sum(supervised.clock.slept) == pytest.approx(5.0)
    assert supervised.warnings[-1] == "child runs still running after 5s: child-1, child-2"


def test_a_stop_ends_the_wait_for_children(tmp_path: Path) -> None:
    def children() -> Sequence[str]:
        supervised.token.request()
        return ["child-1"]

    supervised = Supervised(tmp_path, [finishes(tmp_path)], active=children)

    assert supervised.run().outcome is Outcome.COMPLETED
    assert supervised.warnings[-1] == "child runs still running: child-1"


def test_a_stop_at_once_ends_the_children_too(tmp_path: Path) -> None:
    def children() -> Sequence[str]:
        supervised.token.request(now=True)
        return ["child-1"]

    supervised = Supervised(tmp_path, [finishes(tmp_path)], active=children)
    supervised.run()
    assert supervised.children_stopped == 1


class Seen:
    """A check that notes which children were active when it judged."""

    name = "tests"
    command = ""
    when = When.ALWAYS

    def __init__(self, active: Callable[[], Sequence[str]]) -> None:
        self._active = active
        self.seen: list[Sequence[str]] = []

    async def run(self, judging: Judging) -> CheckResult:
        self.seen.append(self._active())
        return CheckResult(self.name, Verdict.PASSED)


@pytest.mark.parametrize("is_there", [False, True])
def test_nothing_is_judged_while_a_child_may_still_change_it(tmp_path: Path, is_there: bool) -> None:
    if is_there:
        (tmp_path / "DONE").touch()
    clock = FakeClock()
    children = lambda: ["child-1"] if sum(clock.slept) < 3 else []  # noqa: E731
    check = Seen(children)
    supervised = Supervised(
        tmp_path,
        [finishes(tmp_path)],
        active=children,
        clock=clock,
        checks=[check],
        failures=lambda: ["child run child-1 died"],
    )

    assert supervised.run().reason.endswith("(DONE marker present, no active children)")
    assert check.seen == [[]]
    assert supervised.warnings == ["child run child-1 died"]


def test_a_done_that_a_child_writes_after_the_launch_is_judged_when_the_child_ended(tmp_path: Path) -> None:
    class Late:
        """The child writes it when nobody waits for it any more."""

        async def look(self, judging: Judging) -> Sequence[Signal]:
            (tmp_path / "DONE").touch()
            return ()

    clock = FakeClock()
    children = lambda: ["child-1"] if sum(clock.slept) < 3 else []  # noqa: E731
    check = Seen(children)
    supervised = Supervised(
        tmp_path, [Turn("a")], active=children, clock=clock, checks=[check], first_probes=[Late()]
    )

    assert supervised.run().outcome is Outcome.COMPLETED
    assert check.seen[-1] == []
    assert len(supervised.requests) == 1


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(
    ("figures", "max_time", "reason", "stopped"),
    [
        (
            Supervision(wait_timeout=5, poll_interval=60),
            None,
            "child runs still running after 5s: child-1",
            0,
        ),
        (Supervision(poll_interval=60), 4.0, "time is over", 1),
    ],
    ids=["--wait-timeout", "--max-time"],
)
def test_children_that_outlast_a_limit_keep_done_unjudged(
    tmp_path: Path, is_there: bool, figures: Supervision, max_time: float | None, reason: str, stopped: int
) -> None:
    if is_there:
        (tmp_path / "DONE").touch()
    check = Seen(tuple)
    supervised = Supervised(
        tmp_path,
        [finishes(tmp_path)],
        figures,
        active=lambda: ["child-1"],
        checks=[check],
        max_time=max_time,
    )

    result = supervised.run()

    assert (result.outcome, result.reason) == (Outcome.EXHAUSTED, f"DONE is not judged yet: {reason}")
    assert not check.seen
    assert supervised.done.exists()
    assert supervised.children_stopped == stopped
    assert sum(supervised.clock.slept) <= 5.0


@pytest.mark.parametrize("now", [False, True])
def test_a_stop_while_children_run_judges_nothing(tmp_path: Path, now: bool) -> None:
    def children() -> Sequence[str]:
        supervised.token.request(now=now)
        return ["child-1"]

    check = Seen(tuple)
    supervised = Supervised(tmp_path, [finishes(tmp_path)], active=children, checks=[check])

    assert supervised.run().outcome is Outcome.CANCELLED
    assert not check.seen
    assert supervised.children_stopped == now


def test_a_done_that_is_taken_back_while_children_run_is_no_done(tmp_path: Path) -> None:
    def children() -> Sequence[str]:
        supervised.done.unlink(missing_ok=True)
        return ["child-1"]

    turns = [finishes(tmp_path), Turn("b")]
    check = Seen(tuple)
    supervised = Supervised(tmp_path, turns, Supervision(max_restarts=2), active=children, checks=[check])

    assert (supervised.run().outcome, len(supervised.requests)) == (Outcome.EXHAUSTED, 2)


def test_a_resumed_run_counts_on_from_where_it_was(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, [Turn(exit_code=1)], Supervision(max_restarts=5, restart_delay=0))
    supervised.state = LoopState(iteration=3)

    assert supervised.run().iterations == 5
    assert [request.environment["RALPH_ATTEMPT"] for request in supervised.requests] == ["3", "4"]
