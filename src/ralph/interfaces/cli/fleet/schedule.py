"""``ralph fleet schedule``: a job at fixed times; the server keeps them, so no machine of ours must be up."""

from __future__ import annotations

import sys
import time

import click

from ralph.domain.text.figures import age
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.fleet.asking import open_desk
from ralph.interfaces.cli.fleet.submit import WordsCommand, job_options, look_at, terms_of
from ralph.interfaces.cli.fleet.words import read_command
from ralph.interfaces.cli.options import json_option, print_json
from ralph.interfaces.cli.table import Column, table_lines
from ralph.values import replace

HELP = """Submit a job at fixed times. Each time makes a job of its own, named after the schedule and the time.

\b
Examples:
  ralph fleet schedule add nightly --cron "0 3 * * *" -- run -f PROMPT.md
  ralph fleet schedule list
  ralph fleet schedule rm nightly
"""

COLUMNS = (
    Column("schedule", longest=40),
    Column("cron"),
    Column("next"),
    Column("repository", 2, longest=50),
    Column("command"),
)


@click.group("schedule", help=HELP)
def command() -> None: ...


@command.command("add", cls=WordsCommand)
@click.argument("name", metavar="NAME")
@click.option(
    "--cron",
    required=True,
    metavar="TIMES",
    help='Minute, hour, day, month, day of the week, in UTC, such as "0 3 * * 1-5"; or @hourly, @daily, @weekly.',
)
@job_options
@click.pass_obj
def add(
    given: tuple[str, ...],
    name: str,
    cron: str,
    repo: str,
    base: str,
    labels: tuple[str, ...],
    priority: int,
) -> None:
    """Submit the command after `--` at the times of --cron. While a job of the schedule is under way, no other begins."""
    from ralph.operations.fleet.schedules import add_schedule, require_cron
    from ralph.operations.fleet.submission import command_job

    require_cron(cron)
    words = read_command(given)
    terms = terms_of(words, repo, base, labels, priority, name)
    job = command_job(terms, words.words, title=words.title)
    look_at(terms, words)
    with open_desk() as desk:
        add_schedule(desk, name, replace(job, id=""), cron=cron)
    print(
        f"scheduled: {clean_line(name)}; `ralph fleet schedule list` shows when it is next", file=sys.stderr
    )


@command.command("list")
@json_option()
def list_(as_json: bool) -> None:
    """List the schedules, with the time of the next job."""
    with open_desk() as desk:
        schedules = desk.ask(lambda fleet: fleet.schedules())
    if as_json:
        data = [
            {
                "name": one.id,
                "cron": one.cron,
                "paused": one.is_paused,
                "next_at": one.next_at,
                "note": one.note,
                "repository": one.spec.repository,
                "command": list(one.spec.command),
            }
            for one in schedules
        ]
        print_json({"schedules": data})
        return
    if not schedules:
        print("no schedules")
        return
    now = time.time()
    rows = [
        (
            one.id,
            one.cron,
            "paused"
            if one.is_paused
            else ("" if one.next_at is None else f"in {age(one.next_at - now, ago=False)}"),
            one.spec.repository,
            " ".join(one.spec.command),
        )
        for one in schedules
    ]
    print("\n".join(table_lines(COLUMNS, rows, sys.stdout)))


@command.command("rm")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def remove(names: tuple[str, ...]) -> None:
    """Remove schedules. Jobs that they have made stay."""
    from ralph.operations.fleet.schedules import remove_schedule

    with open_desk() as desk:
        for name in names:
            remove_schedule(desk, name)
            print(f"removed: schedule {clean_line(name)}", file=sys.stderr)
