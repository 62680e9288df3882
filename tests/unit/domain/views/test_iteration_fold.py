"""The fold of a run's events into iterations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.agent.events import Text, ToolEnded, ToolStarted
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    RunEnded,
    RunStarted,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend, Transient
from ralph.domain.views.iterations import ERRORS_KEPT, WORDS_KEPT, IterationView, Timeline, fold_iterations

EACH = IterationView(iteration=1, attempt=1, started_at=1.0, first_seq=1)
FAILING = (CheckResult("tests", Verdict.FAILED),)


def started(iteration: int, attempt: int = 1) -> IterationStarted:
    return IterationStarted(iteration, attempt, None, "prompt", prompt="Do it.", prompt_chars=6)


def ended(iteration: int, decision: str = "continue") -> IterationEnded:
    return IterationEnded(iteration, 1, decision, "because", True, False, Spend(0.5), 2.0)


def views(*events: LoopEvent) -> list[IterationView]:
    return list(fold_iterations((number, float(number), event) for number, event in enumerate(events)))


def test_an_iteration_is_told_from_prompt_to_decision() -> None:
    check = CheckResult("tests", Verdict.FAILED, exit_code=1)
    (view,) = views(
        RunStarted("run", "basic", "claude", "/"),
        started(1),
        AgentStarted("claude -p", 7),
        AgentActed((Text("first"), ToolStarted("a", "Read"), ToolStarted("b", "Bash"))),
        AgentActed((ToolEnded("b", output="no such file", is_error=True), ToolStarted("c", "Read"))),
        AgentActed((Text("I am ", final=False), Text("done."))),
        AgentEnded("exited", 0, 1.0, Spend()),
        CheckEnded(check),
        ended(1),
        RunEnded(Outcome.EXHAUSTED, "", 1, Spend(), 1.0),
    )
    assert view.started_at == 1.0
    assert view.prompt == "Do it."
    assert view.command == "claude -p"
    assert view.activity.tools == {"Read": 2, "Bash": 1}
    assert [(error.tool, error.output) for error in view.activity.errors] == [("Bash", "no such file")]
    assert view.activity.last_words == "I am done."
    assert view.checks == (check,)
    assert (view.decision, view.reason, view.claimed, view.proven) == ("continue", "because", True, False)
    assert (view.spend.cost_usd, view.seconds) == (0.5, 2.0)


def test_a_start_without_an_end_stays_undecided() -> None:
    first, second = views(started(1), AgentActed((Text("half a"),)), started(1, 2), ended(1))
    assert (first.attempt, first.decision, first.activity.last_words) == (1, "", "half a")
    assert (second.attempt, second.decision) == (2, "continue")


def test_a_session_for_a_commit_message_is_not_what_the_agent_did() -> None:
    (view,) = views(
        started(1),
        AgentStarted("claude", 7),
        AgentActed((Text("the work"),)),
        AgentEnded("exited", 0, 1.0, Spend()),
        AgentStarted("claude", 8, purpose="commit"),
        AgentActed((Text("Fix the parser"), ToolStarted("a", "Bash"))),
        AgentEnded("exited", 1, 1.0, Spend(), fault=Transient("overloaded"), purpose="commit"),
        ended(1),
    )
    assert view.activity.last_words == "the work"
    assert not view.activity.tools
    assert (view.exit_code, view.fault) == (0, "")


def test_the_words_of_a_sub_agent_are_not_the_agents() -> None:
    (view,) = views(started(1), AgentActed((Text("mine"), Text("another's", parent="tool"))))
    assert view.activity.last_words == "mine"


def test_a_talkative_session_is_kept_short() -> None:
    pieces = tuple(Text("x" * 1000, final=False) for _ in range(100))
    errors = tuple(ToolEnded(str(number), "Bash", is_error=True) for number in range(100))
    (view,) = views(started(1), AgentActed(pieces), AgentActed(errors))
    assert len(view.activity.last_words) == WORDS_KEPT
    assert len(view.activity.errors) == ERRORS_KEPT
    assert view.activity.error_count == 100


@pytest.mark.parametrize(
    ("each", "denied"),
    [
        (replace(EACH, claimed=True, decision="continue", checks=FAILING), True),
        (replace(EACH, claimed=True, decision="accept"), False),  # the profile asks for no proof
        (
            replace(EACH, claimed=True, decision="stop"),
            False,
        ),  # the user stopped it before anything was checked
        (replace(EACH, claimed=True, decision="stop", checks=(CheckResult("t", Verdict.SKIPPED),)), False),
        (replace(EACH, claimed=False, decision="continue", checks=FAILING), False),
        (replace(EACH, claimed=True, checks=FAILING), False),  # not judged yet
    ],
)
def test_a_claim_is_denied_only_by_a_check_that_failed(each: IterationView, denied: bool) -> None:
    assert each.denied is denied


@pytest.mark.parametrize(
    ("role", "assignment", "step"),
    [("coder", "T-1/coder", "T-1/coder"), ("coder", "T-1", "coder T-1"), ("", "prompt", "")],
)
def test_a_step_names_its_role_once(role: str, assignment: str, step: str) -> None:
    assert replace(EACH, role=role, assignment=assignment).step == step


def test_what_follows_the_end_of_a_run_is_no_part_of_its_last_iteration() -> None:
    over = RunEnded(Outcome.CANCELLED, "", 1, Spend(), 1.0)
    late = CheckEnded(CheckResult("tests", Verdict.FAILED))
    (view,) = views(started(1), ended(1), over, RunStarted("run", "basic", "claude", "/"), late)
    assert (view.last_seq, view.checks) == (2, ())


@pytest.mark.parametrize(("seq", "iteration"), [(0, None), (1, 1), (3, 1), (4, 2), (99, 2)])
def test_an_event_belongs_to_the_iteration_that_began_last(seq: int, iteration: int | None) -> None:
    timeline = Timeline()
    for number, event in enumerate((started(1), None, ended(1), started(2)), 1):
        timeline.take(number, 1.0, event)
    found = timeline.iteration_at(seq)
    assert (found.iteration if found is not None else None) == iteration
