"""``ralph fleet worker``: this machine works on jobs."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ralph.domain.sandbox.kind import ASKABLE, AUTO
from ralph.errors import UsageError
from ralph.interfaces.cli.exit_codes import ExitCode
from ralph.interfaces.cli.options import json_option, requires_extra

if TYPE_CHECKING:
    from ralph.operations.fleet.worker import WorkerOptions

HELP = """Work on the fleet's jobs on this machine until it is stopped. Start one on each machine. Agents use their logins on this
machine, and git its own way to log in; jobs bring neither.

Ctrl-C, or SIGTERM, once: no more jobs are taken, and the sessions under way are finished. Twice: they are ended, and other workers
do them again. A worker that is killed loses no more than the sessions under way.

Jobs run in a sandbox. Neither a repository nor a job can widen what you allow here: your own settings count (`ralph config`).

\b
Examples:
  ralph fleet worker
  ralph fleet worker --slots 4 --label linux --label gpu
  ralph fleet worker --account claude=team-a
  ralph fleet worker --metrics 127.0.0.1:9464

\b
Exit codes:
  0    it was stopped, and its sessions were finished
  2    flags or settings are wrong
  4    no sandbox works here, or the server refuses
  5    the server cannot be reached
  130  it was stopped twice
"""


@click.command("worker", help=HELP)
@click.option(
    "--slots", metavar="N", type=click.IntRange(1), help="Sessions at a time.  [default: one for two cores]"
)
@click.option(
    "--label",
    "labels",
    metavar="LABEL",
    multiple=True,
    help="What jobs may ask for; may be repeated, up to 5 times.",
)
@click.option(
    "--name", default="", metavar="NAME", help="Its name; no other worker may have it.  [default: by machine]"
)
@click.option("--home", default="", metavar="DIR", help="Where it keeps its clones.")
@click.option(
    "--sandbox",
    type=click.Choice([kind for kind in ASKABLE if kind != AUTO]),
    help="What jobs run in at least; none: they can do whatever you can.  [default: strongest]",
)
@click.option(
    "--account",
    "accounts",
    metavar="AGENT=NAME",
    multiple=True,
    help="The account of an agent's login here, for `ralph fleet limits`; may be repeated.",
)
@click.option("--metrics", default="", metavar="HOST:PORT", help="Serve metrics for Prometheus there.")
@json_option("Print one JSON object for each thing that happens.")
def command(
    slots: int | None,
    labels: tuple[str, ...],
    name: str,
    home: str,
    sandbox: str | None,
    accounts: tuple[str, ...],
    metrics: str,
    as_json: bool,
) -> int:
    with requires_extra("`ralph fleet`", "fleet"):
        import temporalio  # noqa: F401 (its absence is told before anything else is)
    import gc

    from ralph.operations.fleet.worker import WorkerOptions

    gc.enable()
    options = WorkerOptions(
        name=name,
        slots=slots,
        labels=labels,
        home=home,
        sandbox=sandbox or "",
        accounts=_accounts(accounts),
        metrics=metrics,
    )
    return asyncio.run(_work(options, as_json=as_json))


def _accounts(given: tuple[str, ...]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for text in given:
        agent, equals, account = text.partition("=")
        if not (agent and equals and account):
            message = f"--account {text!r} names no agent and account"
            raise UsageError(message, hint="give both, such as --account claude=team-a")
        found[agent] = account
    return found


async def _work(options: WorkerOptions, *, as_json: bool) -> int:
    from ralph.interfaces.cli.fleet.worker_console import WorkerConsole
    from ralph.operations.fleet.worker import Departure, run_fleet_worker

    departure, console = Departure(), WorkerConsole(sys.stdout, sys.stderr, as_json=as_json)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, departure.ask)
    working = asyncio.create_task(run_fleet_worker(options, console.tell, departure))
    beside = [asyncio.create_task(console.keep_drawing()), asyncio.create_task(departure.draining.wait())]
    try:
        await asyncio.wait({working, beside[1]}, return_when=asyncio.FIRST_COMPLETED)
        if not console.is_ready and not working.done():  # there is nothing to finish yet
            working.cancel()
            return ExitCode.INTERRUPTED
        await working
    finally:
        for task in beside:
            task.cancel()
        console.clear()
    return ExitCode.INTERRUPTED if departure.leaving.is_set() else ExitCode.COMPLETED
