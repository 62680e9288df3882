"""``ralph stats``: what past work on tasks shows."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from ralph.interfaces.cli.project_option import project_dir_option

HELP = """Show how tasks have gone so far, by role and verification method: iterations, first-pass rate, time, cost, and the
iteration limit that past work suggests. The plot shows how many stages needed 1, 2, 3 … iterations."""


@click.command(
    "stats", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option("--role", metavar="ROLE", help="Only this role.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@project_dir_option
def command(role: str | None, as_json: bool, project_dir: Path | None) -> int:
    from ralph.domain.tasks.statistics import figures, suggestions
    from ralph.interfaces.cli.tasks.opening import known_names, print_json, state_folder
    from ralph.operations.tasks import stage_records

    _, defaults = known_names(project_dir)
    records = stage_records(state_folder(project_dir), role=role)
    found = figures(records, tuple(defaults.roles))
    limits = suggestions(records, defaults)
    if as_json:
        print_json({"stages": [asdict(row) for row in found], "limits": [asdict(limit) for limit in limits]})
        return 0
    if not found:
        print("no stage of any task is finished yet", file=sys.stderr)
        return 0
    from ralph.interfaces.cli.stats_table import limit_lines, stage_lines

    print("\n".join((*stage_lines(found, sys.stdout), "", *limit_lines(limits))))
    return 0
