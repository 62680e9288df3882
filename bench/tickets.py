"""Tickets: what thousands of them cost to take in, and whether `ralph work` starts with them as fast as with five."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.child import Cost, cost_of
from bench.project import Project, new_project, ralph_program
from bench.row import Bar, Row, as_ratio
from bench.served import serve

FEW, SOME, MANY = 5, 500, 5_000
SECONDS = Bar(10.0)
FLAT = Bar(1.5)
AS_FAST = Bar(1.2)
ROUNDS = 3
WORKER = """cat > /dev/null
date +%s.%N > {began}
echo "$RALPH_TASK_ID" > "$RALPH_TASK_ID.txt"
echo '<promise>IMPLEMENTATION_COMPLETE</promise>'"""


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "tickets-some") as project:
        some = _imported(project, SOME)
    with new_project(folder, "tickets-few") as project:
        _imported(project, FEW)
        few = [_worked(project) for _ in range(ROUNDS)]
    with new_project(folder, "tickets-many") as project:
        many = _imported(project, MANY)
        started = [_worked(project) for _ in range(ROUNDS)]
    return [
        Row(
            name=f"import of {MANY:,} tickets: own CPU",
            measured=many.cpu,
            unit="s",
            compared=many.cpu,
            compared_unit="s",
            bar=SECONDS,
        ),
        as_ratio(
            f"peak memory of that; baseline: {SOME} tickets", many.peak / 1e6, "MB", some.peak / 1e6, FLAT
        ),
        _compare(
            "start of `ralph work` until its agent",
            [one.start for one in started],
            [one.start for one in few],
            AS_FAST,
        ),
        _compare(
            "CPU of the whole `ralph work -m 1`", [one.cpu for one in started], [one.cpu for one in few]
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Worked:
    """Seconds: until the agent began, and of CPU in all."""

    start: float
    cpu: float


def _compare(name: str, many: list[float], few: list[float], bar: Bar | None = None) -> Row:
    what = f"{name}, with {MANY:,} tasks; baseline: with {FEW}"
    return as_ratio(what, 1000 * median(many), "ms", 1000 * median(few), bar)


def _imported(project: Project, count: int) -> Cost:
    agent = project.program("worker", WORKER.format(began=project.programs / "began"))
    roles = {"coder": {"command": "true"}}
    project.settings(
        agent={"command": str(agent)}, profiles={"verified": {"stages": ["coder"], "roles": roles}}
    )
    for arguments in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "bench"),
        ("config", "user.email", "bench@example.invalid"),
        ("commit", "-q", "--allow-empty", "-m", "Begin"),
    ):
        subprocess.run(["git", *arguments], cwd=project.root, check=True, timeout=30)
    with serve("bench.tickets_parts", count) as address:
        # Without gh: what it costs is not ours.
        path = os.pathsep.join(
            one for one in os.environ["PATH"].split(os.pathsep) if not (Path(one) / "gh").exists()
        )
        environment = {**project.environment(), "PATH": path, "GITHUB_API_URL": address}
        argv = [ralph_program(), "task", "import", "github:owner/demo", "--yes"]
        return cost_of(argv, cwd=project.root, environment=environment)


def _worked(project: Project) -> _Worked:
    """Local work only: what a tracker answers is not ours."""
    with sqlite3.connect(project.root / ".ralph" / "ralph.db") as database:
        database.execute("DELETE FROM tickets")
    before = time.time()
    cost = project.ralph("work", "-m", "1", expected=(0, 1))
    return _Worked(float((project.programs / "began").read_text()) - before, cost.cpu)
