"""Runs as people see them: the state each one is in, which of them is meant, what it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from ralph.domain.holder import Owner, is_stale

if TYPE_CHECKING:
    from ralph.domain.loop.asks import Ask

LAST = "last"
"""The name of the newest run, wherever a run is asked for."""
LONGEST = 200
"""Characters of a label."""


class RunState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  #: alive; continues when the user says so
    WAITING = "waiting"  #: alive: for a limit or a delay. Ended: something outside must happen first
    INTERRUPTED = "interrupted"  #: never ended, but its process has
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
    live: bool  # its process is running
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


# --- the state of a run ---

_OUTCOMES = frozenset(RunState) - {RunState.RUNNING, RunState.PAUSED, RunState.INTERRUPTED}
"""The states that are an ``Outcome`` too; `ralph status` does without the loop's rules."""


def is_alive(owner: Owner | None, *, here: Owner, started_of: Callable[[int], str | None]) -> bool:
    """``owner`` None: it was recorded before owners were, so nobody runs it any more."""
    return owner is not None and not is_stale(owner, here=here, started_of=started_of(owner.pid))


def state_of(
    outcome: str | None, *, alive: bool, in_session: bool = False, paused: bool = False, waits: bool = False
) -> RunState:
    """``paused``: it was asked to pause, and nothing has been started since; a session under way ends first."""
    if outcome is not None:
        return RunState(outcome) if outcome in _OUTCOMES else RunState.FAILED
    if not alive:
        return RunState.INTERRUPTED
    if in_session:
        return RunState.RUNNING
    if paused:
        return RunState.PAUSED
    return RunState.WAITING if waits else RunState.RUNNING


def reason_of(run: RunView) -> str:
    """Why it ended or what it waits for; of one that was cut off, what to do about it."""
    if run.state is RunState.INTERRUPTED:
        return "its process ended unexpectedly; `ralph resume` continues it"
    return run.reason


def possible_asks(run: RunView) -> tuple[Ask, ...]:
    """What may be asked of it now. One that ended to wait can only be told not to wait any more."""
    from ralph.domain.loop.asks import Ask

    if run.live:
        return (Ask.UNPAUSE if run.state is RunState.PAUSED else Ask.PAUSE, Ask.STEER, Ask.STOP, Ask.STOP_NOW)
    return (Ask.STOP,) if run.state is RunState.WAITING else ()


# --- choosing runs ---


def sort_runs(runs: Iterable[RunView], *, limit: int | None = None) -> list[RunView]:
    """Live ones first, then the newest. A live one is never left out."""
    newest = sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True)
    live = [run for run in newest if run.live]
    over = [run for run in newest if not run.live]
    return live + (over if limit is None else over[: max(0, limit - len(live))])


def match_runs(reference: str, newest_first: Sequence[str]) -> list[str]:
    """The names that ``reference`` may mean: LAST, a whole name, or the beginning or end of one."""
    if reference == LAST:
        return list(newest_first[:1])
    if reference in newest_first:
        return [reference]
    if not reference:
        return []
    return [name for name in newest_first if name.startswith(reference) or name.endswith(reference)]


def removable_runs(
    runs: Iterable[RunView], *, keep: int, active_before: float | None = None
) -> list[RunView]:
    """Older than the ``keep`` newest and silent since ``active_before``; never one that is alive."""
    older = sort_runs(run for run in runs if not run.live)[keep:]
    return [run for run in older if active_before is None or run.active_at < active_before]


def is_newest(run: RunView, runs: Iterable[RunView]) -> bool:
    """Nothing has been started there since: changes that are not committed may be its work."""
    return all(run.started_at >= other.started_at for other in runs if other.root == run.root)


def is_child(run: RunView, runs: Sequence[RunView]) -> bool:
    """Whether a run in this record started it; one that a run of another project started stands on its own."""
    return any(run.parent_id == other.id for other in runs)


# --- choosing runs of one working tree (other worktrees of the repository share the record, but not the holder) ---


def runs_in(workspace: str, runs: Sequence[RunView]) -> list[RunView]:
    return [run for run in runs if run.root == workspace and not is_child(run, runs)]


def live_runs(runs: Sequence[RunView], workspace: str) -> list[RunView]:
    return [run for run in runs_in(workspace, runs) if run.live]


def waiting_run(runs: Sequence[RunView], workspace: str) -> RunView | None:
    """A run that ended to wait for something outside: it has no process that could be asked."""
    own = runs_in(workspace, runs)
    if any(run.live for run in own):
        return None
    return next((run for run in own if run.state is RunState.WAITING), None)


def newest_run(runs: Sequence[RunView], workspace: str) -> RunView | None:
    return max(runs_in(workspace, runs), key=lambda run: run.started_at, default=None)


RESUMABLE = frozenset(
    {RunState.INTERRUPTED, RunState.CANCELLED, RunState.EXHAUSTED, RunState.FAILED, RunState.WAITING}
)


def run_to_resume(runs: Sequence[RunView], workspace: str, *, extended: bool) -> RunView | None:
    """The newest interrupted run; else the newest of all, if it was stopped or waits.

    ``extended``: it gets a new limit, so an exhausted one will do too.
    """
    own = sorted(runs_in(workspace, runs), key=lambda run: run.started_at, reverse=True)
    wanted = {RunState.INTERRUPTED, *((RunState.EXHAUSTED,) if extended else ())}
    found = next((run for run in own if run.state in wanted), None)
    if found is None and own and not own[0].live and own[0].state in (RunState.CANCELLED, RunState.WAITING):
        return own[0]
    return found


# --- what a run is called ---


class RunLabel(NamedTuple):
    """``title`` is what was asked, in one line; ``task`` the task that it works on. Both may be empty."""

    title: str = ""
    task: str = ""

    def __str__(self) -> str:
        return f"{self.task} {self.title}".strip()


def label_of(options: Mapping[str, Any], first_prompt: str = "") -> RunLabel:
    """``options`` is what the run was started with, whatever its profile and its version of ralph.

    If it was given a file, the words are only in its ``first_prompt``.
    """
    prompt, task, command = (options.get(name) for name in ("prompt", "task", "command"))
    asked = prompt if isinstance(prompt, str) and prompt.strip() else first_prompt
    if not asked.strip() and isinstance(command, list):
        asked = " ".join(map(str, command))
    lines = (line.strip().lstrip("#").strip() for line in asked.splitlines())
    title = next((line for line in lines if line), "")
    return RunLabel(title[:LONGEST], task[:LONGEST] if isinstance(task, str) else "")
