"""``decide`` by tables and by properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.loop.budget import Backoff
from ralph.domain.loop.claims import Claim, Signal, Tag
from ralph.domain.loop.decision import (
    Accept,
    Acceptance,
    Continue,
    Decision,
    GiveUp,
    Outcome,
    Retry,
    Rules,
    Stop,
    Troubles,
    decide,
    is_judgeable,
)
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import (
    AgentReport,
    Ending,
    Fatal,
    Hindrance,
    Obstacle,
    RateLimited,
    Transient,
)

NOW = 1_700_000_000.0
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
        pytest.param([], Acceptance.PROOF, Continue, id="nothing checked proves nothing"),
        pytest.param([OPTIONAL], Acceptance.PROOF, Continue, id="nor do optional checks"),
        pytest.param(
            [DONE, REJECTED, PASSED], Acceptance.CLAIM_AND_PROOF, GiveUp, id="a rejection beats a claim"
        ),
        pytest.param([DONE, FAILED], Acceptance.CLAIM, Accept, id="claim is enough"),
        pytest.param([WAITING], Acceptance.CLAIM, Stop, id="waiting"),
        pytest.param([DONE, WAITING], Acceptance.CLAIM, Accept, id="done beats waiting"),
        pytest.param([REJECTED, PASSED], Acceptance.CLAIM_AND_PROOF, GiveUp, id="rejected"),
    ],
)
def test_what_follows_from_claims_and_proof(
    facts: list[Signal | CheckResult], acceptance: Acceptance, expected: type[Decision]
) -> None:
    assert isinstance(decide(evidence(*facts), Rules(acceptance=acceptance), now=NOW), expected)


def test_a_failed_check_tells_the_next_prompt() -> None:
    decision = decide(evidence(DONE, FAILED), Rules(), now=NOW)
    assert decision == Continue("the agent said DONE, but still failing: tests", (Feedback("red"),))


def test_a_failed_layer_is_called_what_people_read_everywhere() -> None:
    layer = CheckResult("protection", Verdict.FAILED)
    decision = decide(evidence(DONE, layer), Rules(), now=NOW)
    assert decision == Continue("the agent said DONE, but still failing: changes to tests and scripts", ())


@pytest.mark.parametrize(
    ("report", "rules", "troubles", "expected"),
    [
        pytest.param(
            AgentReport(fault=Transient("529")),
            Rules(max_attempts=3),
            Troubles(faults=1),
            Retry("529", delay=10.0, obstacle=Obstacle.TRANSIENT),
            id="again",
        ),
        pytest.param(
            AgentReport(fault=Transient("529")),
            Rules(max_attempts=3),
            Troubles(faults=2),
            Stop(Outcome.FAILED, "529 (3 times in a row)"),
            id="too often",
        ),
        pytest.param(
            AgentReport(fault=RateLimited("5-hour limit", until=NOW + 99)),
            Rules(),
            Troubles(limits=7),
            Retry("5-hour limit", delay=5.0, until=NOW + 99, obstacle=Obstacle.RATE_LIMITED),
            id="waits for the reset, however often",
        ),
        pytest.param(
            AgentReport(fault=RateLimited("limit", until=NOW - 1)),
            Rules(),
            Troubles(limits=1),
            Retry("limit", delay=120.0, obstacle=Obstacle.RATE_LIMITED),
            id="a reset that is over and still refused",
        ),
        pytest.param(
            AgentReport(fault=RateLimited("limit", until=NOW * 1000)),
            Rules(),
            Troubles(),
            Retry("limit", delay=60.0, obstacle=Obstacle.RATE_LIMITED),
            id="a reset in milliseconds is not believed",
        ),
        pytest.param(
            AgentReport(fault=RateLimited("limit")),
            Rules(),
            Troubles(limits=50),
            Retry("limit", delay=900.0, obstacle=Obstacle.RATE_LIMITED),
            id="no reset time",
        ),
        pytest.param(
            AgentReport(fault=RateLimited("limit", NOW + 99)),
            Rules(wait_for_limits=False),
            Troubles(),
            Stop(Outcome.WAITING, "limit"),
            id="told not to wait",
        ),
        pytest.param(
            AgentReport(fault=Fatal("not logged in", "log in")),
            Rules(faults_count=True),
            Troubles(),
            Stop(Outcome.FAILED, "not logged in", "log in"),
            id="fatal",
        ),
        pytest.param(
            AgentReport(ending=Ending.STOPPED),
            Rules(),
            Troubles(),
            Stop(Outcome.CANCELLED, "stopped by the user"),
            id="stopped",
        ),
        pytest.param(
            AgentReport(fault=Transient("crash")),
            Rules(faults_count=True),
            Troubles(),
            Continue("the agent did not say DONE"),
            id="a crash that counts",
        ),
        pytest.param(
            AgentReport(exit_code=3, is_orderly=False),
            Rules(faults_count=True),
            Troubles(),
            Continue("exit code 3; DONE is not there"),
            id="a failure that counts",
        ),
        pytest.param(
            AgentReport(exit_code=3, is_orderly=False),
            Rules(),
            Troubles(),
            Continue("the agent failed (exit code 3): what it said does not count"),
            id="a failure whose words do not count",
        ),
        pytest.param(
            AgentReport(exit_code=1, is_orderly=False, reason="it reached its limit of turns"),
            Rules(),
            Troubles(),
            Continue(
                "the session was cut short (it reached its limit of turns): what it said does not count"
            ),
            id="a limit of its own",
        ),
    ],
)
def test_what_follows_from_a_fault(
    report: AgentReport, rules: Rules, troubles: Troubles, expected: Decision
) -> None:
    assert decide(evidence(report=report), rules, now=NOW, troubles=troubles) == expected


def test_what_the_agent_said_instead_is_told() -> None:
    report = AgentReport(text="x", tags=(Tag("response", "finished"),))
    decision = decide(evidence(report=report), Rules(), now=NOW)
    assert decision == Continue("the agent did not say DONE (it said <response>finished</response>)")
    decision = decide(evidence(report=report), Rules(), now=NOW, promise="TESTED")
    said = "(it said <response>finished</response>)"
    assert decision == Continue(f"the agent did not say <promise>TESTED</promise> {said}")


faults = st.one_of(
    st.none(),
    st.builds(Transient, st.text(max_size=5)),
    st.builds(RateLimited, st.text(max_size=5), st.none() | st.floats(0, 2 * NOW)),
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


many_troubles = st.builds(Troubles, st.integers(0, 9), st.integers(0, 9))


@given(evidences, rule_sets, many_troubles)
def test_nothing_is_accepted_without_what_the_profile_demands(
    evidence: Evidence, rules: Rules, troubles: Troubles
) -> None:
    if isinstance(decide(evidence, rules, now=NOW, troubles=troubles), Accept):
        required = [result.verdict for result in evidence.results if result.required]
        if rules.acceptance is not Acceptance.PROOF:
            assert any(signal.claim is Claim.DONE for signal in evidence.signals)
        if rules.acceptance is not Acceptance.CLAIM:
            assert set(required) <= {Verdict.PASSED}
        if rules.acceptance is Acceptance.PROOF:
            assert required, "nothing was proven"
        assert all(signal.claim is not Claim.REJECTED for signal in evidence.signals)
        assert is_judgeable(evidence.report, rules)


@given(evidences, rule_sets, many_troubles)
def test_every_retry_waits_and_passing_faults_are_retried_a_bounded_number_of_times(
    evidence: Evidence, rules: Rules, troubles: Troubles
) -> None:
    decision = decide(evidence, rules, now=NOW, troubles=troubles)
    if isinstance(decision, Retry):
        assert decision.delay > 0
        assert decision.until is None or decision.until <= NOW + rules.longest_limit
        if isinstance(evidence.report.fault, Transient):
            assert troubles.faults + 1 < rules.max_attempts


@given(st.integers(1, 10_000))
def test_backoff_grows_and_is_bounded(attempt: int) -> None:
    backoff = Backoff()
    assert backoff.delay(attempt) <= backoff.delay(attempt + 1) <= backoff.longest


def test_a_session_that_reached_a_limit_of_the_run_ends_it_unjudged() -> None:
    report = AgentReport(Ending.LIMITED, is_orderly=False, reason="budget reached: $5.01 of $5.00")

    assert not is_judgeable(report, Rules())
    assert decide(evidence(DONE, PASSED, report=report), Rules(), now=NOW) == Stop(
        Outcome.EXHAUSTED, "budget reached: $5.01 of $5.00"
    )


def unjudged(obstacle: Obstacle, *, required: bool = True, **told: float | str) -> CheckResult:
    hindrance = Hindrance(obstacle, "no answer", **told)  # type: ignore[arg-type]
    return CheckResult("judge", Verdict.ERRORED, required=required, hindrance=hindrance)


@pytest.mark.parametrize(
    ("obstacle", "expected"),
    [
        (Obstacle.LIMIT_REACHED, Stop(Outcome.EXHAUSTED, "not judged yet: no answer")),
        (Obstacle.FATAL, Stop(Outcome.FAILED, "not judged yet: no answer")),
        (
            Obstacle.RATE_LIMITED,
            Retry("not judged yet: no answer", delay=60.0, obstacle=Obstacle.RATE_LIMITED),
        ),
        (Obstacle.TRANSIENT, Retry("not judged yet: no answer", delay=5.0, obstacle=Obstacle.TRANSIENT)),
    ],
)
def test_a_judge_that_cannot_judge_is_treated_like_an_agent_that_cannot_work(
    obstacle: Obstacle, expected: Decision
) -> None:
    assert decide(evidence(DONE, PASSED, unjudged(obstacle)), Rules(), now=NOW) == expected


def test_a_limited_judge_ends_a_run_that_does_not_wait() -> None:
    limited = unjudged(Obstacle.RATE_LIMITED, until=NOW + 60)
    assert decide(evidence(DONE, limited), Rules(wait_for_limits=False), now=NOW) == Stop(
        Outcome.WAITING, "not judged yet: no answer"
    )


@given(
    st.lists(st.sampled_from(Obstacle), min_size=1),
    st.sampled_from([Acceptance.PROOF, Acceptance.CLAIM_AND_PROOF]),
)
def test_nothing_is_accepted_because_it_could_not_be_judged(
    obstacles: list[Obstacle], acceptance: Acceptance
) -> None:
    found = evidence(DONE, PASSED, *map(unjudged, obstacles))
    for faults_count in (False, True):
        rules = Rules(acceptance=acceptance, faults_count=faults_count)
        assert not isinstance(decide(found, rules, now=NOW), Accept)


def test_a_check_that_denies_the_work_needs_no_judge() -> None:
    found = evidence(DONE, FAILED, unjudged(Obstacle.RATE_LIMITED))
    assert isinstance(decide(found, Rules(), now=NOW), Continue)


def test_the_most_lasting_obstacle_decides() -> None:
    found = evidence(
        DONE, unjudged(Obstacle.TRANSIENT), unjudged(Obstacle.FATAL), unjudged(Obstacle.RATE_LIMITED)
    )
    assert isinstance(decide(found, Rules(), now=NOW), Stop)


def test_a_judge_that_is_not_required_is_not_waited_for() -> None:
    found = evidence(DONE, PASSED, unjudged(Obstacle.RATE_LIMITED, required=False))
    assert isinstance(decide(found, Rules(), now=NOW), Accept)
