"""Tasks: importing, listing and choosing the next one; 10,000 compared with twice 5,000."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.child import LONGEST, CannotMeasure
from bench.project import Project, new_project
from bench.row import Bar, Row, as_ratio

FEW = 5_000
MANY = 10_000
NO_WORSE_THAN_LINEAR = Bar(1.25)
"""A quarter for noise: the two measurements have different lengths."""


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "tasks-few") as project:
        few = _parts(project, FEW)
    with new_project(folder, "tasks-many") as project:
        many = _parts(project, MANY)
    return [
        _row(f"task add -f: {MANY:,} tasks with dependencies, YAML", few, many, "yaml"),
        _row(f"task add -f: {MANY:,} tasks with dependencies, JSON", few, many, "json"),
        _row(f"store: add {MANY:,} tasks in one transaction", few, many, "add"),
        _row(f"store: list {MANY:,} tasks", few, many, "list"),
        _row(f"store: claim, do and release each of {MANY:,} tasks in order", few, many, "drain"),
        _row(f"task list --json: {MANY:,} tasks", few, many, "list_command"),
    ]


def _row(name: str, few: dict[str, float], many: dict[str, float], part: str) -> Row:
    linear = few[part] * MANY / FEW
    return as_ratio(name, 1000 * many[part], "ms", 1000 * linear, NO_WORSE_THAN_LINEAR)


def _parts(project: Project, number: int) -> dict[str, float]:
    """In a separate process: ralph's modules would make ours too big for the memory measurements."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.task_parts", str(project.root), str(number)],
        cwd=Path(__file__).parent.parent,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        message = f"tasks: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    found: dict[str, float] = json.loads(ran.stdout)
    return found
