"""``ralph task import`` and ``check``: work that is kept elsewhere becomes tasks, once a person has seen what would come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.folding import print_folded
from ralph.interfaces.cli.options import (
    given_settings,
    json_option,
    load_with,
    print_json,
    project_dir_option,
    setting_option,
)
from ralph.interfaces.cli.table import Cell, Column, table_lines

if TYPE_CHECKING:
    from ralph.config.root import Root
    from ralph.domain.tickets.intake import Arrival, Intake
    from ralph.operations.tickets import Found

SHOWN = 40

HELP = """Make tasks of work that is kept elsewhere. SOURCE is a path of Markdown (a file with boxes, a spec-kit or OpenSpec
folder), github:OWNER/REPO or linear:TEAM. Shows what would come, and asks; again, it shows only what is new or has changed.

Of a tracker, only tickets with the label count, and only what people wrote who may write there. A ticket in which nothing can
be checked is not taken; `ralph task check` says what is missing.

\b
Examples:
  ralph task import specs/001-photos
  ralph task import github:octo/hello --label ralph --limit 10
  ralph task import TODO.md --batch --yes
"""

CHECK_HELP = """Say what keeps work from being done: what cannot be checked, what waits for nothing that is here, what is too
small for a session of its own. SOURCE is as for `ralph task import`; without one, the tasks here are checked, and nothing is
asked over the network. Exit code 1: something is not ready.

\b
Examples:
  ralph task check
  ralph task check specs/001-photos/tasks.md
