from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.fleet.ledger_rules import (
    LEASE,
    MANY_JOBS,
    EnterRequest,
    LeaveRequest,
    LedgerState,
    enter,
    leave,
    set_limits,
    show_limits,
)
from ralph.domain.fleet.views import FleetLimits

NOW = 1_000.0


def state_with(sessions: int = 2, max_cost: float | None = None) -> LedgerState:
    return set_limits(LedgerState(), FleetLimits(sessions=(("claude", sessions),), max_cost=max_cost))


def asks(
    job: str, cost: float = 0.0, account: str = "claude", worker: str = "w", *, renews: bool = False
) -> EnterRequest:
    return EnterRequest(job=job, worker=worker, account=account, cost=cost, renews=renews)


def leaves(job: str, cost: float = 0.0, worker: str = "w") -> LeaveRequest:
    return LeaveRequest(job=job, worker=worker, cost=cost)


def test_so_many_places_and_a_word_for_who_must_wait() -> None:
    state, first = enter(state_with(1), asks("a"), NOW)
    state, second = enter(state, asks("b"), NOW)
    state, other = enter(state, asks("c", account="codex"), NOW)
    assert (first.refusal, other.refusal) == ("", "")
    assert second.refusal == "the only place at claude is taken"
    assert show_limits(state, NOW).in_use == (("claude", 1), ("codex", 1))
    state = leave(state, leaves("a"), NOW)
    assert not enter(state, asks("b"), NOW)[1].refusal


def test_a_place_that_is_not_asked_for_again_is_free_after_a_while() -> None:
    state, _ = enter(state_with(1), asks("a"), NOW)
    state, _ = enter(state, asks("a"), NOW + LEASE - 1)
    assert enter(state, asks("b"), NOW + LEASE + 1)[1].refusal
    assert not enter(state, asks("b"), NOW + 2 * LEASE)[1].refusal


def test_money_is_counted_once_and_a_session_under_way_is_not_ended() -> None:
    state, _ = enter(state_with(2, max_cost=1.0), asks("a", cost=5.0), NOW)
    assert state.spent == 0.0  # from before there was a ledger
    state, _ = enter(state, asks("a", cost=5.5), NOW)
    for _ in range(2):
        state = leave(state, leaves("a", cost=6.5), NOW)
    assert state.spent == 1.5
    state, reply = enter(state, asks("b"), NOW)
    assert reply.is_spent
    assert reply.refusal == "all jobs together have spent $1.50 of $1.00"
    assert not enter(set_limits(state, FleetLimits(max_cost=2.0)), asks("b"), NOW)[1].refusal


def test_a_session_that_begins_again_gives_no_money_back() -> None:
    state, _ = enter(state_with(), asks("a", cost=0.0), NOW)
    state, _ = enter(state, asks("a", cost=1.0), NOW)
    state, _ = enter(state, asks("a", cost=0.0), NOW)
    assert state.spent == 1.0


def test_whoever_continues_a_job_has_its_place_and_the_one_that_was_replaced_has_not() -> None:
    state, _ = enter(state_with(1, max_cost=100.0), asks("j", worker="a"), NOW)
    state, taken_over = enter(state, asks("j", worker="b"), NOW + 40)
    state, _ = enter(state, asks("j", cost=2.0, worker="a", renews=True), NOW + 50)
    state = leave(state, leaves("j", cost=3.0, worker="a"), NOW + 60)
    state, other = enter(state, asks("k"), NOW + 61)
    assert (taken_over.refusal, other.refusal) == ("", "the only place at claude is taken")
    state = leave(state, leaves("j", cost=7.0, worker="b"), NOW + 100)
    assert state.spent == 7.0
    assert not enter(state, asks("k"), NOW + 101)[1].refusal


def test_whoever_continues_with_another_account_needs_a_place_there() -> None:
    state, _ = enter(state_with(1), asks("j", account="codex", worker="a"), NOW)
    state, _ = enter(state, asks("k"), NOW)
    assert enter(state, asks("j", worker="b"), NOW)[1].refusal == "the only place at claude is taken"


def test_what_was_spent_is_charged_with_a_place_or_without() -> None:
    late = NOW + LEASE + 50
    state, _ = enter(state_with(2, max_cost=10.0), asks("j"), NOW)
    renewed, _ = enter(state, asks("j", cost=50.0, renews=True), late)
    assert renewed.spent == 50.0
    assert leave(renewed, leaves("j", cost=51.0), late).spent == 51.0
    state, _ = enter(state, asks("k"), late)
    state = leave(state, leaves("j", cost=50.0), late)
    assert state.spent == 50.0
    refused, reply = enter(state, asks("j", cost=52.0), late)
    assert (reply.is_spent, refused.spent) == (True, 52.0)


def test_odd_sums_change_nothing() -> None:
    state, _ = enter(state_with(), asks("j"), NOW)
    for cost in (float("nan"), -1.0, 0.0):
        state = leave(state, leaves("j", cost=cost), NOW)
    assert state.spent == 0.0
    assert leave(state, leaves("j", cost=float("inf")), NOW).spent == 1e9


def test_the_ledger_stays_small() -> None:
    state = state_with()
    for number in range(MANY_JOBS + 10):
        state = leave(state, leaves(f"j{number}", cost=1.0), NOW)
    assert len(state.charged) == MANY_JOBS
    assert state.charged[-1] == (f"j{MANY_JOBS + 9}", 1.0)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef"), st.floats(0, 2000)), max_size=40))
def test_never_more_than_allowed(moves: list[tuple[bool, str, float]]) -> None:
    state, now = state_with(2), NOW
    for enters, job, passed in moves:
        now += passed
        before = state.spent
        if enters:
            state, _ = enter(state, asks(job, cost=passed), now)
        else:
            state = leave(state, leaves(job, cost=passed), now)
        assert sum(count for _, count in show_limits(state, now).in_use) <= 2
        assert state.spent >= before
