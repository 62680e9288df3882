from __future__ import annotations

import pytest

from ralph.adapters.storage.wire import decode_state, encode_state
from ralph.domain.agent.events import Usage
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.claims import Tag
from ralph.domain.loop.decision import Accept, Continue, Outcome, Retry, Stop, Troubles
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import AgentReport, Hindrance, Obstacle, RateLimited, Spend, Transient
from ralph.domain.loop.state import LoopState

JUDGED = Evidence(AgentReport(text="x"))


def test_a_judged_session_counts_and_leaves_its_feedback() -> None:
    state = LoopState().launching("a").after(JUDGED, Continue("why", (Feedback("red"),)))
    assert (state.iteration, state.attempt, state.feedback) == (1, 0, (Feedback("red"),))


def test_a_retry_is_not_counted_and_keeps_the_feedback() -> None:
    before = LoopState(iteration=2, assignment="a", feedback=(Feedback("red"),)).launching("a")
    after = before.after(JUDGED, Retry("529"))
    assert (after.iteration, after.attempt, after.feedback) == (2, 1, (Feedback("red"),))


def test_feedback_is_for_its_own_assignment_only() -> None:
    state = LoopState(assignment="T-1/coder", feedback=(Feedback("T-1 is red"),))
    assert state.launching("T-2/coder").feedback == ()
    assert state.launching("T-1/coder").feedback == (Feedback("T-1 is red"),)


def test_a_limit_waited_out_does_not_use_up_the_retries() -> None:
    limited = Evidence(AgentReport(fault=RateLimited("limit")))
    failed = Evidence(AgentReport(fault=Transient("529")))
    state = LoopState(troubles=Troubles(faults=2))
    assert state.after(limited, Retry("limit", 60)).troubles == Troubles(limits=1)
    assert state.after(failed, Retry("529", 5)).troubles == Troubles(faults=3)
    assert state.after(JUDGED, Continue("on")).troubles == Troubles()


def test_the_same_concern_is_told_once() -> None:
    assert LoopState().concerned("push failed").concerned("push failed").concerns == ("push failed",)


def test_a_session_the_user_cut_off_is_not_counted() -> None:
    state = LoopState(iteration=2).launching("a").after(JUDGED, Stop(Outcome.CANCELLED, "stopped"))
    assert state.iteration == 2


def test_acceptance_clears_the_feedback() -> None:
    assert LoopState(feedback=(Feedback("red"),)).after(JUDGED, Accept("ok")).feedback == ()


def test_the_same_fingerprint_in_a_row_is_counted() -> None:
    state = LoopState()
    for fingerprint in ("a", "a", "a", "b"):
        state = state.after(Evidence(AgentReport(), fingerprint=fingerprint), Continue("on"))
        if fingerprint == "b":
            assert state.unchanged == 0
    assert (
        LoopState(fingerprint="a", unchanged=1)
        .after(Evidence(AgentReport(), fingerprint="a"), Continue("on"))
        .unchanged
        == 2
    )


def test_without_fingerprints_nothing_is_stuck() -> None:
    assert LoopState().after(JUDGED, Continue("on")).unchanged == 0


def test_a_clock_that_goes_back_gives_no_time_back() -> None:
    assert LoopState(seconds=7.0).resumed(Spend(), seconds=0.0).seconds == 7.0
    assert LoopState(seconds=7.0).resumed(Spend(), seconds=10.0).seconds == 10.0


@pytest.mark.parametrize(
    ("budget", "state", "reason"),
    [
        (Budget(iterations=2), LoopState(iteration=1), None),
        (Budget(iterations=2), LoopState(iteration=2), "maximum iterations reached (2)"),
        (
            Budget(iterations=2),
            LoopState(iteration=2, failing=("lint", "canary")),
            "maximum iterations reached (2); still failing: lint, planted failing test",
        ),
        (Budget(cost_usd=1.0), LoopState(spend=Spend(cost_usd=1.5)), "budget reached: $1.50 of $1.00"),
        (Budget(cost_usd=1.0), LoopState(), None),
        (Budget(tokens=10), LoopState(spend=Spend(usage=Usage(5, 5))), "budget reached: 10 of 10 tokens"),
        (Budget(seconds=60), LoopState(seconds=60.0), "time is over: 60 s"),
        (Budget(stuck_after=3), LoopState(unchanged=3), "stuck: 3 iterations in a row changed nothing"),
        (Budget(stuck_after=3), LoopState(repeated=3), "stuck: 3 iterations in a row failed in the same way"),
        (
            Budget(stuck_after=3),
            LoopState(unchanged=3, failing=("lint", "external `make test`")),
            "stuck: 3 iterations in a row changed nothing; still failing: lint, external `make test`",
        ),
        (Budget(stuck_after=0), LoopState(unchanged=99), None),
        (Budget(stuck_after=0), LoopState(unchanged=99, green=99), None),
        (Budget(stuck_after=5), LoopState(unchanged=2, green=9), None),
        (
            Budget(stuck_after=5),
            LoopState(unchanged=3, green=4),
            "every check passes, but the agent never said that it is done, and 3 iterations in a row changed nothing",
        ),
        (
            Budget(iterations=2),
            LoopState(iteration=2, green=1),
            "maximum iterations reached (2); every check passes, but the agent never said that it is done",
        ),
        (Budget(), LoopState(iteration=10**6), None),
    ],
)
def test_a_budget_says_why_no_further_launch_is_allowed(
    budget: Budget, state: LoopState, reason: str | None
) -> None:
    assert budget.exceeded(state) == reason


def test_spend_adds_and_unknown_money_is_not_zero() -> None:
    assert Spend() + Spend() == Spend()
    assert (Spend(cost_usd=1.0) + Spend(seconds=2.0)).cost_usd == 1.0


def hindered(obstacle: Obstacle) -> Evidence:
    judge = CheckResult("judge", Verdict.ERRORED, hindrance=Hindrance(obstacle, "x"))
    return Evidence(AgentReport(text="all of it", tags=(Tag("promise", "P"),)), results=(judge,))


@pytest.mark.parametrize(
    ("obstacle", "decision"),
    [
        (Obstacle.RATE_LIMITED, Retry("x")),
        (Obstacle.RATE_LIMITED, Stop(Outcome.WAITING, "x")),
        (Obstacle.LIMIT_REACHED, Stop(Outcome.EXHAUSTED, "x")),
        (Obstacle.FATAL, Stop(Outcome.FAILED, "x")),
    ],
)
def test_a_session_that_nobody_could_judge_is_kept_for_the_same_assignment(
    obstacle: Obstacle, decision: Retry | Stop
) -> None:
    after = LoopState().launching("a").after(hindered(obstacle), decision)
    saved = decode_state(encode_state(after))
    assert saved == after
    assert saved.iteration == 0
    again = saved.launching("a").unjudged
    assert again is not None
    assert again.report == hindered(obstacle).report
    assert saved.launching("b").unjudged is None
    assert saved.launching("a").after(JUDGED, Continue("no")).unjudged is None


def test_waiting_for_a_judge_uses_up_no_retries() -> None:
    state = LoopState().launching("a").after(hindered(Obstacle.RATE_LIMITED), Retry("x"))
    assert state.troubles == Troubles(limits=1)
    assert state.after(hindered(Obstacle.TRANSIENT), Retry("x")).troubles == Troubles(faults=1)
