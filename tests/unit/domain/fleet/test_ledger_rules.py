from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.fleet.ledger_rules import (
    LEASE,
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


def asks(job: str, cost: float = 0.0, account: str = "claude") -> EnterRequest:
    return EnterRequest(job=job, account=account, cost=cost)


def test_so_many_places_and_a_word_for_who_must_wait() -> None:
    state, first = enter(state_with(1), asks("a"), NOW)
    state, second = enter(state, asks("b"), NOW)
    state, other = enter(state, asks("c", account="codex"), NOW)
    assert (first.refusal, other.refusal) == ("", "")
    assert second.refusal == "the only place at claude is taken"
    assert show_limits(state, NOW).in_use == (("claude", 1), ("codex", 1))
    state = leave(state, LeaveRequest(job="a"), NOW)
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
        state = leave(state, LeaveRequest(job="a", cost=6.5), NOW)
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


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef"), st.floats(0, 2000)), max_size=40))
def test_never_more_than_allowed(moves: list[tuple[bool, str, float]]) -> None:
    state, now = state_with(2), NOW
    for enters, job, passed in moves:
        now += passed
        before = state.spent
        if enters:
            state, _ = enter(state, asks(job, cost=passed), now)
        else:
            state = leave(state, LeaveRequest(job=job, cost=passed), now)
        assert sum(count for _, count in show_limits(state, now).in_use) <= 2
        assert state.spent >= before
