"""``ralph unpause``: let a paused run go on."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("unpause", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("run", required=False)
@click.option("--project-dir", metavar="DIR", type=click.Path(path_type=Path), help="Project to look in.")
def command(run: str | None, project_dir: Path | None) -> int:
    """Let the paused run here (or RUN) go on."""
    from ralph.adapters.storage.controls import Ask
    from ralph.interfaces.cli.asking import ask

    return ask(Ask.UNPAUSE, project_dir=project_dir, reference=run, done="going on")
