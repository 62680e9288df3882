"""``ralph steer``: say something to a run under way."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.errors import UsageError
from ralph.interfaces.cli.argument_text import is_text


@click.command("steer", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("text")
@click.option("--run", metavar="RUN", help="The run to steer.  [default: the one under way here]")
@click.option("--project-dir", metavar="DIR", type=click.Path(path_type=Path), help="Project to look in.")
def command(text: str, run: str | None, project_dir: Path | None) -> int:
    """Put TEXT into the next prompt of the run that is under way here, once.

    \b
    ralph steer "Leave the parser alone; fix the tests in tests/api first."
    """
    from ralph.adapters.storage.controls import Ask
    from ralph.interfaces.cli.asking import ask

    if not text.strip():
        message = "the text is empty"
        raise UsageError(message, hint="say what the agent is to hear")
    if not is_text(text):
        message = "the text is not UTF-8"
        raise UsageError(message, hint="write it in a UTF-8 terminal")
    return ask(
        Ask.STEER,
        project_dir=project_dir,
        reference=run,
        text=text,
        done="told in the next prompt",
        wait=False,  # it is taken when the next prompt is made, which may be much later
    )
