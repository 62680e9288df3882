"""Which run a command means when none is named: the obvious one, or none."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.run_view import RunState, RunView

RESUMABLE = frozenset(
    {RunState.INTERRUPTED, RunState.CANCELLED, RunState.EXHAUSTED, RunState.FAILED, RunState.WAITING}
)


def here(runs: Sequence[RunView], workspace: str) -> list[RunView]:
    """Those of this working tree: other worktrees of the repository share the record, but not the claim."""
    return [run for run in runs if run.root == workspace and not is_child(run, runs)]


def is_child(run: RunView, runs: Sequence[RunView]) -> bool:
    """Of a run in this record; one that was started from another project's run is its own here."""
    return any(run.parent_id == other.id for other in runs)


def under_way(runs: Sequence[RunView], workspace: str) -> list[RunView]:
    return [run for run in here(runs, workspace) if run.live]


def waiting(runs: Sequence[RunView], workspace: str) -> RunView | None:
    """A run that ended to wait for something outside: it has no process that could be asked."""
    own = here(runs, workspace)
    if any(run.live for run in own):
        return None
    return next((run for run in own if run.state is RunState.WAITING), None)


def newest(runs: Sequence[RunView], workspace: str) -> RunView | None:
    return max(here(runs, workspace), key=lambda run: run.started_at, default=None)


def to_resume(runs: Sequence[RunView], workspace: str, *, extended: bool) -> RunView | None:
    """The newest interrupted run; else the newest of all, if it was stopped or waits. ``extended``: it gets a new
    limit, so an exhausted one will do too."""
    own = sorted(here(runs, workspace), key=lambda run: run.started_at, reverse=True)
    wanted = {RunState.INTERRUPTED, *((RunState.EXHAUSTED,) if extended else ())}
    found = next((run for run in own if run.state in wanted), None)
    if found is None and own and not own[0].live and own[0].state in (RunState.CANCELLED, RunState.WAITING):
        return own[0]
    return found
