"""Events in, figures out, and their text for Prometheus."""

from __future__ import annotations

from collections import Counter

import pytest

from ralph.domain.agent.events import Usage
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    ActionEnded,
    AgentEnded,
    CheckEnded,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    RunEnded,
    RunPaused,
    RunStarted,
    RunUnpaused,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Ending, Spend, Transient
from ralph.domain.telemetry.exposition import expose
from ralph.domain.telemetry.measurements import CHECK_TIME, CHECKS, KINDS, METRICS, Measuring

SPEND = Spend(0.5, Usage(10, 5, 80, 0))


def figures(*events: LoopEvent) -> dict[str, float]:
    """One event a second; by the metric's name and the values of its labels."""
    fold, sums = Measuring(), Counter[str]()
    for at, event in enumerate(events):
        for metric, value, labels in fold.take(event, float(at)):
            sums[" ".join((metric.name, *(text for _, text in labels)))] += value  # type: ignore[assignment]
    return dict(sums)


def check(verdict: Verdict, *, required: bool = True) -> CheckEnded:
    return CheckEnded(CheckResult("tests", verdict, required=required, seconds=2.0))


def ended(decision: str, *, claimed: bool = True) -> IterationEnded:
    return IterationEnded(1, 1, decision, "", claimed, False, Spend(), 1.0)


BEGUN = IterationStarted(1, 1, None, "prompt")


@pytest.mark.parametrize(
    ("events", "denied"),
    [
        ((BEGUN, check(Verdict.FAILED), ended("continue")), 1),
        ((BEGUN, check(Verdict.ERRORED), ended("giveup")), 1),
        ((BEGUN, check(Verdict.FAILED), ended("stop")), 0),
        ((BEGUN, ActionEnded("git", False), ended("continue")), 1),
        ((BEGUN, check(Verdict.FAILED), ended("continue", claimed=False)), 0),
        ((BEGUN, check(Verdict.FAILED, required=False), ended("accept")), 0),
        ((BEGUN, check(Verdict.FAILED), ended("retry")), 0),
        ((BEGUN, check(Verdict.PASSED), ended("continue")), 0),
        ((BEGUN, check(Verdict.FAILED), BEGUN, ended("continue")), 0),
    ],
)
def test_which_claims_were_denied(events: tuple[LoopEvent, ...], denied: int) -> None:
    assert figures(*events).get("ralph.denied_claims", 0) == denied


def test_a_session_is_its_cost_tokens_time_and_fault() -> None:
    assert figures(AgentEnded(Ending.EXITED, 1, 7.0, SPEND, fault=Transient("x"))) == {
        "ralph.sessions iteration exited transient": 1,
        "ralph.session.time iteration": 7.0,
        "ralph.cost": 0.5,
        "ralph.tokens input": 10,
        "ralph.tokens output": 5,
        "ralph.tokens cache_read": 80,
    }


def test_waits_are_measured_until_something_is_done_again() -> None:
    found = figures(PauseBegan("", 9.0, "offline"), Warned("x"), BEGUN, RunPaused(), RunUnpaused(), BEGUN)
    assert found == {
        "ralph.waits offline": 1,
        "ralph.wait.time offline": 2.0,
        "ralph.waits user": 1,
        "ralph.wait.time user": 1.0,
    }


def test_a_resumed_run_began_once_and_ends_twice() -> None:
    end = RunEnded(Outcome.CANCELLED, "", 1, SPEND, 1.0)
    again = RunStarted("r", "basic", "claude", "/", resumed=True)
    found = figures(RunStarted("r", "basic", "claude", "/"), end, again, end)
    assert found == {"ralph.runs.started": 1, "ralph.runs.ended cancelled": 2}


def test_the_record_is_asked_for_every_kind_that_counts() -> None:
    counted = (BEGUN, check(Verdict.PASSED), ended("accept"), PauseBegan("", 1.0), RunPaused(), RunUnpaused())
    assert {event.kind for event in counted} <= set(KINDS)


def test_the_text_for_prometheus() -> None:
    text = expose(
        {
            ("ralph_cost_usd_total", (("project", 'a"b\\c\nd'),)): 0.25,
            ("ralph_iterations_total", (("decision", "accept"),)): 3.0,
            ("ralph_record_readable", ()): 1,
        }
    )
    lines = text.splitlines()
    assert r'ralph_cost_usd_total{project="a\"b\\c\nd"} 0.25' in lines
    assert 'ralph_iterations_total{decision="accept"} 3' in lines
    assert "ralph_record_readable 1" in lines
    assert text.endswith("\n")
    for metric in METRICS:
        assert f"# TYPE {metric.exposed} counter" in lines
        assert metric.exposed.endswith("_total")


def test_a_name_of_any_encoding_is_text_that_can_be_sent() -> None:
    text = expose({("ralph_record_readable", (("project", "caf\udce9"),)): 1})
    assert 'ralph_record_readable{project="caf?"} 1' in text.encode().decode()


@pytest.mark.parametrize("seconds", [1e308, -5.0, float("inf"), float("nan")])
def test_what_cannot_be_is_not_counted(seconds: float) -> None:
    measuring = Measuring()
    odd = CheckEnded(CheckResult("tests", Verdict.FAILED, seconds=seconds))
    usual = CheckEnded(CheckResult("tests", Verdict.FAILED, seconds=2.0))

    told = [*measuring.take(odd, 1.0), *measuring.take(usual, 2.0)]

    assert [one.value for one in told if one.metric is CHECK_TIME] == [2.0]
    assert [one.value for one in told if one.metric is CHECKS] == [1, 1]
