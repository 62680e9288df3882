"""``ralph status`` over a long history, as a multiple of an empty one; what it costs to write the record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from bench.child import LONGEST, CannotMeasure, interleaved
from bench.project import Project, new_project
from bench.row import Bar, Row, as_difference, as_ratio

RUNS = 1000
EVENTS = 1_000_000
ROUNDS = 11


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "status-empty") as empty, new_project(folder, "status-full") as full:
        _record(empty, "fill", "0", "0")
        _record(full, "fill", str(RUNS), str(EVENTS))
        walls = interleaved(
            {
                "empty": lambda: empty.ralph("status").wall,
                "full": lambda: full.ralph("status").wall,
                "json": lambda: full.ralph("status", "--json").wall,
                "last": lambda: full.ralph("show", "last").wall,
            },
            rounds=ROUNDS,
        )
        found = {name: 1000 * median(times) for name, times in walls.items()}
        cost = _record(empty, "write")
    many = f"{RUNS:,} runs, {EVENTS:,} events"
    return [
        as_ratio(f"ralph status: {many}", found["full"], "ms", found["empty"], Bar(1.5)),
        as_ratio(f"ralph status --json: {many}", found["json"], "ms", found["empty"]),
        as_ratio("ralph show last, of 1,000 events", found["last"], "ms", found["empty"]),
        as_difference("journal: one event", cost["event"], "us", 0.0),
        as_difference("journal: one iteration, without its events", cost["iteration"], "ms", 0.0),
        as_difference("database: growth per iteration, 3 events", cost["small"], "KB", 0.0),
        as_difference("database: growth per iteration, 100 events", cost["large"], "KB", 0.0),
    ]


def _record(project: Project, *arguments: str) -> dict[str, float]:
    """In a separate process: ralph's modules would make ours too big for the memory measurements."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.record_parts", str(project.root / ".ralph"), *arguments],
        cwd=Path(__file__).parent.parent,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        message = f"the record: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    found: dict[str, float] = json.loads(ran.stdout)
    return found
