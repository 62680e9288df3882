"""``ralph plan archive``: a plan is put away, summed up, reset and committed."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

import click

from ralph.adapters.documents.plan_archive import archive_plan
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.storage.files import write_atomic
from ralph.adapters.workspace.plan_repository import GitPlanRepository
from ralph.config.root import STATE_FOLDER, find_root, git_top
from ralph.errors import StoreError, UsageError
from ralph.interfaces.cli.argument_text import is_text
from ralph.interfaces.cli.plans.place import HELP_NAMES, plan_files, plan_options, without_a_run
from ralph.wiring.plan_memory import forget_unjudged, unjudged_note


@click.command("archive", context_settings=HELP_NAMES)
@click.option("--label", metavar="LABEL", help="Names the archive, instead of the branch.")
@plan_options
def command(label: str | None, project_dir: Path | None, ralph_dir: Path | None) -> None:
    """Move prd.md, tasks.json and progress.txt to ralph-archive/, with a summary; start afresh; commit."""
    if label is not None and (not is_text(label) or not label.strip()):
        message = "--label is not a name"
        raise UsageError(message, hint="use letters, digits, dots and dashes")
    files = plan_files(project_dir, ralph_dir)
    root, folder = files.root, files.path
    state = find_root(Path.cwd(), project_dir).state / STATE_FOLDER
    with without_a_run(project_dir):
        if note := unjudged_note(state, folder):
            click.echo(f"note: {note}", err=True)
        archived = archive_plan(
            root.resolve(), folder, label=label, date=time.strftime("%Y-%m-%d"), write=write_atomic
        )
        forget_unjudged(state, folder)
        shown = archived.folder.relative_to(root.resolve())
        click.echo(f"archived to {shown}: {archived.done} of {archived.total} stories completed")
        if git_top(root) is None:
            click.echo("not committed: this is no git repository")
            return
        if error := asyncio.run(_commit(root, archived.paths, f"chore: archive the plan {shown.name}")):
            message = f"archived to {shown}, but git could not commit it: {error}"
            raise StoreError(message, hint=f"commit {shown} and the plan's directory yourself")
        click.echo("committed")


async def _commit(root: Path, paths: tuple[str, ...], message: str) -> str:
    runner = PosixProcessRunner(run_id="plan-archive", base_environment=os.environ)
    with tempfile.TemporaryDirectory(prefix="ralph-") as aside:
        return await GitPlanRepository(root, runner, aside=Path(aside)).commit(paths, message)
