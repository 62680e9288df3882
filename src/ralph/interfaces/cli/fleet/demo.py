"""``ralph fleet demo``: six jobs on two workers of this machine, one of which is killed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from ralph.domain.fleet.exits import common_exit_code
from ralph.domain.text.figures import duration, plural
from ralph.interfaces.cli.fleet.status import COLUMNS, row_of
from ralph.interfaces.cli.options import requires_extra
from ralph.interfaces.cli.table import table_lines

if TYPE_CHECKING:
    from ralph.operations.fleet.demo import DemoLook, DemoPlace, DemoResult

T = TypeVar("T")

INTRODUCTION = """\
A Temporal server, a git repository, two workers and six jobs, all on this machine; one worker is killed in the middle.
The agent is a script that ships with ralph; the processes, git, the server and its database are real. No account is used.
"""


@click.command("demo")
@click.option(
    "--keep", is_flag=True, help="Keep everything running afterwards, to look around, until Ctrl-C."
)
def command(keep: bool) -> int:
    """Watch six jobs survive the loss of a worker; no account needed.

    Makes a server, a repository and two workers in a temporary folder, submits six jobs, and kills one worker with
    signal 9 while it works. Its jobs continue on the other one, after the last iteration that was judged. It takes about a
    minute, and leaves nothing behind.
    """
    with requires_extra("`ralph fleet`", "fleet"):
        from ralph.operations.fleet.demo import run_demo

    print(INTRODUCTION, file=sys.stderr)
    screen = _Screen()
    result = run_demo(say=screen.say, show=screen.show, stay=_stay if keep else None)
    if not keep:
        _summarize(result)
    return common_exit_code(result.jobs)


def _shown(cells: Sequence[T]) -> list[T]:
    """All jobs of the demo have the same title: the room is for what happens to them."""
    return [cell for column, cell in zip(COLUMNS, cells, strict=True) if column.title != "title"]


class _Screen:
    """The table is redrawn on a terminal; in a pipe, what changes is printed."""

    def __init__(self) -> None:
        self._is_live = sys.stdout.isatty()
        self._drawn = 0
        self._shown: dict[str, str] = {}
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        self._erase()
        print(f"[{time.monotonic() - self._began:4.1f}s] {text}", flush=True)

    def show(self, look: DemoLook) -> None:
        if self._is_live:
            now = time.time()
            rows = [_shown(row_of(job, now)) for job in look.jobs]
            lines = table_lines(_shown(COLUMNS), rows, sys.stdout)
            self._erase()
            print("\n".join(lines), flush=True)
            self._drawn = len(lines)
            return
        from ralph.operations.fleet.jobs import line_of

        for job in look.jobs:
            if self._shown.get(job.spec.id) != (line := line_of(job)):
                self._shown[job.spec.id] = line
                self.say(line)

    def _erase(self) -> None:
        """The table that is there; what is said stays above the next one."""
        if self._drawn:
            sys.stdout.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0


def _summarize(result: DemoResult) -> None:
    iterations = sum(job.progress.last.iteration for job in result.jobs)
    lost = sum(job.progress.lost_shifts for job in result.jobs)
    moved = f"{plural(len(result.moved), 'job')} continued elsewhere, the last {duration(result.pause)} later"
    lines = (
        "",
        f"{plural(len(result.jobs), 'job')}, {plural(iterations, 'iteration')} judged, in {duration(result.seconds)}",
        f"{result.killed or 'no worker'} was killed with {plural(lost, 'session')} under way: {moved}",
        "Every step is in its branch once: the check that says so passed after each iteration.",
        "",
        "Next: docs/fleet.md sets up a fleet of your own, step by step; `ralph fleet --help` lists its commands.",
    )
    print("\n".join(lines), file=sys.stderr)


def _stay(place: DemoPlace, result: DemoResult) -> None:
    _summarize(result)
    lines = (
        "",
        "Everything is still there. In another terminal:",
        f"  export TEMPORAL_ADDRESS={place.address}",
        "  ralph fleet status",
        f"  ralph fleet show {result.jobs[0].spec.id}",
        f"  git -C {place.folder}/shop.git log --oneline --all",
        "Ctrl-C ends it all and removes it.",
    )
    print("\n".join(lines), file=sys.stderr)
