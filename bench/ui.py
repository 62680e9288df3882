"""The terminal UI: the first screen over a million events, a flood of events, and what it costs to be watched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.child import LONGEST, CannotMeasure
from bench.project import Project, new_project
from bench.row import Bar, Row, as_difference, as_ratio

EVENTS = 1_000_000
ROUNDS = 5


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "ui-full") as full, new_project(folder, "ui-small") as small:
        _run(full, "bench.record_parts", "fill", "5", str(EVENTS))
        _run(small, "bench.record_parts", "fill", "5", "1000")
        painted: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(ROUNDS):
            for is_full, project in ((True, full), (False, small)):
                painted[is_full].append(_run(project, "bench.ui_parts", "paint")["painted"])
        flood = _run(full, "bench.ui_parts", "flood")
        watched = _run(small, "bench.ui_parts", "watched")
    return [
        as_difference(
            f"first screen, including imports: {EVENTS:,} events",
            min(painted[True]),
            "ms",
            min(painted[False]),
            Bar(150),
        ),
        as_difference(
            f"behind {flood['rate']:,.0f} events per second", flood["behind"], "ms", 0.0, Bar(1000)
        ),
        as_difference("delay of a key meanwhile, 95th percentile", flood["key"], "ms", 0.0, Bar(150)),
        as_difference("CPU of the UI meanwhile", flood["share"], "%", 0.0),
        as_difference("memory of the UI", flood["peak"], "MB", 0.0, Bar(200)),
        as_ratio(
            "writing a run while it is shown: CPU", watched["watched"], "ms", watched["alone"], Bar(1.05)
        ),
    ]


def _run(project: Project, module: str, *arguments: str) -> dict[str, float]:
    try:
        ran = subprocess.run(
            [sys.executable, "-m", module, str(project.root / ".ralph"), *arguments],
            cwd=Path(__file__).parent.parent,
            env=project.environment(),
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        message = f"{module}: took longer than {LONGEST:.0f} s"
        raise CannotMeasure(message) from error
    if ran.returncode:
        message = f"{module}: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    found: dict[str, float] = json.loads(ran.stdout)
    return found
