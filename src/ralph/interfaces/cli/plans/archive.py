"""``ralph plan archive``: a plan is put away, summed up, reset and committed."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from ralph.adapters.documents.plan_archive import ARCHIVE, MOVED, NothingToArchive, archive_plan
from ralph.adapters.files import write_atomic
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.plan_repository import GitPlanRepository
from ralph.config.root import STATE_FOLDER, find_root, git_top
from ralph.errors import StoreError, UsageError
from ralph.interfaces.cli.argument_text import is_text
from ralph.interfaces.cli.plans.place import HELP_NAMES, plan_files, plan_options, without_a_run
from ralph.wiring.plan_memory import forget_unjudged, unjudged_note

HELP = """Move prd.md, tasks.json and progress.txt to ralph-archive/, with a summary; start afresh; commit.

If anything goes wrong, the plan is put back. What git could not commit, the next `ralph plan archive` commits.

\b
Examples:
  ralph plan archive
  ralph plan archive --label search-filters
"""


@click.command("archive", help=HELP, context_settings=HELP_NAMES)
@click.option("--label", metavar="LABEL", help="Names the archive, instead of the branch.")
@plan_options
def command(label: str | None, project_dir: Path | None, ralph_dir: Path | None) -> None:
    if label is not None and (not is_text(label) or not label.strip()):
        message = "--label is not a name"
        raise UsageError(message, hint="use letters, digits, dots and dashes")
    files = plan_files(project_dir, ralph_dir)
    root, folder = files.root, files.path
    state = find_root(Path.cwd(), project_dir).state / STATE_FOLDER
    with without_a_run(project_dir):
        if note := unjudged_note(state, folder):
            click.echo(f"note: {note}", err=True)
        unreadable: list[str] = []
        try:
            archived = archive_plan(
                root.resolve(),
                folder,
                label=label,
                date=time.strftime("%Y-%m-%d"),
                write=write_atomic,
                then=lambda: unreadable.extend(forget_unjudged(state, folder)),
            )
        except NothingToArchive:
            if git_top(root) is not None and (name := asyncio.run(_commit_left(root, files.folder))):
                click.echo(f"committed {ARCHIVE}/{name}, which was not committed yet")
                return
            raise
        for run in unreadable:
            click.echo(f"warning: what run {run} remembered of the plan cannot be read: put aside", err=True)
        shown = archived.folder.relative_to(root.resolve())
        click.echo(f"archived to {shown}: {archived.done} of {archived.total} stories completed")
        if git_top(root) is None:
            click.echo("not committed: this is no git repository")
            return
        if error := asyncio.run(_commit(root, archived.paths, _message(shown.name))):
            message = f"archived to {shown}, but git could not commit it: {error}"
            raise StoreError(message, hint="see to git, then `ralph plan archive` again commits it")
        click.echo("committed")


async def _commit(root: Path, paths: Sequence[str], message: str) -> str:
    with _repository(root) as repository:
        return await repository.commit(paths, message)


async def _commit_left(root: Path, folder: str) -> str:
    """The name of the archive that an earlier command could not commit, and that is committed now; empty: none."""
    with _repository(root) as repository:
        left = (await repository.state()).uncommitted
        archived = [path for path in left if path.startswith(f"{ARCHIVE}/") and path.count("/") > 1]
        if not archived:
            return ""
        name = archived[-1].split("/")[1]
        paths = [*archived, *(f"{folder}/{file}" for file in MOVED)]
        if error := await repository.commit(paths, _message(name)):
            message = f"git could not commit {ARCHIVE}/{name}: {error}"
            raise StoreError(message, hint="see to git, then `ralph plan archive` again commits it")
        return name


def _message(name: str) -> str:
    return f"chore: archive the plan {name}"


@contextmanager
def _repository(root: Path) -> Iterator[GitPlanRepository]:
    runner = PosixProcessRunner(run_id="plan-archive", base_environment=os.environ)
    with tempfile.TemporaryDirectory(prefix="ralph-") as aside:
        yield GitPlanRepository(root, runner, aside=Path(aside))
