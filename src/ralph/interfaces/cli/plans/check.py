"""``ralph plan check``: every problem of tasks.json, and what would make a run worth little."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.options import json_option, print_json
from ralph.interfaces.cli.plans.options import plan_options, review_options, the_plan
from ralph.operations.plans import PlanProblems, check_plan, review_rules

HELP = """List every problem in tasks.json. Exits with 2 if there are any.

\b
Examples:
  ralph plan check
  ralph plan check --json
  ralph plan check && ralph plan run
"""


@click.command("check", help=HELP)
@json_option("Print problems and warnings as JSON.")
@review_options
@plan_options
def command(
    as_json: bool, skip_review: bool, review_cap: int | None, project_dir: Path | None, ralph_dir: Path | None
) -> None:
    plan = the_plan(project_dir, ralph_dir)
    found = check_plan(plan, review_rules(plan.root, cap=review_cap, skip=skip_review))
    if as_json:
        shown = {"valid": not found.errors, "problems": found.errors, "warnings": found.warnings}
        print_json(shown, ascii_only=False)
    else:
        _print(found, f"{plan.name}/tasks.json")
    if found.errors:
        raise SystemExit(2)


def _print(found: PlanProblems, file: str) -> None:
    for problem in found.errors:
        click.echo(f"error: {clean_line(problem)}")
    for warning in found.warnings:
        click.echo(f"warning: {clean_line(warning)}")
    if found.errors or found.warnings:
        errors, warnings = plural(len(found.errors), "problem"), plural(len(found.warnings), "warning")
        click.echo(f"{errors}, {warnings} ({file})")
    else:
        click.echo(f"the plan is valid ({file})")
