"""``ralph fleet show``: a job, where its work is, and each iteration of its run."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ralph.domain.fleet.board import describe_job, reason_of, since_of, title_of, worker_of
from ralph.domain.text.figures import age, plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import LAST, RunState, RunView
from ralph.errors import RalphError, UsageError
from ralph.interfaces.cli.fleet.asking import job_argument, open_desk
from ralph.interfaces.cli.fleet.status import job_data
from ralph.interfaces.cli.folding import print_folded
from ralph.interfaces.cli.options import Count, json_option, print_json
from ralph.interfaces.cli.terminal import Colors, colors_of, detect_look
from ralph.values import replace

if TYPE_CHECKING:
    from ralph.domain.fleet.views import JobView

HELP = """Show a job: its repository and branch, where it runs and why it stands where it does; then each iteration of its run, as
`ralph show` shows it. The record comes from the git remote, so whatever has been judged is in it; the session under way is not
(`ralph fleet logs -f` shows that). With --iteration, the prompt and the logs of the checks are printed in full.

JOB is a job's name, its beginning or end, or `last`.

\b
Examples:
  ralph fleet show shop-3f2a1c
  ralph fleet show shop-3f2a1c -i 2
  ralph fleet show shop-3f2a1c --json | jq '.iterations[].decision'
"""
_STATES = {"paused": RunState.PAUSED, "waiting": RunState.WAITING}


@click.command("show", help=HELP)
@job_argument
@click.option(
    "-i",
    "--iteration",
    type=Count(),
    metavar="N",
    help="Only this iteration, with its prompt and logs in full.",
)
@json_option("Print it as JSON.")
def command(job: str, iteration: int | None, as_json: bool) -> None:
    from ralph.operations.fleet.jobs import find_job

    with open_desk() as desk:
        view = find_job(desk, job)
    if not as_json and iteration is None:
        print_folded("\n".join(_lines(view, colors_of(detect_look(sys.stdout)), time.time())))
    if view.sealed and not as_json and iteration is None:
        return
    try:
        is_shown = _show_record(view, iteration, as_json=as_json)
    except RalphError as error:
        if as_json or iteration is not None:
            raise
        print(f"ralph: its record cannot be read from here: {error.message}", file=sys.stderr)
        return
    if is_shown:
        return
    if iteration is not None:
        message = f"job {clean_line(view.spec.id)} has no iteration {iteration}"
        raise UsageError(message, hint="nobody has worked on it yet")
    if as_json:
        print_json({"job": job_data(view), "run": None, "iterations": [], "tasks": []})


def _show_record(view: JobView, iteration: int | None, *, as_json: bool) -> bool:
    """False: there is none yet."""
    from ralph.interfaces.cli.commands.show import show_run
    from ralph.operations.fleet.record import fetched_record
    from ralph.operations.runs.read import open_record

    with fetched_record(view.spec) as folder:
        record = None if folder is None else open_record(folder)
        if record is None:
            return False
        with record:
            run = _as_it_is(record.view(view.progress.last.run_id or LAST), view)
            if not as_json and iteration is None:
                print()
            parts = record.tasks_of(run.id)
            if iteration is not None and len(parts) == 1:  # the one that has the iterations
                run = replace(record.run(parts[0][0]) or run, root=run.root)
            files = f"ralph fleet show {clean_line(view.spec.id)} --iteration"
            show_run(record, run, iteration, as_json=as_json, job=job_data(view), elsewhere=files)
    return True


def _as_it_is(run: RunView, job: JobView) -> RunView:
    """Where we look at it no process has the run, though the job may be under way."""
    run = replace(run, root=f"{job.spec.repository}, branch {job.spec.branch}")
    if run.state is not RunState.INTERRUPTED:
        return run
    if not job.is_open:
        return replace(run, state=RunState.CANCELLED, reason=reason_of(job))
    state = _STATES.get(job.progress.phase, RunState.RUNNING)
    return replace(run, state=state, live=True, reason=reason_of(job))


def _lines(job: JobView, colors: Colors, now: float) -> Iterator[str]:
    spec, progress = job.spec, job.progress
    last, wording = progress.last, describe_job(job)
    yield f"{colors.bold}job {clean_line(spec.id)}{colors.off}  {clean_line(title_of(job))}"
    reason = reason_of(job)
    since = f", {age(now - since_of(job))}" if since_of(job) else ""
    lost = f"; {plural(progress.lost_shifts, 'session')} lost with a worker" if progress.lost_shifts else ""
    pairs = (
        ("state", f"{wording.words}{since}{f': {reason}' if reason else ''}"),
        ("next", last.hint),
        ("repository", spec.repository),
        ("base", spec.base),
        ("branch", f"{spec.branch}{f' at {last.commit[:12]}' if last.commit else ''}"),
        ("worker", f"{worker_of(job)}{lost}".removeprefix("; ")),
        ("labels", ", ".join(spec.labels)),
        ("needs", ", ".join(spec.needs)),
        ("needed by", ", ".join(spec.feeds)),
        ("notes", "; ".join(note.text for note in progress.notes)),
        ("submitted", f"by {spec.submitted_by}, {age(now - spec.submitted_at)}" if spec.submitted_at else ""),
    )
    yield from (f"  {name:<10}  {clean_line(value)}" for name, value in pairs if value)
