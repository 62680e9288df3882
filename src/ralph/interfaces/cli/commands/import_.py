"""``ralph import``: put a run that was exported elsewhere on record here."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.interfaces.cli.options import (
    PATH,
    is_trust_given,
    json_option,
    print_json,
    project_dir_option,
    trust_option,
)

if TYPE_CHECKING:
    from ralph.operations.runs.portable import Arrived, Imported

HELP = """Put a run on record here that `ralph export` wrote on another machine; `-` reads it from standard input.

A run names commands, so ralph shows what it would run, and asks; --trust agrees. `ralph resume` then continues it, with the
settings of this machine, if the working tree has the code: import says which commit the run was at, and whether it is here.

To import the same file again changes nothing. A run that has continued here since is kept, and the file is refused.

Exit codes: 0 imported, or here already · 2 no such file, or not trusted · 4 no archive of `ralph export`, damaged, too new, or
another run of that name is here

\b
Examples:
  ralph import run.tar.gz
  ralph import --trust run.tar.gz && ralph resume
"""


@click.command("import", help=HELP)
@click.argument("file", type=PATH)
@trust_option
@json_option("What was imported, as JSON.")
@project_dir_option
def command(file: Path, as_json: bool, project_dir: Path | None) -> None:
    from ralph.config.root import find_root
    from ralph.operations.runs.portable import import_run, open_export

    root = find_root(Path.cwd(), project_dir)
    with open_export(None if str(file) == "-" else file) as arrived:
        _require_trust(arrived, root.state)
        imported = import_run(arrived, root)
    code = imported.code
    if as_json:
        about = {"run": imported.run.id, "runs": list(imported.runs), "new": imported.is_new}
        place = {"commit": code.commit or None, "branch": code.branch or None, "clean": code.is_clean}
        found = {"commitHere": imported.has_commit, "checkedOut": imported.is_checked_out}
        print_json({**about, **place, **found, "masked": code.is_masked})
    else:
        print(imported.run.id)
    for line in _remarks(imported):
        print(f"ralph: {line}", file=sys.stderr)


def _require_trust(arrived: Arrived, project: Path) -> None:
    """Raises UntrustedProject after a no, or if there is nobody to ask."""
    from ralph.operations.agreement import VARIABLE, is_waived

    if is_trust_given() or is_waived(os.environ) or not arrived.demands:
        return
    from ralph.errors import UntrustedProject
    from ralph.interfaces.cli.trust_question import ask, can_ask, show
    from ralph.operations.trust import Standing

    standing = Standing(project=project, asked=arrived.demands, new=arrived.demands)
    if not can_ask():
        show(standing)
        message = f"run {arrived.code.run} comes from elsewhere, and there is no terminal to ask on"
        raise UntrustedProject(message, hint=f"if you trust what it would run: --trust, or {VARIABLE}=1")
    ask(standing)


def _remarks(imported: Imported) -> list[str]:
    run, code = imported.run, imported.code
    told = [f"run {run.id} is on record here" + ("" if imported.is_new else " already; nothing has changed")]
    commit = code.commit[:12] + (f" ({code.branch})" if code.branch else "")
    if imported.has_commit is False:
        told.append(f"it was at commit {commit}, which is not here: fetch it before you resume the run")
    elif code.commit and not imported.is_checked_out:
        told.append(f"it was at commit {commit}, which is here, but not checked out")
    elif code.commit:
        told.append(f"it was at commit {commit}, as this working tree is")
    if not code.is_clean:
        told.append("it had changes that were not committed, and they did not come along")
    if code.is_masked:
        told.append("secrets in its prompt or flags were masked when it was exported")
    return told
