"""``ralph fleet steer``, ``pause``, ``unpause``, ``stop`` and ``retry``: ask something of a job, wherever it is."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ralph.domain.fleet.board import JobAsk, is_idle
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.fleet.asking import job_argument, open_desk

_jobs_argument = click.argument("jobs", metavar="JOB...", nargs=-1, required=True)


@click.command("steer")
@job_argument
@click.argument("text")
def steer(job: str, text: str) -> None:
    """Add TEXT to the next prompt of a job, once.

    \b
    Example:
      ralph fleet steer shop-3f2a1c "Leave the parser alone."
    """
    _ask([job], JobAsk.STEER, text, done="noted for the next prompt")


@click.command("pause")
@_jobs_argument
def pause(jobs: tuple[str, ...]) -> None:
    """Pause jobs, each when its current session is over.

    Nothing new is started until `ralph fleet unpause`; `ralph fleet stop` ends a job.
    """
    _ask(jobs, JobAsk.PAUSE, done="pausing after the current session")


@click.command("unpause")
@_jobs_argument
def unpause(jobs: tuple[str, ...]) -> None:
    """Continue paused jobs."""
    _ask(jobs, JobAsk.UNPAUSE, done="continuing", idle="was not paused")


@click.command("stop")
@_jobs_argument
@click.option("--now", is_flag=True, help="End the agent and everything it started at once.")
def stop(jobs: tuple[str, ...], now: bool) -> None:
    """Stop jobs, like Ctrl-C in the terminal of a run.

    The current session or guardrail finishes first; --now ends it at once. What was done is kept: `ralph fleet retry`
    continues.
    """
    done = "stopping now" if now else "stopping after the current step"
    _ask(jobs, JobAsk.STOP_NOW if now else JobAsk.STOP, done=done)


@click.command("retry")
@_jobs_argument
def retry(jobs: tuple[str, ...]) -> None:
    """Continue jobs that have ended without being completed: stopped, at a limit, failed.

    Each continues where it stopped, with its branch and its record; what counts faults and standstill starts over.
    """
    _ask(jobs, JobAsk.RETRY, done="continuing where it stopped")


def _ask(jobs: Sequence[str], asked: JobAsk, text: str = "", *, done: str, idle: str = "") -> None:
    """``idle``: what to say of a job of which nobody need have asked that."""
    from ralph.operations.fleet.jobs import ask_of_job, find_job

    with open_desk() as desk:
        for name in jobs:
            job = find_job(desk, name)
            ask_of_job(desk, job.spec.id, asked, text)  # in any case: what is seen is a moment old
            said = idle if idle and is_idle(job, asked) else done
            print(f"{said}: job {clean_line(job.spec.id)}", file=sys.stderr)
