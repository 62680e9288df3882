"""``ralph plan new``: the files of a plan, from templates."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.config.root import find_root
from ralph.domain.text.safe_text import is_text
from ralph.errors import UsageError
from ralph.interfaces.cli.plans.options import plan_options
from ralph.operations.plans import MadePlan, new_plan

HELP = """Start a plan in ralph/. Files that exist are never overwritten.

\b
Examples:
  ralph plan new --name search-filters
  ralph plan new --ralph-dir plans/search
"""


@click.command("new", help=HELP)
@click.option("--name", metavar="FEATURE", help="The feature's name: the branch becomes ralph/FEATURE.")
@plan_options
def command(name: str | None, project_dir: Path | None, ralph_dir: Path | None) -> None:
    if name is not None and not is_text(name):
        message = "--name is not UTF-8 text"
        raise UsageError(message, hint="use letters, digits, dots and dashes")
    root = find_root(Path.cwd(), project_dir)
    made = new_plan(root, ralph_dir, name=name)
    _report(made, root.workspace, named=name is not None)


def _report(made: MadePlan, root: Path, *, named: bool) -> None:
    shown = made.folder.relative_to(root)
    for file in made.written:
        click.echo(f"wrote {shown / file}")
    for file in made.kept:
        click.echo(f"kept  {shown / file} (it already exists)")
    if made.ignored:
        click.echo("added .ralph-active to .gitignore: that file is there while a session works on the plan")
    if named and "tasks.json" in made.kept:
        click.echo("note: --name does not change a tasks.json that already exists")
    click.echo(
        f"""
Next steps:
  1. Write in {shown}/prd.md what you want, why, and what is out of scope.
  2. Fill in the stories in {shown}/tasks.json: title, acceptanceCriteria, verifyCommands.
     (`ralph plan draft "what you want"` lets your agent write both; in Claude Code, /ralph:ralph-plan does.)
  3. ralph plan check      is anything missing?
  4. ralph plan status     what comes first, and roughly how many iterations it takes
  5. Commit the plan, then start the loop: ralph plan run"""
    )
