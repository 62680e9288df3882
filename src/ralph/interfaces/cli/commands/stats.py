"""``ralph stats``: how tasks have gone so far, as a table."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ralph.domain.tasks.statistics import StageFigures, Suggestion, figures, spark, suggestions
from ralph.domain.text.figures import compact, money, whole_duration
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.folding import print_folded
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder
from ralph.interfaces.cli.table import Column, table_lines

_COLUMNS = (
    Column("role"),
    Column("verified by", 1),
    Column("stages"),
    Column("accepted", 3),
    Column("iterations"),
    Column("first pass"),
    Column("time"),
    Column("cost", 2),
    Column("tokens", 4),
    Column("plot"),
)

HELP = """Show how tasks have gone so far, by role and verification method: iterations, first-pass rate, time, cost, and the
iteration limit that past work suggests; ralph does not set it by itself. The plot shows how many stages needed 1, 2, 3 … iterations."""


@click.command("stats", help=HELP)
@click.option("--role", metavar="ROLE", help="Only this role.")
@json_option()
@project_dir_option
def command(role: str | None, as_json: bool, project_dir: Path | None) -> None:
    from ralph.operations.tasks import known_names, stage_records

    folder = state_folder(project_dir)
    _, defaults = known_names(folder)
    records = stage_records(folder, role=role)
    found = figures(records, tuple(defaults.roles))
    limits = suggestions(records, defaults)
    if as_json:
        print_json({"stages": [asdict(row) for row in found], "limits": [asdict(limit) for limit in limits]})
        return
    if not found:
        print("no stage of any task is finished yet", file=sys.stderr)
        return
    lines = table_lines(_COLUMNS, [_row(row) for row in found], sys.stdout)
    print("\n".join((*lines, "")))
    print_folded("\n".join(_limit_lines(limits)))


def _limit_lines(limits: Sequence[Suggestion]) -> Iterator[str]:
    yield "limits of iterations, as past work suggests them; profiles.verified.roles.ROLE.maxIterations sets one"
    for limit in limits:
        is_same = limit.limit == limit.present
        advice = f"keep {limit.present}" if is_same else f"{limit.limit} instead of {limit.present}"
        yield f"  {clean_line(limit.role)}: {advice} ({limit.reason})"


def _row(row: StageFigures) -> tuple[str, ...]:
    return (
        row.role,
        row.method,
        str(row.stages),
        str(row.accepted),
        f"{row.iterations:.1f}",
        f"{row.first_pass:.0%}",
        whole_duration(row.seconds),
        money(row.cost_usd) if row.cost_usd is not None else "",
        compact(round(row.tokens)),
        spark(row.counts),
    )
