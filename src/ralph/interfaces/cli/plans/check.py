"""``ralph plan check``: every problem of tasks.json, and what would make a run worth little."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ralph.adapters.documents.plan_files import PRD, PROMPT, PlanFiles
from ralph.adapters.documents.plan_templates import is_scaffold
from ralph.domain.plan.document import TasksDocument, problems, read_document
from ralph.domain.plan.draft import title_problems
from ralph.domain.plan.stop_checks import check_invariants, flat
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.plans.place import (
    HELP_NAMES,
    plan_files,
    plan_options,
    review_options,
    review_rules,
    tasks_text,
)

HELP = """List everything that is wrong with tasks.json. Exits with 2 if anything is.

\b
Examples:
  ralph plan check
  ralph plan check --json
  ralph plan check && ralph plan run
"""


@click.command("check", help=HELP, context_settings=HELP_NAMES)
@click.option("--json", "as_json", is_flag=True, help="Print problems and warnings as JSON.")
@review_options
@plan_options
def command(
    as_json: bool, skip_review: bool, review_cap: int | None, project_dir: Path | None, ralph_dir: Path | None
) -> None:
    files = plan_files(project_dir, ralph_dir)
    rules = review_rules(project_dir, cap=review_cap, skip=skip_review)
    text = tasks_text(files)
    read = read_document(text)
    if isinstance(read, TasksDocument):
        broken = flat(check_invariants(read, rules))
        found = [*map(str, problems(read)), *broken]
        warnings = list(_warnings(read, files))
    else:
        found, warnings = [str(problem) for problem in read], []
    found += map(str, title_problems(text))
    if as_json:
        click.echo(
            json.dumps(
                {"valid": not found, "problems": found, "warnings": warnings}, indent=2, ensure_ascii=False
            )
        )
    else:
        _print(found, warnings, f"{files.folder}/tasks.json")
    if found:
        raise SystemExit(2)


def _warnings(document: TasksDocument, files: PlanFiles) -> list[str]:
    found = []
    if not document.stories:
        found.append("userStories is empty: there is nothing to do")
    if not document.verify_commands:
        found.append("verifyCommands is empty: approvals are believed without a command that proves them")
    guarded = files.read_guarded()
    prd = guarded[PRD]
    if prd is None:
        found.append("prd.md is missing: the sessions have no requirements to read")
    elif is_scaffold(prd.decode(errors="replace")):
        found.append("prd.md is still the empty template")
    if guarded[PROMPT] is None:
        found.append("prompt.md is missing: `ralph plan new` writes what is missing")
    return found


def _print(found: list[str], warnings: list[str], file: str) -> None:
    for problem in found:
        click.echo(f"error: {clean_line(problem)}")
    for warning in warnings:
        click.echo(f"warning: {clean_line(warning)}")
    if found or warnings:
        click.echo(f"{_count(len(found), 'problem')}, {_count(len(warnings), 'warning')} ({file})")
    else:
        click.echo(f"the plan is valid ({file})")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
