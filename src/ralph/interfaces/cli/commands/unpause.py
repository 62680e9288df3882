"""``ralph unpause``: let a paused run continue."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.interfaces.cli.project_option import project_dir_option
from ralph.interfaces.cli.run_request import CONTEXT, ask_run


@click.command("unpause", context_settings=CONTEXT)
@click.argument("run", required=False)
@project_dir_option
def command(run: str | None, project_dir: Path | None) -> int:
    """Continue the paused run here (or RUN)."""
    from ralph.domain.loop.asks import Ask

    return ask_run(Ask.UNPAUSE, project_dir=project_dir, reference=run, done="continuing")
