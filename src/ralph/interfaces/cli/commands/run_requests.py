"""``ralph stop``, ``pause``, ``unpause`` and ``steer``: ask something of a run in another process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.interfaces.cli.options import project_dir_option

if TYPE_CHECKING:
    from ralph.domain.loop.asks import Ask

ANSWER_WITHIN = 3.0


@click.command("stop")
@click.argument("run", required=False)
@click.option("--now", is_flag=True, help="End the agent and everything it started at once.")
@project_dir_option
def stop(run: str | None, now: bool, project_dir: Path | None) -> None:
    """Stop the run that is under way here (or RUN), like Ctrl-C in its own terminal.

    The current session or guardrail finishes first; --now ends it at once. The run exits with 130 and can be resumed.
    A run that has ended and waits for something outside is cancelled.
    """
    from ralph.domain.loop.asks import Ask

    done = "stopping now" if now else "stopping after the current step"
    _ask(Ask.STOP_NOW if now else Ask.STOP, run, project_dir, done=done)


@click.command("pause")
@click.argument("run", required=False)
@project_dir_option
def pause(run: str | None, project_dir: Path | None) -> None:
    """Pause the run that is under way here (or RUN) when its current session is over.

    Nothing new is started until `ralph unpause`; `ralph stop` ends the run.
    """
    from ralph.domain.loop.asks import Ask

    _ask(Ask.PAUSE, run, project_dir, done="pausing after the current session")


@click.command("unpause")
@click.argument("run", required=False)
@project_dir_option
def unpause(run: str | None, project_dir: Path | None) -> None:
    """Continue the paused run here (or RUN)."""
    from ralph.domain.loop.asks import Ask

    _ask(Ask.UNPAUSE, run, project_dir, done="continuing")


@click.command("steer")
@click.argument("text")
@click.option("--run", metavar="RUN", help="The run to steer.  [default: the one under way here]")
@project_dir_option
def steer(text: str, run: str | None, project_dir: Path | None) -> None:
    """Add TEXT to the next prompt of the run that is under way here, once.

    \b
    Example:
      ralph steer "Leave the parser alone; fix the tests in tests/api first."
    """
    from ralph.domain.loop.asks import Ask

    # The run takes the note when it writes its next prompt, which may be much later: do not wait for that.
    _ask(Ask.STEER, run, project_dir, text=text, done="noted for the next prompt", wait=False)


def _ask(
    request: Ask,
    reference: str | None,
    project_dir: Path | None,
    *,
    done: str,
    text: str = "",
    wait: bool = True,
) -> None:
    """Record the request; print ``done`` when the run has heard it, or that it has not yet."""
    from ralph.config.root import STATE_FOLDER, find_root
    from ralph.domain.loop.asks import Ask
    from ralph.operations.runs.ask import Answer, ask
    from ralph.operations.runs.choose import live_run, stoppable_run

    root = find_root(Path.cwd(), project_dir)
    choose = stoppable_run if request in (Ask.STOP, Ask.STOP_NOW) else live_run
    run = choose(root, reference)
    seconds = ANSWER_WITHIN if wait else 0.0
    answer = ask(root.state / STATE_FOLDER, run.id, request, text=text, wait_seconds=seconds)
    if answer is Answer.CANCELLED:
        print(f"cancelled: run {run.id}, which was waiting", file=sys.stderr)
    elif answer is Answer.ASKED and wait:
        print(f"ralph: run {run.id} has not answered yet; the request is kept for it", file=sys.stderr)
    else:
        print(f"{done}: run {run.id}", file=sys.stderr)
