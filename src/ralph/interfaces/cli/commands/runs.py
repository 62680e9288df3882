"""``ralph runs``: list runs, remove old ones."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.text.figures import age, plural
from ralph.errors import UsageError
from ralph.interfaces.cli.exit_codes import ExitCode
from ralph.interfaces.cli.options import project_dir_option, state_folder

if TYPE_CHECKING:
    from ralph.operations.runs.remove import Removable


_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


@click.group("runs", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the runs of this project, as `ralph status` does; or remove old ones, their files and records.

    \b
    Examples:
      ralph runs
      ralph runs prune --keep 5
      ralph runs prune --older-than 30 --yes
      ralph runs rm ab12
    """
    if context.invoked_subcommand is None:
        from ralph.interfaces.cli.commands import status

        context.invoke(status.command)


@command.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@_yes
@project_dir_option
def rm(names: tuple[str, ...], yes: bool, project_dir: Path | None) -> int:
    """Remove the runs named. A live run is never removed: stop it first."""
    from ralph.operations.runs.remove import named_runs

    folder = state_folder(project_dir)
    return _remove(folder, named_runs(folder, names), yes=yes)


@command.command()
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    metavar="N",
    help="Keep the newest N.  [default: 20; with --older-than: 0]",
)
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Only runs that have been inactive for DAYS days.",
)
@_yes
@project_dir_option
def prune(keep: int | None, older_than: float | None, yes: bool, project_dir: Path | None) -> int:
    """Remove all but the newest runs. A live run is never removed."""
    from ralph.operations.runs.remove import old_runs

    folder = state_folder(project_dir)
    return _remove(folder, old_runs(folder, keep=keep, older_than_days=older_than), yes=yes)


def _remove(folder: Path, runs: Sequence[Removable], *, yes: bool) -> int:
    from ralph.interfaces.cli.main import say_error
    from ralph.operations.runs.remove import remove_runs

    if not runs:
        print("nothing to remove")
        return ExitCode.COMPLETED
    _show(runs)
    _ask(yes=yes)
    removal = remove_runs(folder, runs)
    for problem in removal.problems:
        say_error(problem)
    print(f"removed {plural(removal.removed, 'run')}")
    return ExitCode.CANNOT_RUN if removal.problems else ExitCode.COMPLETED


def _show(runs: Sequence[Removable]) -> None:
    from ralph.interfaces.cli.table import Column, table_lines

    now = time.time()
    columns = [Column(title) for title in ("run", "state", "active", "files", "size")]
    rows = [
        (run.id, run.state.words, age(now - run.active_at), str(files), _bytes(size))
        for run, files, size in runs
    ]
    print("\n".join(table_lines(columns, rows, sys.stdout)))
    files, size = sum(one.files for one in runs), sum(one.bytes for one in runs)
    print(f"to remove: {plural(len(runs), 'run')}, {plural(files, 'file')}, {_bytes(size)}", flush=True)


def _ask(*, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = "nothing was removed: there is no terminal to ask on"
        raise UsageError(message, hint="give --yes to remove what is listed")
    click.confirm("Remove them?", abort=True)


def _bytes(number: int) -> str:
    size = float(number)
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
