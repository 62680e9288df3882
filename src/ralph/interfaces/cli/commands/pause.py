"""``ralph pause``: make a run wait after its current session."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.interfaces.cli.project_option import project_dir_option
from ralph.interfaces.cli.run_request import CONTEXT, ask_run


@click.command("pause", context_settings=CONTEXT)
@click.argument("run", required=False)
@project_dir_option
def command(run: str | None, project_dir: Path | None) -> int:
    """Pause the run that is under way here (or RUN) when its current session is over.

    Nothing new is started until `ralph unpause`; `ralph stop` ends the run.
    """
    from ralph.domain.loop.asks import Ask

    return ask_run(
        Ask.PAUSE, project_dir=project_dir, reference=run, done="pausing after the current session"
    )
