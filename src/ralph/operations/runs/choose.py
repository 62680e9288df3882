"""Choose a run: the one that was named, or the obvious one of this working tree."""

from __future__ import annotations

from ralph.config.root import STATE_FOLDER, Root
from ralph.domain.views import runs as rules
from ralph.domain.views.runs import RunState, RunView
from ralph.errors import UsageError
from ralph.operations.runs.read import recent_runs, run_view

CONSIDERED = 200


def live_run(root: Root, reference: str | None) -> RunView:
    """The run under way here."""
    if reference is not None:
        run = _named(root, reference)
        if not run.live:
            message = f"run {run.id} is not under way ({run.state.words})"
            raise UsageError(message, hint="`ralph status` shows all runs")
        return run
    runs = _recent(root)
    live = rules.live_runs(runs, str(root.workspace))
    if not live:
        message = "no run is under way here"
        elsewhere = [f"{run.id} in {run.root}" for run in runs if run.live and not run.parent_id]
        hint = "`ralph status` shows all runs; --project-dir looks elsewhere"
        raise UsageError(message, hint=f"name one: {', '.join(elsewhere)}" if elsewhere else hint)
    if len(live) > 1:
        message = f"several runs are under way here: {', '.join(run.id for run in live)}"
        raise UsageError(message, hint="name one")
    return live[0]


def stoppable_run(root: Root, reference: str | None) -> RunView:
    """The run under way here, or one that ended because it waits for something outside."""
    if reference is not None:
        run = _named(root, reference)
        return run if run.state is RunState.WAITING else live_run(root, reference)
    return rules.waiting_run(_recent(root), str(root.workspace)) or live_run(root, None)


def resumable_run(root: Root, reference: str | None, *, extended: bool) -> RunView:
    """``extended``: there is a new limit, so a run that reached its limit can be resumed too."""
    if reference is None:
        runs = _recent(root)
        found = rules.run_to_resume(runs, str(root.workspace), extended=extended)
        if found is None:
            message = "there is no interrupted run here"
            raise UsageError(message, hint=_instead(rules.newest_run(runs, str(root.workspace))))
        return found
    run = _named(root, reference)
    if run.live:
        message = f"run {run.id} is under way"
        raise UsageError(message, hint="`ralph status --watch` shows it")
    if run.state not in rules.RESUMABLE:
        message = f"run {run.id} is {run.state}: there is nothing left to do in it"
        raise UsageError(message, hint="start a new one with `ralph run`")
    return run


def _instead(newest: RunView | None) -> str:
    """What to do when no run can be resumed unasked."""
    if newest is not None and newest.state is RunState.FAILED:
        return f"the newest, {newest.id}, failed: `ralph resume {newest.id}` tries it again"
    if newest is not None and newest.state is RunState.EXHAUSTED:
        return f"the newest, {newest.id}, reached a limit: give it a new one, as in `ralph resume -m N`"
    return "name a run (`ralph status` shows them), or start one with `ralph run`"


def _recent(root: Root) -> list[RunView]:
    return recent_runs(root.state / STATE_FOLDER, limit=CONSIDERED)


def _named(root: Root, reference: str) -> RunView:
    return run_view(root.state / STATE_FOLDER, reference)
