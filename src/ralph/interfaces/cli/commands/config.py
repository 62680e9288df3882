"""``ralph config``: the settings, where they come from, and what is wrong with them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from ralph.config.loading import Inspection, Row, inspect, load, missing_for_run, rows
from ralph.config.root import find_root
from ralph.config.schema import json_schema
from ralph.config.sources import LOCAL_FILE, PROJECT_FILES, SETTINGS_FILE
from ralph.domain.text.figures import plural
from ralph.domain.text.reader import Problem
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option


@click.group("config")
def command() -> None:
    """Show, check and explain the settings.

    \b
    Examples:
      ralph config show
      ralph config validate && ralph run -f PROMPT.md
      $EDITOR "$(ralph config path --local)"
    """


@command.command()
@project_dir_option
@json_option("Print values and sources as JSON.")
def show(project_dir: Path | None, as_json: bool) -> None:
    """Print every setting, its value and where it comes from."""
    loaded = load(_state(project_dir), environ=os.environ)
    settings = rows(loaded)
    if as_json:
        print_json(
            {
                "files": list(loaded.files),
                "settings": {row.key: {"value": row.value, "source": row.origin.label} for row in settings},
                "warnings": [_problem_json(warning) for warning in loaded.warnings],
            },
            ascii_only=False,
        )
        return
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo("\n".join(_table(settings)))


@command.command()
def schema() -> None:
    """Print a JSON Schema of the settings file, for editors and checkers."""
    print_json(json_schema(), ascii_only=False)


@command.command()
@project_dir_option
@json_option("Print problems and warnings as JSON.")
def validate(project_dir: Path | None, as_json: bool) -> None:
    """List everything that is wrong with the settings. Exits with 2 if anything is."""
    found = inspect(_state(project_dir), environ=os.environ)
    warnings = list(found.warnings)
    files = _files_found(found)
    if found.settings is not None and (missing := missing_for_run(found.settings)):
        warnings.append(missing)
    if as_json:
        print_json(
            {
                "valid": not found.problems,
                "files": files,
                "problems": [_problem_json(problem) for problem in found.problems],
                "warnings": [_problem_json(warning) for warning in warnings],
            },
            ascii_only=False,
        )
    else:
        _print_findings(found, warnings, files)
    if found.problems:
        raise SystemExit(2)


@command.command()
@project_dir_option
@click.option(
    "--local", is_flag=True, help="Print the path of your own settings, which go on top of the team's."
)
def path(project_dir: Path | None, local: bool) -> None:
    """Print the path of the settings file, even if it does not exist."""
    click.echo(str(_state(project_dir) / (LOCAL_FILE if local else SETTINGS_FILE)))


def _state(project_dir: Path | None) -> Path:
    return find_root(Path.cwd(), project_dir).state


def _problem_json(problem: Problem) -> dict[str, str]:
    return {"source": problem.where, "key": problem.key, "message": problem.message, "hint": problem.hint}


def _files_found(found: Inspection) -> list[str]:
    """The files that exist; an unreadable one has a problem instead of values."""
    there = {*found.files, *(problem.where for problem in found.problems)}
    return [name for name in PROJECT_FILES if name in there]


def _print_findings(found: Inspection, warnings: list[Problem], files: list[str]) -> None:
    for problem in found.problems:
        click.echo(f"error: {problem}")
    for warning in warnings:
        click.echo(f"warning: {warning}")
    read = ", ".join(files) or "no settings file here: all defaults"
    doubts = f", {plural(len(warnings), 'warning')}" if warnings else ""
    if found.problems:
        click.echo(f"settings are not valid: {plural(len(found.problems), 'problem')}{doubts} ({read})")
    else:
        click.echo(f"settings are valid{doubts} ({read})")


def _table(settings: list[Row]) -> list[str]:
    from ralph.interfaces.cli.table import Cell, Column, table_lines

    columns = [Column(title, folds=True) for title in ("setting", "value", "source")]
    texts = [(row.key, json.dumps(row.value, ensure_ascii=False), row.origin.label) for row in settings]
    rows = [[Cell(text, "dim" if row[2] == "default" else "") for text in row] for row in texts]
    return table_lines(columns, rows, sys.stdout)
