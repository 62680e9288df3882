"""``ralph report``: a run as one file to keep, or to attach to a pull request."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ralph.domain.views.runs import LAST
from ralph.interfaces.cli.options import PATH, project_dir_option, state_folder

HELP = """Write a report of RUN: the outcome, what was asked, each iteration, the checks with their receipts, what was
changed, cost and time. RUN is a run's name, its beginning or end, `last` (the default), or a task.

HTML is one page with nothing from outside. In a terminal it is written to a file among the run's own; -o names another. In a
pipe, and with `-o -`, it is written to standard output.

\b
Examples:
  ralph report --open
  ralph report last -o report.html
  ralph report --format md | gh pr comment --body-file -
  ralph report --format json | jq .verdict
"""


@click.command("report", help=HELP)
@click.argument("run", default=LAST)
@click.option("-o", "--output", metavar="FILE", type=PATH, help="Where to write it.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md", "markdown", "json"]),
    help="What to write.  [default: as FILE's name says, else html]",
)
@click.option("--open", "show", is_flag=True, help="Open it in your browser.")
@project_dir_option
def command(run: str, output: Path | None, form: str | None, show: bool, project_dir: Path | None) -> None:
    import asyncio

    from ralph.errors import UsageError
    from ralph.interfaces.report.formats import Format, format_for, report_text
    from ralph.operations.output_file import write_output
    from ralph.operations.runs.files import RunFiles
    from ralph.operations.runs.read import require_record
    from ralph.operations.watch import open_feed

    folder = state_folder(project_dir)
    with require_record(folder) as record:
        run_id = record.find(run)
    if show and output is not None and str(output) == "-":
        message = "--open needs a file, and `-o -` is standard output"
        raise UsageError(message, hint="leave out one of them")
    by_name = format_for(output) if output is not None else None
    asked = format_for(Path(f"report.{form}")) if form is not None else None
    chosen = asked or by_name or Format.HTML
    is_kept = output is None and (show or (chosen is Format.HTML and sys.stdout.isatty()))
    with open_feed(folder) as feed:
        text = asyncio.run(report_text(feed, run_id, chosen))
    if is_kept:  # with the run's own files: it must not turn up among those of the project
        by_name, output = chosen, RunFiles(folder, run_id).write(f"report.{chosen.value}", text)
    elif output is None or str(output) == "-":
        sys.stdout.buffer.write(text.encode())
        return
    else:
        write_output(output, text)
    # A name that says nothing about the format does not show what is in the file.
    about = f" ({chosen.value}; --format chooses another)" if by_name is None and form is None else ""
    print(f"wrote {os.path.relpath(output) if is_kept else output}{about}", file=sys.stderr)
    if show:
        _open(output, folder)


def _open(file: Path, folder: Path) -> None:
    from ralph.operations.browser import open_file

    if why_not := open_file(file, state_folder=folder):
        print(f"It was not opened: {why_not}. Open {file.absolute()} yourself.", file=sys.stderr)
