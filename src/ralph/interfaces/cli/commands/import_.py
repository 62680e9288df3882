"""``ralph import``: put a run that was exported elsewhere on record here."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
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
from ralph.interfaces.cli.termination import sigterm_as_ctrl_c

if TYPE_CHECKING:
    from ralph.operations.runs.portable import Arrived, Imported

HELP = """Put a run on record here that `ralph export` wrote on another machine; `-` reads it from standard input.

A run can bring options that name commands, so ralph shows them and asks; --trust agrees. `ralph resume` then continues it, with
the settings of this machine, if the working tree has the code: import says which commit the run was at, and whether it is here.
The settings of this project are another question, which `ralph resume` asks if you have not answered it yet.

To import the same file again changes nothing. A run that has continued here since is kept, and the file is refused.

Exit codes: 0 imported, or here already · 2 no such file, or not trusted · 4 no archive of `ralph export`, damaged, too new, or
another run of that name is here

\b
Examples:
  ralph import run.tar.gz
  ralph import --trust run.tar.gz && ralph resume --trust
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
    with sigterm_as_ctrl_c(), open_export(None if str(file) == "-" else file) as arrived:
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
        print(line, file=sys.stderr)


def _require_trust(arrived: Arrived, project: Path) -> None:
    """Raises UntrustedProject after a no, or if there is nobody to ask."""
    from ralph.operations.agreement import VARIABLE, is_waived

    if is_trust_given() or is_waived(os.environ) or not arrived.demands:
        return
    from ralph.domain.text.safe_text import clean_line
    from ralph.errors import UntrustedProject
    from ralph.interfaces.cli.trust_question import ask, can_ask, show
    from ralph.operations.trust import Standing

    title = f"run {clean_line(arrived.code.run)} comes from elsewhere. If you import it, `ralph resume`"
    standing = Standing(project=project, asked=arrived.demands, new=arrived.demands)
    if not can_ask():
        show(standing, title=title)
        message = f"run {arrived.code.run} comes from elsewhere, and there is no terminal to ask on"
        raise UntrustedProject(message, hint=f"if you trust what it would run: --trust, or {VARIABLE}=1")
    ask(standing, title=title, question="Import it?", after_no="nothing was imported")


def _remarks(imported: Imported) -> Iterator[str]:
    from ralph.domain.text.safe_text import clean_line
    from ralph.domain.views.next_steps import words_to_resume

    run, code = imported.run, imported.code
    commit = code.commit[:12] + (f" ({code.branch})" if code.branch else "")
    before = ""
    yield (
        f"imported run {run.id}" if imported.is_new else f"run {run.id} is here already; nothing has changed"
    )
    if imported.has_commit is False:
        yield "   " + clean_line(f"It was at commit {commit}, which is not here.")
        before = "fetch and check out that commit, then "
    elif code.commit and not imported.is_checked_out:
        yield "   " + clean_line(f"It was at commit {commit}, which is here, but not checked out.")
        before = "check out that commit, then "
    elif code.commit:
        yield "   " + clean_line(f"It was at commit {commit}, which is checked out here.")
    if not code.is_clean:
        yield "   It had changes that were not committed; they did not come along."
    if code.is_masked:
        yield "   Secrets in its prompt or flags were masked when it was exported."
    if words := words_to_resume(run):
        yield f"   To continue: {before}`{shlex.join(('ralph', *words))}`"
    else:
        yield f"   To look at it: `{shlex.join(('ralph', 'show', run.id))}`"
