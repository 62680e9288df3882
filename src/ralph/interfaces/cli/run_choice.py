"""Which run a command means: by its name, a part of it, or the obvious one."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.processes.identity import started_of, this_process
from ralph.adapters.storage.run_reader import open_reader
from ralph.domain.run_view import RunState, RunView, matching
from ralph.errors import UsageError

LISTED = 5
RESUMABLE = frozenset(
    {RunState.INTERRUPTED, RunState.CANCELLED, RunState.EXHAUSTED, RunState.FAILED, RunState.WAITING}
)


def all_runs(state_folder: Path, *, limit: int | None = None) -> list[RunView]:
    """Live ones first, then the newest."""
    reader = open_reader(state_folder)
    if reader is None:
        return []
    with reader:
        return reader.runs(here=this_process(), started_of=started_of, limit=limit)


def named(runs: list[RunView], reference: str) -> RunView:
    newest_first = sorted(runs, key=lambda run: run.started_at, reverse=True)
    found = matching(reference, [run.id for run in newest_first])
    if len(found) == 1:
        return next(run for run in runs if run.id == found[0])
    if found:
        message = f"{reference!r} may mean several runs: {', '.join(found[:LISTED])}"
        raise UsageError(message, hint="give more of the name")
    known = ", ".join(run.id for run in newest_first[:LISTED])
    message = f"there is no run {reference!r} here"
    raise UsageError(message, hint=f"the newest are: {known}" if known else "`ralph run` starts one")


def live_run(runs: list[RunView], reference: str | None) -> RunView:
    """The run that is under way here."""
    if reference is not None:
        run = named(runs, reference)
        if not run.live:
            message = f"run {run.id} is not under way: it is {run.state}"
            raise UsageError(message, hint="`ralph status` shows all runs")
        return run
    live = [run for run in runs if run.live]
    if not live:
        message = "no run is under way here"
        raise UsageError(message, hint="`ralph status` shows all runs; --project-dir looks elsewhere")
    if len(live) > 1:
        message = f"several runs are under way here: {', '.join(run.id for run in live)}"
        raise UsageError(message, hint="name one")
    return live[0]


def resumable_run(runs: list[RunView], reference: str | None, *, extended: bool) -> RunView:
    """The newest interrupted run, or the named one; ``extended``: with a new limit, an exhausted one too."""
    if reference is None:
        wanted = {RunState.INTERRUPTED, *((RunState.EXHAUSTED,) if extended else ())}
        found = [run for run in runs if run.state in wanted]
        if not found:
            message = "there is no interrupted run here"
            raise UsageError(
                message, hint="name a run (`ralph status` shows them), or start one with `ralph run`"
            )
        return max(found, key=lambda run: run.started_at)
    run = named(runs, reference)
    if run.live:
        message = f"run {run.id} is under way"
        raise UsageError(message, hint="`ralph status --watch` shows it")
    if run.state not in RESUMABLE:
        message = f"run {run.id} is {run.state}: there is nothing left to do in it"
        raise UsageError(message, hint="start a new one with `ralph run`")
    return run
