"""The fleet: what an iteration costs there, how it grows with workers, and what waiting loops need.

How it grows says nothing beyond the cores of this machine: server, workers, git and agents share them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.child import CannotMeasure
from bench.row import Bar, Row, as_difference, as_ratio

EVENTS = Bar(8)
STATE = Bar(100)
MEMORY = Bar(500)
LONGEST = 1800.0


def measure(folder: Path) -> list[Row]:
    found = _parts(folder / "fleet")
    local, alone = found["local"], found["jobs_1"]
    cores = f"{os.cpu_count()} cores"
    return [
        as_difference("one iteration on a worker; baseline: in a local run", found["fleet"], "ms", local),
        _row("events in the history of one iteration", found["events"], "events", EVENTS),
        _row("events of a job besides", found["events_once"], "events"),
        _row("a job on the server: its state", found["state"], "kB", STATE),
        _row("the largest that it can become", found["largest_state"], "kB", STATE),
        _row("database for each iteration", found["disk"], "kB"),
        _row("CPU of the server for each iteration", found["server_iteration"], "ms"),
        _row("CPU of the server for each second of a session", found["server_second"], "ms"),
        _row("sessions that the ledger of limits lets in and out", found["ledger"], "/s"),
        *(
            as_ratio(
                f"jobs per minute, {count} workers on {cores}; baseline: 1",
                found[f"jobs_{count}"],
                "jobs",
                alone,
            )
            for count in (2, 4)
        ),
        as_ratio(
            "kill -9 until the next session elsewhere; baseline: the heartbeat",
            found["takeover"],
            "s",
            found["heartbeat"],
        ),
        _row("memory of a worker without jobs", found["memory_0"], "MB"),
        _row("with 250 waiting loops", found["memory_250"], "MB"),
        _row("with 1,000 waiting loops", found["memory_1000"], "MB", MEMORY),
        _row("CPU of that worker, of one core", found["idle"], "%"),
    ]


def _row(name: str, measured: float, unit: str, bar: Bar | None = None) -> Row:
    return Row(name=name, measured=measured, unit=unit, compared=measured, compared_unit=unit, bar=bar)


def _parts(folder: Path) -> dict[str, float]:
    """In a separate process: ralph's modules would make ours too big for the memory measurements."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.fleet_parts", str(folder)],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        message = f"the fleet: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    parts: dict[str, float] = json.loads(ran.stdout)
    return parts
