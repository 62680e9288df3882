"""Which run a command means when none is named: the obvious one, or none."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.processes.identity import started_of, this_process
from ralph.adapters.storage.run_reader import open_reader
from ralph.domain.run_view import RunState, RunView
from ralph.errors import UsageError
from ralph.interfaces.cli.stored_runs import reading, view_of

LOOKED_AT = 200
RESUMABLE = frozenset(
    {RunState.INTERRUPTED, RunState.CANCELLED, RunState.EXHAUSTED, RunState.FAILED, RunState.WAITING}
)


def recent_runs(state_folder: Path, *, limit: int = LOOKED_AT) -> list[RunView]:
    """Live ones first, then the newest."""
    reader = open_reader(state_folder)
    if reader is None:
        return []
    with reader:
        return reader.runs(here=this_process(), started_of=started_of, limit=limit)


def live_run(state_folder: Path, reference: str | None) -> RunView:
    """The run that is under way here."""
    if reference is not None:
        run = _named(state_folder, reference)
        if not run.live:
            message = f"run {run.id} is not under way: it is {run.state}"
            raise UsageError(message, hint="`ralph status` shows all runs")
        return run
    runs = recent_runs(state_folder)
    live = [run for run in runs if run.live and not _is_child(run, runs)]
    if not live:
        message = "no run is under way here"
        raise UsageError(message, hint="`ralph status` shows all runs; --project-dir looks elsewhere")
    if len(live) > 1:
        message = f"several runs are under way here: {', '.join(run.id for run in live)}"
        raise UsageError(message, hint="name one")
    return live[0]


def resumable_run(state_folder: Path, reference: str | None, *, extended: bool) -> RunView:
    """The newest interrupted run, or the named one; ``extended``: with a new limit, an exhausted one too."""
    if reference is None:
        wanted = {RunState.INTERRUPTED, *((RunState.EXHAUSTED,) if extended else ())}
        runs = recent_runs(state_folder)
        found = [run for run in runs if run.state in wanted and not _is_child(run, runs)]
        if not found:
            message = "there is no interrupted run here"
            raise UsageError(
                message, hint="name a run (`ralph status` shows them), or start one with `ralph run`"
            )
        return max(found, key=lambda run: run.started_at)
    run = _named(state_folder, reference)
    if run.live:
        message = f"run {run.id} is under way"
        raise UsageError(message, hint="`ralph status --watch` shows it")
    if run.state not in RESUMABLE:
        message = f"run {run.id} is {run.state}: there is nothing left to do in it"
        raise UsageError(message, hint="start a new one with `ralph run`")
    return run


def waiting_run(state_folder: Path, reference: str | None) -> RunView | None:
    """A run that ended to wait for something outside: it has no process that could be asked."""
    if reference is not None:
        run = _named(state_folder, reference)
        return run if run.state is RunState.WAITING and not run.live else None
    runs = recent_runs(state_folder)
    if any(run.live for run in runs):
        return None
    return next((run for run in runs if run.state is RunState.WAITING), None)


def _is_child(run: RunView, runs: list[RunView]) -> bool:
    """Of a run in this record; one that was started from another project's run is its own here."""
    return any(run.parent_id == other.id for other in runs)


def _named(state_folder: Path, reference: str) -> RunView:
    with reading(state_folder) as reader:
        return view_of(reader, reference)