"""

_source_options = (
    setting_option("tickets.label", "--label", metavar="LABEL", help="The label that tickets must have."),
    click.option(
        "--limit", type=click.IntRange(min=1), metavar="N", help="At most N new tickets.  [default: all]"
    ),
)

COLUMNS = (
    Column("", longest=9),
    Column("ticket", 2),
    Column("task", longest=40),
    Column("criteria", 3),
    Column("waits for", 4, rare=True),
    Column("title"),
)


@click.command("import", help=HELP)
@click.argument("source", metavar="SOURCE")
@_source_options[0]
@_source_options[1]
@click.option(
    "--batch", "batches", is_flag=True, help="Make one task for each heading of what has no check of its own."
)
@click.option("--dry-run", is_flag=True, help="Show what would come, and import nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option()
@project_dir_option
def command(
    source: str,
    limit: int | None,
    batches: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    project_dir: Path | None,
) -> None:
    from ralph.operations.tickets import Asked, import_found, look_at

    root, settings = _project(project_dir)
    asked = Asked(source=_name(source), limit=limit, batches=batches)
    found = look_at(root, settings, asked)
    if not as_json:
        _show(found)
    if not dry_run and not yes and not found.intake.is_empty:
        _require_terminal()
        if found.small and click.confirm("Put them together, one task for each heading?", err=True):
            found = look_at(root, settings, Asked(source=asked.source, limit=limit, batches=True))
            _show(found)
        click.confirm(f"Import {_sum(found.intake)}?", abort=True, err=True)
    is_taken = not dry_run and not found.intake.is_empty
    if is_taken:
        import_found(root, found)
    if as_json:
        print_json({**_data(found), "imported": is_taken})
    elif is_taken:
        print_folded(f"imported {_sum(found.intake)}; `ralph work` works on them")
    elif not dry_run:
        print_folded(_nothing(found))


@click.command("check", help=CHECK_HELP)
@click.argument("source", metavar="[SOURCE]", required=False)
@_source_options[0]
@_source_options[1]
@json_option()
@project_dir_option
def check(source: str | None, limit: int | None, as_json: bool, project_dir: Path | None) -> int:
    from ralph.operations.tickets import Asked, check_tasks, look_at

    root, settings = _project(project_dir)
    if source is None:
        problems, small = check_tasks(root)
        _report(problems, small, as_json=as_json)
        return 1 if problems else 0
    found = look_at(root, settings, Asked(source=_name(source), limit=limit))
    unready = {one.ticket.shown: one.reason for one in (*found.intake.unready, *found.intake.held)}
    puts = f"`ralph task import {clean_line(source)} --batch` puts them together"
    hint = f"{found.small}; {puts}" if found.small else ""
    _report(unready, hint, as_json=as_json)
    return 1 if unready else 0


def _project(project_dir: Path | None) -> tuple[Root, Any]:
    from ralph.config.root import find_root
    from ralph.operations.trust import read_agreed

    root = find_root(Path.cwd(), project_dir)
    # What a repository says counts once its user has agreed to it: its label decides what comes in.
    sources, _ = read_agreed(root)
    return root, load_with(sources, given_settings()).settings


def _name(source: str) -> str:
    from ralph.operations.tickets import name_source

    return name_source(source, Path.cwd())


def _nothing(found: Found) -> str:
    intake = found.intake
    if found.label and not intake.unchanged and not intake.unready:
        return f"no open ticket there has the label {clean_line(found.label)}: put it on those that ralph is to do"
    return "there is nothing new to import"


def _require_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        message = "nothing was imported: there is no terminal to ask on"
        raise UsageError(message, hint="give --yes to import what is shown, or --dry-run to look only")


# --- what is shown ---


def _show(found: Found) -> None:
    intake = found.intake
    label = f", label {clean_line(found.label)}" if found.label else ""
    rows = list(_rows(intake))
    if rows:
        print("\n".join(table_lines(COLUMNS, rows[:SHOWN], sys.stdout)))
    if len(rows) > SHOWN:
        print(f"and {len(rows) - SHOWN} more; --json shows them all")
    for line in _notes(intake):
        print_folded(line)
    known = f"; {intake.unchanged} known and unchanged" if intake.unchanged else ""
    print_folded(f"{clean_line(found.source)}{label}: {_sum(intake)}{known}")
    if found.small:
        print_folded(f"{found.small}; --batch puts them together, one task for each heading")


def _rows(intake: Intake) -> Iterator[tuple[Cell | str, ...]]:
    for word, color, arrivals in (
        ("new", "green", intake.new),
        ("changed", "cyan", intake.changed),
        ("edited", "yellow", intake.edited),
        ("back", "green", intake.restored),
    ):
        yield from (_row(one, Cell(word, color)) for one in arrivals)


def _row(one: Arrival, what: Cell) -> tuple[Cell | str, ...]:
    needs = one.dependencies
    first = f"{needs[0]} +{len(needs) - 1}" if len(needs) > 1 else "".join(needs)
    return what, one.ticket.shown, one.known.task_id, str(len(one.ticket.criteria)), first, one.ticket.title


def _notes(intake: Intake) -> Iterator[str]:
    for one in intake.edited:
        told = "was edited after its work had begun: the agent is told, and is judged as before"
        yield f"! {clean_line(one.ticket.shown)} {told}"
    for held in intake.held:
        yield f"! {clean_line(held.ticket.shown)} is not begun: {clean_line(held.reason)}"
    for gone in intake.gone:
        yield f"! {clean_line(gone.known.task_id)} will be cancelled: {clean_line(gone.reason)}"
    for arrival in (*intake.new, *intake.changed):
        for left_out in arrival.ticket.left_out:
            yield f"- {clean_line(arrival.ticket.shown)}: left out: {clean_line(left_out)}"
    for unready in intake.unready[:SHOWN]:
        title = clean_line(unready.ticket.title)[:60]
        yield f"- {clean_line(unready.ticket.shown)} ({title}) is not taken: {clean_line(unready.reason)}"
    if len(intake.unready) > SHOWN:
        yield f"- and {len(intake.unready) - SHOWN} more are not taken; --json names them all"


def _sum(intake: Intake) -> str:
    parts = [
        plural(len(intake.new), "new task"),
        f"{len(intake.changed)} changed" if intake.changed else "",
        f"{len(intake.edited)} edited while worked on" if intake.edited else "",
        f"{len(intake.restored)} wanted again" if intake.restored else "",
        f"{len(intake.held)} not ready any more" if intake.held else "",
        f"{len(intake.gone)} no longer wanted" if intake.gone else "",
    ]
    return ", ".join(filter(None, parts))


def _data(found: Found) -> dict[str, Any]:
    intake = found.intake

    def tasks(arrivals: tuple[Arrival, ...]) -> list[dict[str, Any]]:
        return [
            {**one.task.to_dict(), "ticket": one.ticket.shown, "left_out": list(one.ticket.left_out)}
            for one in arrivals
        ]

    return {
        "source": found.source,
        "label": found.label,
        "new": tasks(intake.new),
        "changed": tasks(intake.changed),
        "edited": tasks(intake.edited),
        "restored": tasks(intake.restored),
        "gone": [{"task": gone.known.task_id, "reason": gone.reason} for gone in intake.gone],
        "unready": [
            {"ticket": one.ticket.shown, "title": one.ticket.title, "reason": one.reason}
            for one in (*intake.unready, *intake.held)
        ],
        "unchanged": intake.unchanged,
        "small": found.small,
    }


def _report(problems: dict[str, str], small: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"problems": problems, "small": small})
        return
    for name, reason in problems.items():
        print_folded(f"- {clean_line(name)}: {clean_line(reason)}")
    if small:
        print_folded(f"! {clean_line(small)}")
    if not problems:
        print("nothing is missing")
