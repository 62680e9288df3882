"""The message bus: many writers at once must lose nothing; what one message costs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from bench.child import LONGEST, CannotMeasure
from bench.project import new_project
from bench.row import Bar, Row, as_difference

WRITERS = 20
MESSAGES = 10_000


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "bus") as project:
        path, environment = project.root / "TASK-MESSAGE-BUS.md", project.environment()
        began = time.perf_counter()
        writers = [
            _start(environment, "post", path, f"w{number}", MESSAGES // WRITERS) for number in range(WRITERS)
        ]
        for writer in writers:
            _finish(writer)
        seconds = time.perf_counter() - began
        read = json.loads(_finish(_start(environment, "read", path)))
    many = f"{MESSAGES:,} messages from {WRITERS} writers"
    return [
        as_difference(f"{many}: lost", MESSAGES - read["messages"], "", 0.0, Bar(0)),
        as_difference(f"{many}: torn, damaged or mixed", read["problems"], "", 0.0, Bar(0)),
        as_difference("one message, including start-up of the writers", 1000 * seconds / MESSAGES, "ms", 0.0),
        as_difference(f"reading {MESSAGES:,} messages", 1000 * read["seconds"], "ms", 0.0),
    ]


def _start(environment: Mapping[str, str], *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.bus_parts", *map(str, arguments)],
        cwd=Path(__file__).parent.parent,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process: subprocess.Popen[str]) -> str:
    try:
        out, err = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        message = "a writer of the bus took too long"
        raise CannotMeasure(message) from None
    if process.returncode:
        message = f"the bus: {err.strip()[-2000:]}"
        raise CannotMeasure(message)
    return out
