"""``ralph plan archive``: put a plan away with a summary, start a new one, and commit."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.domain.text.safe_text import is_text
from ralph.errors import StoreError, UsageError
from ralph.interfaces.cli.plans.options import plan_options, the_plan

HELP = """Move prd.md, tasks.json and progress.txt to ralph-archive/ with a summary, start a new plan, and commit.

If anything goes wrong, the plan is put back. If git cannot commit, the next `ralph plan archive` tries that again.

\b
Examples:
  ralph plan archive
  ralph plan archive --label search-filters
"""


@click.command("archive", help=HELP)
@click.option("--label", metavar="LABEL", help="Name of the archive, instead of the branch name.")
@plan_options
def command(label: str | None, project_dir: Path | None, ralph_dir: Path | None) -> None:
    from ralph.operations.plans import archive_plan

    if label is not None and (not is_text(label) or not label.strip()):
        message = "--label is not a name"
        raise UsageError(message, hint="use letters, digits, dots and dashes")
    plan = the_plan(project_dir, ralph_dir)
    if note := plan.unjudged_note:
        click.echo(f"note: {note}", err=True)
    archived = archive_plan(plan, label=label)
    if archived.was_unreadable:
        click.echo("warning: what ralph remembered of the plan cannot be read: set aside", err=True)
    if archived.commit_error:
        message = f"archived to {archived.folder}, but git could not commit it: {archived.commit_error}"
        raise StoreError(
            message, hint="fix what git reports, then run `ralph plan archive` again to commit it"
        )
    if archived.earlier:
        click.echo(f"committed {archived.folder}, which was not committed yet")
        return
    click.echo(f"archived to {archived.folder}: {archived.done} of {archived.total} stories completed")
    click.echo("committed" if archived.in_repository else "not committed: this is not a git repository")
