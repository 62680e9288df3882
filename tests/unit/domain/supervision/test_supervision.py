"""The rules of the supervised loop: figures, crash backoff, what a launch counts as, words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.loop.session_report import AgentReport, Ending, Fatal, Fault, RateLimited, Spend, Transient
from ralph.domain.loop.state import LoopState
from ralph.domain.supervision.rules import (
    CrashBackoff,
    Launches,
    RestartPace,
    Supervision,
    as_launch,
    completed_line,
    restart_lines,
    span,
)

CRASH = AgentReport(exit_code=1, is_orderly=False, spend=Spend(seconds=0.1))
LONG_CRASH = replace(CRASH, spend=Spend(seconds=60.0))
CLEAN = AgentReport(exit_code=0, spend=Spend(seconds=0.1))


def pace(delay: float, reports: list[AgentReport], *, chance: float = 0.5) -> float:
    launches = Launches()
    for report in reports:
        launches.count(report)
    return RestartPace(delay=delay, launches=launches, chance=lambda: chance, now=lambda: 0.0).delay_after(
        LoopState()
    )


@pytest.mark.parametrize(
    ("crashes", "expected"), [(0, 1.0), (5, 1.0), (6, 2.0), (7, 4.0), (8, 8.0), (40, 120.0)]
)
def test_the_delay_doubles_from_the_sixth_fast_failure_on(crashes: int, expected: float) -> None:
    assert pace(1.0, [CRASH] * crashes) == expected


@pytest.mark.parametrize("reset", [LONG_CRASH, CLEAN])
def test_a_long_run_or_a_clean_exit_resets_the_backoff(reset: AgentReport) -> None:
    assert pace(1.0, [*[CRASH] * 9, reset]) == 1.0


def test_without_a_delay_there_is_no_backoff() -> None:
    assert pace(0.0, [CRASH] * 50) == 0.0


def test_nothing_is_waited_for_once_the_work_was_accepted() -> None:
    accepted = RestartPace(delay=9.0, chance=lambda: 0.5, now=lambda: 0.0).delay_after(
        LoopState(accepted="root")
    )
    assert accepted == 0.0


def test_a_usage_limit_is_waited_out_between_two_launches() -> None:
    launches = Launches(limited_until=500.0)
    assert (
        RestartPace(delay=1.0, launches=launches, chance=lambda: 0.5, now=lambda: 100.0).delay_after(
            LoopState()
        )
        == 400
    )


def test_a_limit_that_cannot_be_right_is_not_believed() -> None:
    launches = Launches(limited_until=1e12)
    assert (
        RestartPace(delay=1.0, launches=launches, chance=lambda: 0.5, now=lambda: 100.0).delay_after(
            LoopState()
        )
        == 1.0
    )


@given(st.floats(0.01, 1000), st.integers(0, 10_000), st.floats(0, 1))
def test_the_backoff_is_never_shorter_than_three_quarters_and_always_bounded(
    delay: float, failures: int, chance: float
) -> None:
    waited = CrashBackoff().delay(delay, failures, chance)
    assert 0.75 * delay <= waited <= 1.25 * max(120.0, delay)


@pytest.mark.parametrize("fault", [Transient("network"), RateLimited("limit", 9.0), None])
def test_a_passing_fault_is_only_how_a_launch_ended(fault: Fault | None) -> None:
    assert as_launch(replace(CRASH, fault=fault), is_done=False, waits_for_limits=True).fault is None


def test_a_fatal_fault_stays_unless_the_work_is_done() -> None:
    broken = replace(CRASH, fault=Fatal("not found"))
    assert as_launch(broken, is_done=False, waits_for_limits=True).fault == Fatal("not found")
    assert as_launch(broken, is_done=True, waits_for_limits=True).fault is None


def test_who_does_not_wait_for_limits_is_told_of_them() -> None:
    limited = replace(CRASH, fault=RateLimited("limit"))
    assert as_launch(limited, is_done=False, waits_for_limits=False).fault == RateLimited("limit")


@pytest.mark.parametrize(
    "wrong",
    [
        Supervision(max_restarts=0),
        Supervision(restart_delay=-1),
        Supervision(restart_delay=float("nan")),
        Supervision(wait_timeout=float("inf")),
        Supervision(poll_interval=0),
        Supervision(agent_timeout=0),
        Supervision(done_grace=-0.1),
    ],
)
def test_a_figure_that_makes_no_sense_is_named(wrong: Supervision) -> None:
    assert wrong.problem()


def test_the_defaults_are_the_documented_ones() -> None:
    usual = Supervision()
    assert (usual.max_restarts, usual.restart_delay, usual.wait_timeout, usual.poll_interval) == (
        100,
        1.0,
        300.0,
        1.0,
    )
    assert usual.problem() is None


@pytest.mark.parametrize(
    ("report", "lines"),
    [
        (CRASH, ["Agent failed with exit code 1, restarting (attempt 2/100)"]),
        (CLEAN, ["Agent exited with code 0 without DONE, restarting (attempt 2/100)"]),
        (
            replace(CRASH, ending=Ending.TIMED_OUT),
            [
                "Agent timeout after 5m0s, killing process group",
                "Process group killed, treating as failure",
                "Restarting agent (attempt 2/100)",
            ],
        ),
    ],
)
def test_the_log_says_what_happened_and_which_attempt_comes_next(
    report: AgentReport, lines: list[str]
) -> None:
    assert list(restart_lines(report, launches=1, maximum=100, agent_timeout=300.0)) == lines


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (CRASH, "Agent failed with exit code 1, no restart is left"),
        (replace(CRASH, ending=Ending.TIMED_OUT), "No restart is left"),
    ],
)
def test_after_the_last_launch_no_restart_is_promised(report: AgentReport, line: str) -> None:
    assert restart_lines(report, launches=3, maximum=3, agent_timeout=None)[-1] == line


def test_the_completion_names_active_children_only_if_there_are_some() -> None:
    assert completed_line([]) == "task completed (DONE marker present, no active children)"
    assert "2 active children left" in completed_line(["a", "b"])


@pytest.mark.parametrize(("seconds", "text"), [(0.5, "0.5s"), (300, "5m0s"), (3725, "1h2m5s")])
def test_durations_are_written_with_their_units(seconds: float, text: str) -> None:
    assert span(seconds) == text
