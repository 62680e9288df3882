"""``ralph fleet logs``: what a job's sessions showed, wherever they ran, afterwards or live."""

from __future__ import annotations

import sys

import click

from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.fleet.asking import job_argument, open_desk

HELP = """Show what a job's sessions have printed, on whichever machine: from its record, then what the session under way has printed
so far. With -f, keep printing until the job ends.

\b
Examples:
  ralph fleet logs shop-3f2a1c
  ralph fleet logs -f shop-3f2a1c
"""


@click.command("logs", help=HELP)
@job_argument
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the job ends.")
def command(job: str, follow: bool) -> None:
    from ralph.operations.fleet.logs import JobLog

    with open_desk() as desk:
        log = JobLog(desk, job, complain=_complain)
        try:
            for lines in log.follow() if follow else log.read():
                for line in lines:
                    print(clean_line(line))
                sys.stdout.flush()
        except KeyboardInterrupt:
            return


def _complain(text: str) -> None:
    sys.stdout.flush()
    print(f"ralph: {clean_line(text)}", file=sys.stderr)
