"""Prompts stay as long as they are, however many sessions there were; what it costs to tell them what was tried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from bench.child import LONGEST, CannotMeasure, interleaved
from bench.project import Project, new_project
from bench.row import Bar, Row, as_difference, as_ratio

MANY = 20
ROUNDS = 5
AGENT = """echo "$RALPH_ITERATION" > "module_$((RALPH_ITERATION % 7)).py"
echo working"""
GUARDRAIL = 'echo "E  assert $(cat module_*.py | head -n 1) == 12345"; exit 1'


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "ledger-with") as with_it, new_project(folder, "ledger-without") as without:
        parts = _parts(with_it)
        _prepare(with_it)
        _prepare(without, ledger=False)
        walls = interleaved(
            {"with": lambda: _run(with_it), "without": lambda: _run(without)},
            rounds=ROUNDS,
        )
    each = {name: 1000 * median(times) / MANY for name, times in walls.items()}
    early = parts["10"]
    return [
        as_ratio(
            "the prompt of iteration 1,000; baseline: iteration 10", parts["1000"], "B", early, Bar(1.05)
        ),
        as_ratio(
            "the longest of 1,000 prompts; baseline: iteration 10", parts["longest"], "B", early, Bar(1.05)
        ),
        as_ratio("one iteration; baseline: ledger: false", each["with"], "ms", each["without"], Bar(1.05)),
        as_difference("noting an attempt, and telling a full ledger", parts["ms"], "ms", 0.0, Bar(2)),
    ]


def _prepare(project: Project, **more: object) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True, timeout=LONGEST)
    project.settings(
        agent={"command": str(project.program("agent", AGENT))},
        guardrails=[{"command": GUARDRAIL, "name": "pytest"}],
        limits={"stuckAfter": 0},
        **more,
    )


def _run(project: Project) -> float:
    wall = project.ralph_run(MANY).wall
    project.forget_runs()
    return wall


def _parts(project: Project) -> dict[str, float]:
    """In a separate process: ralph's modules would make ours too big for the memory measurements."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.ledger_parts"],
        cwd=Path(__file__).parent.parent,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        message = f"the ledger: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    found: dict[str, float] = json.loads(ran.stdout)
    return found
