"""``ralph export``: a run as one file, to continue it on another machine."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.interfaces.cli.options import PATH, json_option, print_json, project_dir_option, state_folder

if TYPE_CHECKING:
    from ralph.operations.runs.portable import Exported

HELP = """Write RUN into one file, with everything that `ralph resume` needs of the record: its state, its events, its sessions,
its tasks, what it began with. RUN is a run's name, its beginning or end, `last`, or a task.

On the other machine, `ralph import FILE` in a clone of the repository puts it on record there, and `ralph resume` continues it:
same count, spend, feedback and limits. The code is not in the file: commit and push your changes first.

Secrets are masked, in the run's prompt and flags too. A run that is under way is exported as it is now, and continues here:
stop it first if you want to continue it elsewhere.

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
    for line in _remarks(exported):
        print(line, file=sys.stderr)


def _remarks(exported: Exported) -> Iterator[str]:
    run, code = exported.run, exported.code
    commit = code.commit[:12] + (f" ({code.branch})" if code.branch else "")
    yield f"exported run {run.id}" + (", which is under way, as it is now" if run.live else "")
    if code.is_masked:
        yield "   Secrets in its prompt or flags were masked: it cannot be resumed with them."
    if not code.is_clean:
        yield "   First:       commit and push your changes: what is not committed is not in the file"
    elif commit:
        yield f"   First:       push commit {commit}, if it is not on the remote: the code is not in the file"
    file = shlex.quote(exported.file.name) if exported.file else "FILE"
    yield f"   To continue: copy the file; in a clone on the other machine: `ralph import {file}`, then `ralph resume`"
