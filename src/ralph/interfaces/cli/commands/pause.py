"""``ralph pause``: let a run wait after the present session."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("pause", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("run", required=False)
@click.option("--project-dir", metavar="DIR", type=click.Path(path_type=Path), help="Project to look in.")
def command(run: str | None, project_dir: Path | None) -> int:
    """Pause the run that is under way here (or RUN) when its present session is over.

    Nothing is started until `ralph unpause`, or `ralph stop` ends it.
    """
    from ralph.adapters.storage.controls import Ask
    from ralph.interfaces.cli.asking import ask

    return ask(Ask.PAUSE, project_dir=project_dir, reference=run, done="pausing after the present session")
