"""Reading a record of a million events, following a flood, and what it costs a run to be watched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.child import LONGEST, CannotMeasure
from bench.feed_watched import watched_runs
from bench.project import Project, new_project
from bench.row import Bar, Row, Sense, as_difference, as_ratio

EVENTS = 1_000_000


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "feed-full") as full, new_project(folder, "feed-small") as small:
        _run(full, "bench.record_parts", "fill", "5", str(EVENTS))
        _run(small, "bench.record_parts", "fill", "5", "1000")
        looked = _run(full, "bench.feed_parts", "look")
        empty = _run(small, "bench.feed_parts", "look")
        followed = _run(full, "bench.feed_parts", "follow")
        watched = _run(small, "bench.feed_parts", "watched")
    alone, seen = watched_runs(folder)
    many = f"{EVENTS:,} events"
    return [
        as_difference(
            f"first read: runs, board, newest events, iterations; {many}",
            looked["first"],
            "ms",
            empty["first"],
            Bar(50),
        ),
        as_difference("a later read: runs and iterations", looked["again"], "ms", empty["again"], Bar(5)),
        as_difference("has anything changed?", looked["head"], "us", 0.0, Bar(500)),
        as_difference("events followed per second", followed["rate"], "1/s", 0.0, Bar(5000, Sense.AT_LEAST)),
        as_difference("memory of the follower", followed["peak"], "MB", 0.0),
        as_ratio(
            "writing a run while it is watched: CPU", watched["watched"], "ms", watched["alone"], Bar(1.05)
        ),
        as_ratio(
            "a whole run while the page shows it: time", 1e3 * seen.wall, "ms", 1e3 * alone.wall, Bar(1.05)
        ),
        as_ratio("a whole run while the page shows it: CPU", 1e3 * seen.cpu, "ms", 1e3 * alone.cpu),
    ]


def _run(project: Project, module: str, *arguments: str) -> dict[str, float]:
    ran = subprocess.run(
        [sys.executable, "-m", module, str(project.root / ".ralph"), *arguments],
        cwd=Path(__file__).parent.parent,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        message = f"{module}: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    found: dict[str, float] = json.loads(ran.stdout)
    return found
