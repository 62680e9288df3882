"""``decide`` by tables and by properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.budget import Backoff
from ralph.domain.decision import (
    Accept,
    Acceptance,
    Continue,
    Decision,
    GiveUp,
    Outcome,
    Retry,
    Rules,
    Stop,
    decide,
    is_judgeable,
)
from ralph.domain.evidence import CheckResult, Evidence, Verdict
from ralph.domain.feedback import Feedback
from ralph.domain.report import AgentReport, Ending, Fatal, RateLimited, Transient
from ralph.domain.signals import Claim, Signal

DONE = Signal(Claim.DONE, "tag response")
WAITING = Signal(Claim.WAITING, "exit 42")
REJECTED = Signal(Claim.REJECTED, "tag reject", "no tests")
PASSED = CheckResult("tests", Verdict.PASSED)
FAILED = CheckResult("tests", Verdict.FAILED, feedback=Feedback("red"))
ERRORED = CheckResult("tests", Verdict.ERRORED)
SKIPPED = CheckResult("tests", Verdict.SKIPPED)
OPTIONAL = CheckResult("style", Verdict.FAILED, required=False)


def evidence(*facts: Signal | CheckResult, report: AgentReport | None = None) -> Evidence:
    return Evidence(
        report or AgentReport(text="worked"),
        tuple(fact for fact in facts if isinstance(fact, Signal)),
        tuple(fact for fact in facts if isinstance(fact, CheckResult)),
    )


@pytest.mark.parametrize(
    ("facts", "acceptance", "expected"),
    [
        pytest.param([DONE, PASSED], Acceptance.CLAIM_AND_PROOF, Accept, id="claimed and proven"),
        pytest.param([DONE], Acceptance.CLAIM_AND_PROOF, Accept, id="claimed, nothing denies it"),
        pytest.param([DONE, FAILED], Acceptance.CLAIM_AND_PROOF, Continue, id="a lie"),
        pytest.param([DONE, ERRORED], Acceptance.CLAIM_AND_PROOF, Continue, id="an errored check is no pass"),
        pytest.param(
            [DONE, SKIPPED], Acceptance.CLAIM_AND_PROOF, Continue, id="nor is a skipped required one"
        ),
        pytest.param([DONE, PASSED, OPTIONAL], Acceptance.CLAIM_AND_PROOF, Accept, id="optional failure"),
        pytest.param([PASSED], Acceptance.CLAIM_AND_PROOF, Continue, id="proof without claim"),
        pytest.param([PASSED], Acceptance.PROOF, Accept, id="proof is enough"),
        pytest.param([DONE, FAILED], Acceptance.CLAIM, Accept, id="claim is enough"),
        pytest.param([WAITING], Acceptance.CLAIM, Stop, id="waiting"),
        pytest.param([DONE, WAITING], Acceptance.CLAIM, Accept, id="done beats waiting"),
        pytest.param([REJECTED, PASSED], Acceptance.CLAIM_AND_PROOF, GiveUp, id="rejected"),
    ],
)
def test_what_follows_from_claims_and_proof(
    facts: list[Signal | CheckResult], acceptance: Acceptance, expected: type[Decision]
) -> None:
    assert isinstance(decide(evidence(*facts), Rules(acceptance=acceptance), attempt=1), expected)


def test_a_failed_check_tells_the_next_prompt() -> None:
    decision = decide(evidence(DONE, FAILED), Rules(), attempt=1)
    assert decision == Continue("claimed done, but failing: tests", (Feedback("red"),))


@pytest.mark.parametrize(
    ("report", "rules", "attempt", "expected"),
    [
        pytest.param(
            AgentReport(fault=Transient("529")),
            Rules(max_attempts=3),
            2,
            Retry("529", delay=10.0),
            id="again",
        ),
        pytest.param(
            AgentReport(fault=Transient("529")),
            Rules(max_attempts=3),
            3,
            Stop(Outcome.FAILED, "529 (attempt 3 of 3)"),
            id="too often",
        ),
        pytest.param(
            AgentReport(fault=RateLimited("5-hour limit", until=99.0)),
            Rules(),
            7,
            Retry("5-hour limit", until=99.0),
            id="waits for the reset, however often",
        ),
        pytest.param(
            AgentReport(fault=RateLimited("limit")),
            Rules(),
            1,
            Retry("limit", delay=300.0),
            id="no reset time",
        ),
        pytest.param(
            AgentReport(fault=RateLimited("limit", 99.0)),
            Rules(wait_for_limits=False),
            1,
            Stop(Outcome.WAITING, "limit"),
            id="told not to wait",
        ),
        pytest.param(
            AgentReport(fault=Fatal("not logged in", "log in")),
            Rules(faults_count=True),
            1,
            Stop(Outcome.FAILED, "not logged in", "log in"),
            id="fatal",
        ),
        pytest.param(
            AgentReport(ending=Ending.STOPPED),
            Rules(),
            1,
            Stop(Outcome.CANCELLED, "stopped by the user"),
            id="stopped",
        ),
        pytest.param(
            AgentReport(fault=Transient("crash")),
            Rules(faults_count=True),
            1,
            Continue("no claim of completion"),
            id="a crash that counts",
        ),
    ],
)
def test_what_follows_from_a_fault(
    report: AgentReport, rules: Rules, attempt: int, expected: Decision
) -> None:
    assert decide(evidence(report=report), rules, attempt=attempt) == expected


faults = st.one_of(
    st.none(),
    st.builds(Transient, st.text(max_size=5)),
    st.builds(RateLimited, st.text(max_size=5), st.none() | st.floats(0, 1e10)),
    st.builds(Fatal, st.text(max_size=5)),
)
reports = st.builds(AgentReport, ending=st.sampled_from(Ending), text=st.text(max_size=5), fault=faults)
results = st.builds(CheckResult, st.just("check"), st.sampled_from(Verdict), st.booleans())
evidences = st.builds(
    Evidence,
    reports,
    st.lists(st.sampled_from([DONE, WAITING, REJECTED]), max_size=3).map(tuple),
    st.lists(results, max_size=4).map(tuple),
)
rule_sets = st.builds(
    Rules, st.sampled_from(Acceptance), st.integers(1, 5), st.booleans(), wait_for_limits=st.booleans()
)


@given(evidences, rule_sets, st.integers(1, 9))
def test_nothing_is_accepted_without_what_the_profile_demands(
    evidence: Evidence, rules: Rules, attempt: int
) -> None:
    if isinstance(decide(evidence, rules, attempt=attempt), Accept):
        if rules.acceptance is not Acceptance.PROOF:
            assert evidence.claimed
        if rules.acceptance is not Acceptance.CLAIM:
            assert all(r.verdict is Verdict.PASSED for r in evidence.results if r.required)
        assert is_judgeable(evidence.report, rules)


@given(evidences, rule_sets, st.integers(1, 9))
def test_a_transient_fault_is_retried_a_bounded_number_of_times(
    evidence: Evidence, rules: Rules, attempt: int
) -> None:
    decision = decide(evidence, rules, attempt=attempt)
    if isinstance(evidence.report.fault, Transient) and isinstance(decision, Retry):
        assert attempt < rules.max_attempts


@given(st.integers(1, 10_000))
def test_backoff_grows_and_is_bounded(attempt: int) -> None:
    backoff = Backoff()
    assert backoff.delay(attempt) <= backoff.delay(attempt + 1) <= backoff.longest
