"""``ralph fleet status``: the jobs as a table, those under way first."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ralph.domain.fleet.board import (
    cost_of,
    describe_job,
    iterations_of,
    reason_of,
    since_of,
    sort_jobs,
    state_of,
    title_of,
    tokens_of,
    total_of,
    worker_of,
)
from ralph.domain.text.figures import age, compact, money
from ralph.domain.views.decisions import Tone
from ralph.errors import ServiceAway
from ralph.interfaces.cli.fleet.asking import open_desk
from ralph.interfaces.cli.options import json_option
from ralph.interfaces.cli.table import Cell, Column, table_lines

if TYPE_CHECKING:
    from ralph.domain.fleet.views import JobView
    from ralph.operations.fleet.desk import FleetDesk

LIMIT = 50
MOST = 10_000

HELP = """Show the jobs of the fleet: what needs you first, then what runs, then what waits, then the newest that have ended.

\b
waits for jobs  others must be merged first
queued          for a worker that is free and has its labels
running         a session or its checks are under way
waiting         for a limit to reset, a delay, or something outside
paused          by `ralph fleet pause`; `ralph fleet unpause` continues it
pausing, stopping: the session under way ends first
merging         waits for its turn to merge, or merges
completed, merged, limit reached, cancelled, failed: how it ended
unreadable      only with its key: `ralph fleet key --help`

\b
Examples:
  ralph fleet status --watch
  ralph fleet status shop-3f2a1c
  ralph fleet status --json | jq -r '.jobs[] | select(.open) | .id'
"""

COLUMNS = (
    Column("job", longest=40),
    Column("state"),
    Column("iteration", 1),
    Column("spent", 3),
    Column("worker", 2),
    Column("since", 1),
    Column("moved", 5, rare=True),
    Column("title", 4),
    Column("why"),
)
COLORS = {Tone.GOOD: "green", Tone.BAD: "red", Tone.WARNING: "yellow", Tone.OPEN: "cyan", Tone.QUIET: ""}


@click.command("status", help=HELP)
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@json_option("Print the jobs as JSON.")
@click.option("-w", "--watch", is_flag=True, help="Look again every second, until Ctrl-C.")
@click.option("-a", "--all", "show_all", is_flag=True, help=f"Show all jobs, not only {LIMIT}.")
def command(jobs: tuple[str, ...], as_json: bool, watch: bool, show_all: bool) -> None:
    from ralph.operations.fleet.jobs import missing_workers

    with open_desk() as desk:
        limit = MOST if show_all else LIMIT
        if not watch:
            seen = _read(desk, jobs, limit)
            print(_json(seen) if as_json else _table(seen, limit))
            for line in () if as_json else missing_workers(desk, seen):
                print(f"ralph: {line}", file=sys.stderr)
            return
        from ralph.interfaces.cli.watching import watch as watch_jobs

        known: list[JobView] = _read(desk, jobs, limit)
        away = ""

        def look() -> tuple[list[JobView], str]:
            """A server that is away for a while does not end it."""
            nonlocal known, away
            try:
                known, away = _read(desk, jobs, limit), ""
            except ServiceAway as error:
                away = error.message
            return known, away

        def render(seen: tuple[list[JobView], str]) -> str:
            found, problem = seen
            if as_json:
                return _json(found, problem=problem, indent=None)
            return "\n".join(filter(None, (f"ralph: {problem}" if problem else "", _table(found, limit))))

        watch_jobs(look, render, redraws=not as_json)


def _read(desk: FleetDesk, names: Sequence[str], limit: int) -> list[JobView]:
    from ralph.operations.fleet.jobs import find_job

    if names:
        return [find_job(desk, name) for name in names]
    return sort_jobs(desk.ask(lambda fleet: fleet.jobs(limit=limit)))


def _table(jobs: list[JobView], limit: int) -> str:
    if not jobs:
        return "no jobs yet; `ralph fleet submit --help` says how to submit one"
    now = time.time()
    lines = table_lines(COLUMNS, [row_of(job, now) for job in jobs], sys.stdout)
    if len(jobs) >= limit:
        lines.append(f"only the newest {limit}; --all shows them all")
    return "\n".join((*lines, total_of(jobs).words))


def row_of(job: JobView, now: float) -> tuple[Cell | str, ...]:
    wording = describe_job(job)
    since, moved = since_of(job), job.progress.lost_shifts
    return (
        job.spec.id,
        Cell(wording.words, COLORS[wording.tone]),
        iterations_of(job),
        _spent(job),
        worker_of(job),
        age(now - since) if since else "",
        str(moved) if moved else "",
        title_of(job),
        _why(job, now),
    )


def _spent(job: JobView) -> str:
    cost, tokens = cost_of(job), tokens_of(job)
    parts = [money(cost) if cost is not None else "", f"{compact(tokens)} tokens" if tokens else ""]
    return ", ".join(filter(None, parts))


def _why(job: JobView, now: float) -> str:
    until = job.progress.until
    left = f"{age(until - now, ago=False)} left" if job.is_open and until > now else ""
    return ": ".join(filter(None, (left, reason_of(job))))


def job_data(job: JobView) -> dict[str, Any]:
    """One job, for every ``--json``."""
    last = job.progress.last
    return {
        "id": job.spec.id,
        "state": state_of(job).value,
        "open": job.is_open,
        "reason": reason_of(job),
        "iteration": last.iteration,
        "maximum": last.maximum,
        "cost_usd": cost_of(job),
        "tokens": tokens_of(job),
        "worker": job.progress.worker,
        "since": since_of(job),
        "until": job.progress.until or None,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "repository": job.spec.repository,
        "base": job.spec.base,
        "branch": job.spec.branch,
        "commit": last.commit,
        "merged": last.merged,
        "run": last.run_id,
        "outcome": last.outcome,
        "exit_code": last.exit_code,
        "title": title_of(job),
        "command": list(job.spec.command),
        "labels": list(job.spec.labels),
        "priority": job.spec.priority,
        "needs": list(job.spec.needs),
        "unmet": list(job.progress.unmet),
        "lost_shifts": job.progress.lost_shifts,
        "submitted_by": job.spec.submitted_by,
    }


def _json(jobs: list[JobView], *, problem: str = "", indent: int | None = 2) -> str:
    import json

    more = {"problem": problem} if problem else {}
    return json.dumps({"jobs": [job_data(job) for job in jobs], "count": len(jobs), **more}, indent=indent)
