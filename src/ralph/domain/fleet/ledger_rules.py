"""What all jobs share: places at an agent's account, and money."""

from __future__ import annotations

from collections import Counter

from ralph.domain.fleet.bounds import between
from ralph.domain.fleet.views import FleetLimits
from ralph.values import dataclass, replace

LEASE = 600.0
"""Seconds that a place is held for a session that does not say again that it is there."""
MANY_JOBS = 5_000
"""Of so many it is known what they were charged; of one that has not asked for the longest time, only from then on."""
_MUCH = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPlace:
    """A job has one at a time; it belongs to the worker and the turn that took it last."""

    job: str
    worker: str = ""
    turn: int = 0
    account: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    """``charged``: what each job had cost when it said so last, which is in ``spent`` as far as it was spent under this
    ledger; the job that asked last is the last."""

    sessions: tuple[tuple[str, int], ...] = ()
    max_cost: float | None = None
    spent: float = 0.0
    places: tuple[HeldPlace, ...] = ()
    charged: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterRequest:
    """``cost``: what the whole job has spent so far. Asking again (``renews``) holds the place for longer, and says what was
    spent since."""

    job: str
    worker: str = ""
    turn: int = 0
    account: str
    cost: float = 0.0
    renews: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterReply:
    """``refusal``: why not yet; empty: it has a place. ``is_spent``: no money is left."""

    refusal: str = ""
    is_spent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveRequest:
    """``cost``: what the whole job has spent by now."""

    job: str
    worker: str = ""
    turn: int = 0
    cost: float = 0.0


def enter(state: LedgerState, request: EnterRequest, now: float) -> tuple[LedgerState, EnterReply]:
    """A session that has a place keeps it: what is under way is not ended for a limit that was reached meanwhile. Whoever
    continues a job has the place of the worker that was lost; that one, if it is still there, does not get it back."""
    state = _charged(_expired(state, now), request.job, request.cost)
    held = next((place for place in state.places if place.job == request.job), None)
    if held is not None and request.renews and not _is_of(held, request):
        return state, EnterReply()
    others = tuple(place for place in state.places if place is not held)
    if (held is None or held.account != request.account) and (refusal := _refusal(state, others, request)):
        return state, refusal
    place = HeldPlace(
        job=request.job,
        worker=request.worker,
        turn=request.turn,
        account=request.account,
        until=now + LEASE,
    )
    return replace(state, places=(*others, place)), EnterReply()


def leave(state: LedgerState, request: LeaveRequest, now: float) -> LedgerState:
    """Leaving twice changes nothing, nor does it take the place of whoever continues the job. What was spent is charged, with a
    place or without."""
    state = _charged(_expired(state, now), request.job, request.cost)
    kept = tuple(place for place in state.places if not _is_of(place, request))
    return replace(state, places=kept)


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


def _refusal(state: LedgerState, others: tuple[HeldPlace, ...], request: EnterRequest) -> EnterReply | None:
    if state.max_cost is not None and state.spent >= state.max_cost:
        words = f"all jobs together have spent ${state.spent:.2f} of ${state.max_cost:.2f}"
        return EnterReply(refusal=words, is_spent=True)
    maximum = dict(state.sessions).get(request.account)
    if maximum is None:
        return None
    used = sum(place.account == request.account for place in others)
    if used < maximum:
        return None
    places = "the only place" if maximum == 1 else f"all {maximum} places"
    return EnterReply(refusal=f"{places} at {request.account} {'is' if maximum == 1 else 'are'} taken")


def _charged(state: LedgerState, job: str, cost: float) -> LedgerState:
    """A session that was lost begins again from a smaller sum; what was spent stays spent. What a job had cost before it asked
    for the first time was spent before there was a ledger."""
    cost = between(0.0, cost, _MUCH)
    known = dict(state.charged)
    before = known.pop(job, cost)
    known[job] = max(before, cost)
    charged = tuple(known.items())[-MANY_JOBS:]
    return replace(state, spent=state.spent + max(0.0, cost - before), charged=charged)


def _expired(state: LedgerState, now: float) -> LedgerState:
    return replace(state, places=tuple(place for place in state.places if place.until > now))


def _is_of(place: HeldPlace, request: EnterRequest | LeaveRequest) -> bool:
    return (place.job, place.worker, place.turn) == (request.job, request.worker, request.turn)
