"""What all jobs share: places at an agent's account, and money."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ralph.domain.fleet.views import FleetLimits

LEASE = 600.0
"""Seconds that a place is held for a session that does not say again that it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPlace:
    """``cost``: of the whole job, as far as it is in ``spent`` already."""

    job: str
    account: str
    cost: float
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    sessions: tuple[tuple[str, int], ...] = ()
    max_cost: float | None = None
    spent: float = 0.0
    places: tuple[HeldPlace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterRequest:
    """``cost``: what the whole job has spent so far. Asking again holds the place for longer, and says what was spent since."""

    job: str
    account: str
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterReply:
    """``refusal``: why not yet; empty: it has a place. ``is_spent``: no money is left."""

    refusal: str = ""
    is_spent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveRequest:
    """``cost``: what the whole job has spent by now."""

    job: str
    cost: float = 0.0


def enter(state: LedgerState, request: EnterRequest, now: float) -> tuple[LedgerState, EnterReply]:
    """A session that has a place keeps it: what is under way is not ended for a limit that was reached meanwhile."""
    state = _expired(state, now)
    held = _place_of(state, request.job)
    if held is None:
        if refusal := _refusal(state, request):
            return state, refusal
    else:
        state = _charged(state, held, request.cost)
    place = HeldPlace(job=request.job, account=request.account, cost=request.cost, until=now + LEASE)
    others = tuple(each for each in state.places if each.job != request.job)
    return replace(state, places=(*others, place)), EnterReply()


def leave(state: LedgerState, request: LeaveRequest, now: float) -> LedgerState:
    """Leaving twice changes nothing."""
    held = _place_of(state, request.job)
    if held is not None:
        state = _charged(state, held, request.cost)
        state = replace(state, places=tuple(each for each in state.places if each is not held))
    return _expired(state, now)


def set_limits(state: LedgerState, limits: FleetLimits) -> LedgerState:
    """Whoever has a place keeps it."""
    return replace(state, sessions=limits.sessions, max_cost=limits.max_cost)


def show_limits(state: LedgerState, now: float) -> FleetLimits:
    used = Counter(place.account for place in _expired(state, now).places)
    return FleetLimits(
        sessions=state.sessions,
        max_cost=state.max_cost,
        spent=state.spent,
        in_use=tuple(sorted(used.items())),
    )


def _refusal(state: LedgerState, request: EnterRequest) -> EnterReply | None:
    if state.max_cost is not None and state.spent >= state.max_cost:
        words = f"all jobs together have spent ${state.spent:.2f} of ${state.max_cost:.2f}"
        return EnterReply(refusal=words, is_spent=True)
    maximum = dict(state.sessions).get(request.account)
    if maximum is None:
        return None
    used = sum(place.account == request.account for place in state.places)
    if used < maximum:
        return None
    places = "the only place" if maximum == 1 else f"all {maximum} places"
    return EnterReply(refusal=f"{places} at {request.account} {'is' if maximum == 1 else 'are'} taken")


def _charged(state: LedgerState, held: HeldPlace, cost: float) -> LedgerState:
    """A session that was lost begins again from a smaller sum; what was spent stays spent."""
    return replace(state, spent=state.spent + max(0.0, cost - held.cost))


def _expired(state: LedgerState, now: float) -> LedgerState:
    return replace(state, places=tuple(place for place in state.places if place.until > now))


def _place_of(state: LedgerState, job: str) -> HeldPlace | None:
    return next((place for place in state.places if place.job == job), None)
