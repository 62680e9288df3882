"""``ralph web``: the runs of one project, or of several, in a browser."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import click

from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.fleet_option import chosen_fleet, fleet_option
from ralph.interfaces.cli.options import PATH, project_dir_option, requires_extra
from ralph.interfaces.cli.several_projects import chosen_projects, several_options

PORT = 8484

HELP = """Serve one page with the board, the runs as they happen, their iterations, diffs, checks and charts; start, pause,
steer, stop and resume them there, and retry and cancel tasks. Prints a link that carries a token: anyone with it can watch
and control your runs.

With several projects the page begins with what waits for you in any of them, what all of them cost, and one board. What is
started from the page outlives it, and runs nothing that you have not agreed to: see `ralph trust`.

\b
Examples:
  ralph web                              then open the printed link
  ralph web --root shop --root ~/api     two projects on one page
  ralph web --all                        every project that ralph remembers
  ralph web --fleet                      the fleet's jobs too
  ralph web --read-only                  to watch, not to control
  ssh -L 8484:localhost:8484 machine     to reach it from elsewhere, encrypted
  ralph web --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
"""


@click.command("web", help=HELP)
@click.option(
    "--host", default="127.0.0.1", metavar="HOST", help="Address to serve on.  [default: 127.0.0.1]"
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    metavar="PORT",
    help=f"Port; 0 takes any free one.  [default: {PORT}]",
)
@click.option(
    "--read-only", is_flag=True, help="Do not let anyone start, pause, stop or steer anything from the page."
)
@click.option("--tls-cert", metavar="FILE", type=PATH, help="Certificate (PEM); serves https.")
@click.option("--tls-key", metavar="FILE", type=PATH, help="Its key (PEM).")
@click.option(
    "--insecure-host", is_flag=True, help="Allow a --host that others can reach, without encryption."
)
@click.option(
    "--metrics-token",
    metavar="FILE",
    type=PATH,
    help="Let whoever has the token in FILE read /metrics and nothing else: for Prometheus. FILE is created if it is missing.",
)
@several_options
@fleet_option
@project_dir_option
def command(
    host: str,
    port: int,
    read_only: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    insecure_host: bool,
    metrics_token: Path | None,
    roots: tuple[Path, ...],
    every: bool,
    fleet: bool,
    project_dir: Path | None,
) -> None:
    with requires_extra("the page", "web"):
        from ralph.interfaces.web.server import ServerOptions, serve
    import gc

    gc.enable()
    counting = ""
    if metrics_token is not None:
        counting = f"{metrics_token}{'' if os.access(metrics_token, os.F_OK) else ', which was created'}"
    options = ServerOptions(
        host=host,
        port=port,
        read_only=read_only,
        certificate=tls_cert,
        key=tls_key,
        insecure_host=insecure_host,
        metrics_token=metrics_token,
    )
    serve(
        chosen_projects(project_dir, roots, every=every),
        options,
        announce=partial(_announce, read_only=read_only, counting=counting),
        fleet=chosen_fleet(wanted=fleet),
    )


def _announce(address: str, *, read_only: bool, counting: str) -> None:
    """The address alone on stdout, for scripts. ``counting``: where the token for the metrics is; empty: there is none."""
    may = "watch your runs" if read_only else "watch and control your runs"
    print(f"Anyone with this link can {may}. Press Ctrl-C to stop.", file=sys.stderr)
    if counting:
        metrics = f"{address.partition('?')[0]}metrics"
        print(f"For Prometheus: {metrics}, with the token in {clean_line(counting)}.", file=sys.stderr)
    print(address, flush=True)
