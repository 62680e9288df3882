"""``ralph runs``: removing what old runs left."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.text.safe_text import clean_line
from ralph.errors import RalphError, UsageError
from ralph.interfaces.cli.exit_codes import ExitCode
from ralph.interfaces.cli.stored_runs import find_run, project_dir_option, reading, state_folder

if TYPE_CHECKING:
    from ralph.adapters.storage.run_reader import RunReader
    from ralph.domain.views.runs import RunView

KEEP = 20
DAY = 86_400.0
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


@click.group("runs", context_settings=_CONTEXT)
def command() -> None:
    """Remove old runs: their files and what is recorded of them. What would go is shown first."""


@command.command(context_settings=_CONTEXT)
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@_yes
@project_dir_option
def rm(names: tuple[str, ...], yes: bool, project_dir: Path | None) -> int:
    """Remove the runs named. A run that is alive is never removed: stop it first."""
    folder = state_folder(project_dir)
    with reading(folder) as reader:
        found = dict.fromkeys(find_run(reader, name) for name in names)
        views = [view for name in found if (view := _view(reader, name)) is not None]
        if live := [view.id for view in views if view.live]:
            message = f"still running: {', '.join(map(clean_line, live))}"
            raise UsageError(message, hint="end it first, with `ralph stop`")
        return _remove(reader, folder, views, yes=yes)


@command.command(context_settings=_CONTEXT)
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Keep the newest N.  [default: {KEEP}; with --older-than: 0]",
)
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Only runs in which nothing happened for so many days.",
)
@_yes
@project_dir_option
def prune(keep: int | None, older_than: float | None, yes: bool, project_dir: Path | None) -> int:
    """Remove all but the newest runs. A run that is alive always stays."""
    from ralph.domain.views.runs import prunable

    folder = state_folder(project_dir)
    if keep is None:
        keep = KEEP if older_than is None else 0
    before = None if older_than is None else time.time() - older_than * DAY
    with reading(folder) as reader:
        from ralph.adapters.processes.identity import started_of, this_process

        runs = reader.runs(here=this_process(), started_of=started_of)
        return _remove(reader, folder, prunable(runs, keep=keep, active_before=before), yes=yes)


def _view(reader: RunReader, run_id: str) -> RunView | None:
    from ralph.adapters.processes.identity import started_of, this_process

    return reader.run(run_id, here=this_process(), started_of=started_of)


def _remove(reader: RunReader, folder: Path, views: list[RunView], *, yes: bool) -> int:
    from ralph.adapters.storage.run_removal import RunRemover

    if not views:
        print("nothing to remove")
        return ExitCode.COMPLETED
    _show(folder, views)
    _ask(yes=yes)
    remover = RunRemover(folder)
    failed = 0
    for view in views:
        try:
            now = _view(reader, view.id)
            if now is not None and now.live:  # resumed while we asked
                message = f"run {view.id} is running again"
                raise UsageError(message)
            remover.remove(view.id)
        except RalphError as error:
            failed += 1
            print(f"ralph: {clean_line(error.message)}", file=sys.stderr)
    print(f"removed {_count(len(views) - failed, 'run')}")
    if failed < len(views) and not _anything_is_live(reader):
        reader.close()
        remover.compact()
    return ExitCode.CANNOT_RUN if failed else ExitCode.COMPLETED


def _anything_is_live(reader: RunReader) -> bool:
    from ralph.adapters.processes.identity import started_of, this_process

    return any(run.live for run in reader.runs(here=this_process(), started_of=started_of, limit=0))


def _show(folder: Path, views: list[RunView]) -> None:
    from ralph.adapters.storage.run_removal import belongings, run_folder
    from ralph.interfaces.cli.run_table import age

    files = size = 0
    now = time.time()
    for view in views:
        owned = belongings(run_folder(folder, view.id))
        files, size = files + owned.files, size + owned.bytes
        what = f"{_count(owned.files, 'file')}, {_bytes(owned.bytes)}"
        print(f"{clean_line(view.id)}  {view.state.value:<11}  {age(now - view.active_at):>8}  {what}")
    print(f"to remove: {_count(len(views), 'run')}, {_count(files, 'file')}, {_bytes(size)}", flush=True)


def _ask(*, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = "nothing was removed: there is no terminal to ask on"
        raise UsageError(message, hint="give --yes to remove what is listed")
    click.confirm("Remove them?", abort=True)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _bytes(number: int) -> str:
    size = float(number)
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
