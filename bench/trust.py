"""CPU of the check that a project is trusted, which comes before every run, as a share of a bare Python's start."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from bench.child import cost_of, interleaved
from bench.project import Project, new_project, ralph_program
from bench.row import Bar, Row, as_ratio

ROUNDS = 15
CHECKS = """import sys, time
from pathlib import Path
from types import SimpleNamespace
import ralph.interfaces.cli.console_run
from ralph.config.loading import Sources
sources = Sources.read(Path.cwd(), {})
sources.load()
here = SimpleNamespace(workspace=Path.cwd())
launch = SimpleNamespace(loaded=sources, root=here, demands=(), profile=SimpleNamespace(sandbox=""))
before = time.process_time()
from ralph.interfaces.cli.trust_question import require_trust
require_trust(launch)
Path(sys.argv[1]).write_text(str(time.process_time() - before))
"""
"""With what it imports."""


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "trusted") as trusted, new_project(folder, "plain") as plain:
        commands = [{"command": f"make test-{number}"} for number in range(10)]
        trusted.settings(agent={"command": "agent", "flags": ["--fast"]}, guardrails=commands)
        environment = trusted.environment(is_waived=False)
        cost_of([ralph_program(), "trust", "--yes"], cwd=trusted.root, environment=environment)
        measures = {
            "python": lambda: trusted.python("pass").cpu,
            "trusted": lambda: _check(trusted),
            "plain": lambda: _check(plain),
        }
        found = {name: 1000 * median(costs) for name, costs in interleaved(measures, rounds=ROUNDS).items()}
    python = found["python"]
    return [
        as_ratio("a project that was trusted, 12 commands", found["trusted"], "ms", python, Bar(0.4)),
        as_ratio("a project without settings", found["plain"], "ms", python, Bar(0.3)),
    ]


def _check(project: Project) -> float:
    note = project.programs / "note"
    argv = [sys.executable, "-c", CHECKS, str(note)]
    cost_of(argv, cwd=project.root, environment=project.environment(is_waived=False))
    return float(note.read_text())
