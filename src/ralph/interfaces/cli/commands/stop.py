"""``ralph stop``: end a run from another terminal."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.interfaces.cli.project_option import project_dir_option
from ralph.interfaces.cli.run_request import CONTEXT, ask_run


@click.command("stop", context_settings=CONTEXT)
@click.argument("run", required=False)
@click.option("--now", is_flag=True, help="End the agent and everything it started at once.")
@project_dir_option
def command(run: str | None, now: bool, project_dir: Path | None) -> int:
    """Stop the run that is under way here (or RUN), like Ctrl-C in its own terminal.

    The current session or guardrail finishes first; --now ends it at once. The run exits with 130 and can be resumed.
    A run that ended to wait for something outside is cancelled.
    """
    from ralph.domain.loop.asks import Ask

    request = Ask.STOP_NOW if now else Ask.STOP
    done = "stopping now" if now else "stopping after the current step"
    return ask_run(request, project_dir=project_dir, reference=run, done=done)
