"""``ralph steer``: add a note to the next prompt of a run."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.interfaces.cli.project_option import project_dir_option
from ralph.interfaces.cli.run_request import CONTEXT, ask_run


@click.command("steer", context_settings=CONTEXT)
@click.argument("text")
@click.option("--run", metavar="RUN", help="The run to steer.  [default: the one under way here]")
@project_dir_option
def command(text: str, run: str | None, project_dir: Path | None) -> int:
    """Add TEXT to the next prompt of the run that is under way here, once.

    \b
    ralph steer "Leave the parser alone; fix the tests in tests/api first."
    """
    from ralph.domain.loop.asks import Ask

    return ask_run(
        Ask.STEER,
        project_dir=project_dir,
        reference=run,
        text=text,
        done="noted for the next prompt",
        wait=False,  # it is taken when the next prompt is made, which may be much later
    )
