"""A run as one sees it from outside. Read models: whatever a screen says about a run follows from these rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ralph.domain.claim import Owner, is_stale

LAST = "last"
"""The name of the newest run, wherever a run is asked for."""


class RunState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  #: alive; goes on when the user says so
    WAITING = "waiting"  #: alive: for a limit or a delay. Ended: something outside must happen first
    INTERRUPTED = "interrupted"  #: never ended, and its process is gone
    COMPLETED = "completed"
    EXHAUSTED = "exhausted"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LastCheck:
    """The newest verdict of a run."""

    name: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run: who, how far, how much, and why it ended."""

    id: str
    profile: str
    agent: str
    root: str
    state: RunState
    live: bool  # its process is there
    iteration: int  # the one under way, else how many were judged
    maximum: int | None
    cost_usd: float | None
    tokens: int
    last_check: LastCheck | None
    started_at: float
    active_at: float
    ended_at: float | None
    waits_until: float | None
    reason: str  # why it ended, or what it waits for
    concerns: tuple[str, ...] = ()
    parent_id: str = ""
    task: str = ""  # the task it works on, if it is the run of one
    role: str = ""  # of the newest iteration
    cost_is_partial: bool = False  # it cost at least so much: some of it nobody can price


def is_alive(owner: Owner | None, *, here: Owner, started_of: Callable[[int], str | None]) -> bool:
    """A run of which nobody wrote down whose it is was made before owners were recorded: nobody runs it."""
    return owner is not None and not is_stale(owner, here=here, started_of=started_of(owner.pid))


def state_of(
    outcome: str | None, *, alive: bool, in_session: bool = False, paused: bool = False, waits: bool = False
) -> RunState:
    """``paused``: asked to, and nothing was started since; a session under way ends first."""
    if outcome is not None:
        return RunState(outcome) if outcome in _OUTCOMES else RunState.FAILED
    if not alive:
        return RunState.INTERRUPTED
    if in_session:
        return RunState.RUNNING
    if paused:
        return RunState.PAUSED
    return RunState.WAITING if waits else RunState.RUNNING


_OUTCOMES = frozenset({"completed", "exhausted", "waiting", "cancelled", "failed"})


def arranged(runs: Iterable[RunView], *, limit: int | None = None) -> list[RunView]:
    """Live ones first, then the newest. A live one is never left out."""
    newest = sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True)
    live = [run for run in newest if run.live]
    over = [run for run in newest if not run.live]
    return live + (over if limit is None else over[: max(0, limit - len(live))])


def matching(reference: str, newest_first: Sequence[str]) -> list[str]:
    """The runs that a beginning or an end of a name may mean; one that is whole means itself."""
    if reference == LAST:
        return list(newest_first[:1])
    if reference in newest_first:
        return [reference]
    if not reference:
        return []
    return [name for name in newest_first if name.startswith(reference) or name.endswith(reference)]


def prunable(runs: Iterable[RunView], *, keep: int, active_before: float | None = None) -> list[RunView]:
    """Older than the ``keep`` newest, silent since ``active_before``, and never one that is alive."""
    older = arranged(run for run in runs if not run.live)[keep:]
    return [run for run in older if active_before is None or run.active_at < active_before]
