"""``ralph export``: a run as one file, to continue it on another machine."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ralph.interfaces.cli.options import PATH, json_option, print_json, project_dir_option, state_folder

HELP = """Write RUN into one file, with everything that `ralph resume` needs of the record: its state, its events, its sessions,
its tasks, what it began with. RUN is a run's name, its beginning or end, `last`, or a task.

On the other machine, `ralph import FILE` in a clone of the repository puts it on record there, and `ralph resume` continues it:
same count, spend, feedback and limits. The code is not in the file: commit what the run has left, and push it.

Secrets are masked, in the run's prompt and flags too. A run that is under way is exported as it is now, and continues here.

\b
Examples:
  ralph export last
  ralph export ab12 -o run.tar.gz
  ralph export last -o - | ssh build 'cd project && ralph import --trust -'
"""


@click.command("export", help=HELP)
@click.argument("run")
@click.option(
    "-o", "--output", metavar="FILE", type=PATH, help="Where to write it.  [default: RUN.ralph.tar.gz]"
)
@json_option("What was written, as JSON.")
@project_dir_option
def command(run: str, output: Path | None, as_json: bool, project_dir: Path | None) -> None:
    from ralph.errors import UsageError
    from ralph.operations.runs.portable import export_run

    to_stdout = output is not None and str(output) == "-"
    if to_stdout and (as_json or sys.stdout.isatty()):
        message = "the archive itself would go to standard output"
        raise UsageError(message, hint="name a file with -o, or leave out --json")
    exported = export_run(state_folder(project_dir), run, output)
    code, where = exported.code, str(exported.file or "")
    if as_json:
        about = {
            "run": exported.run.id,
            "runs": list(exported.runs),
            "file": where,
            "commit": code.commit or None,
        }
        print_json({**about, "branch": code.branch or None, "clean": code.is_clean, "masked": code.is_masked})
    elif not to_stdout:
        print(where)
    if exported.run.live:
        _tell(f"run {exported.run.id} is under way: this is how it stood")
    if not code.is_clean:
        _tell("its working tree has changes that are not committed; they are not in the file")
    if code.is_masked:
        _tell("secrets in its prompt or flags were masked: it cannot be resumed with them")


def _tell(text: str) -> None:
    print(f"ralph: {text}", file=sys.stderr)
