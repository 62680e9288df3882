"""``ralph stop``: end a run from another terminal."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("stop", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("run", required=False)
@click.option("--now", is_flag=True, help="End the agent and everything it started at once.")
@click.option("--project-dir", metavar="DIR", type=click.Path(path_type=Path), help="Project to look in.")
def command(run: str | None, now: bool, project_dir: Path | None) -> int:
    """Stop the run that is under way here (or RUN), like Ctrl-C in its own terminal.

    The present session or guardrail may finish first; --now ends it. The run exits with 130 and can be resumed.
    """
    from ralph.adapters.storage.controls import Ask
    from ralph.interfaces.cli.asking import ask, cancel_waiting

    if cancel_waiting(project_dir, run):
        return 0
    request = Ask.STOP_NOW if now else Ask.STOP
    done = "stopping now" if now else "stopping after the present step"
    return ask(request, project_dir=project_dir, reference=run, done=done)
