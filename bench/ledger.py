"""Prompts stay as long as they are, however many sessions there were; what it costs to tell them what was tried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from bench.child import LONGEST, CannotMeasure, interleaved
from bench.project import LIMIT_REACHED, PROMPT, Project, new_project
from bench.row import Bar, Row, as_difference, as_ratio

EARLY = 10
LATE = 1000
STEP = 100
"""Iterations of one process: each must end in time."""
MANY = 30
ROUNDS = 5
AGENT = """n=$RALPH_ITERATION
echo "$n" > "module_$((n % 7)).py"
echo "$((n % 3))" > shared.py
echo working"""
GUARDRAIL = 'echo "E  assert $(cat shared.py) == 12345"; exit 1'


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "ledger-long") as project:
        _prepare(project)
        project.ralph("run", "-p", PROMPT, "-m", str(STEP), expected=(LIMIT_REACHED,))
        for number in range(2 * STEP, LATE + 1, STEP):
            project.ralph("resume", "-m", str(number), expected=(LIMIT_REACHED,))
        early, late = (_prompt_bytes(project, number) for number in (EARLY, LATE))
        each = _parts(project)
    with new_project(folder, "ledger-with") as with_it, new_project(folder, "ledger-without") as without:
        _prepare(with_it)
        _prepare(without, ledger=False)
        walls = interleaved(
            {"with": lambda: _run(with_it), "without": lambda: _run(without)},
            rounds=ROUNDS,
        )
    found = {name: 1000 * median(times) / MANY for name, times in walls.items()}
    return [
        as_ratio(f"prompt of iteration {LATE:,}; baseline: iteration {EARLY}", late, "B", early, Bar(1.05)),
        as_ratio(
            "one iteration with it; baseline: ledger: false", found["with"], "ms", found["without"], Bar(1.05)
        ),
        as_difference("of that: noting an attempt, and telling eight", each, "ms", 0.0, Bar(1)),
    ]


def _prepare(project: Project, **more: object) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True, timeout=LONGEST)
    agent = project.program("agent", AGENT)
    project.settings(
        agent={"command": str(agent)},
        guardrails=[{"command": GUARDRAIL, "name": "pytest"}],
        limits={"stuckAfter": 0},
        **more,
    )


def _run(project: Project) -> float:
    wall = project.ralph_run(MANY).wall
    project.forget_runs()
    return wall


def _prompt_bytes(project: Project, iteration: int) -> int:
    (run,) = (project.root / ".ralph" / "runs").iterdir()
    return (run / f"prompt_{iteration:03}.txt").stat().st_size


def _parts(project: Project) -> float:
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
    return float(json.loads(ran.stdout))
