"""``python -m bench``: measures everything in one run and prints one table.

The bars are for information: a missed one is reported, but is not a failure. The exit code is 1 only if something
could not be measured. Everything is written to a temporary folder (TMPDIR), so that disk is measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench.child import CannotMeasure
from bench.row import Row
from bench.table import as_data, render, summary


def _measure(module: str) -> Callable[[Path], list[Row]]:
    """Imported when it is its turn: whatever is measured starts with our own peak of memory."""

    def measure(folder: Path) -> list[Row]:
        rows: list[Row] = import_module(f"bench.{module}").measure(folder)
        return rows

    return measure


MEASUREMENTS: dict[str, tuple[str, Callable[[Path], list[Row]]]] = {
    "memory": ("Memory: peak; baseline: a session of three lines", _measure("memory")),
    "startup": ("Start-up: CPU; baseline: `python -c pass`", _measure("startup")),
    "trust": ("Trust: CPU of the check before a run; baseline: `python -c pass`", _measure("trust")),
    "iterations": ("Iterations: time of each; baseline: a shell loop", _measure("iterations")),
    "ledger": ("The ledger: prompts over 1,000 iterations, and what it costs", _measure("ledger")),
    "proof": ("Proof: a run accepted at once; baseline: --proof trusting", _measure("proof")),
    "streams": ("Streams: time without start-up; baseline: json.loads of each line", _measure("streams")),
    "status": ("The record: `ralph status` over a long history; baseline: an empty one", _measure("status")),
    "many": ("Many: CPU with 1,000 runs and 5,000 tasks; baseline: 10 of each", _measure("many")),
    "tasks": ("Tasks: CPU for 10,000; baseline: twice that for 5,000", _measure("tasks")),
    "work": ("Work: tasks in parallel, and what git costs", _measure("work")),
    "tickets": ("Tickets: taking in thousands, and starting with them", _measure("tickets")),
    "delivery": ("Deliveries: CPU of a decision, and of following pull requests", _measure("delivery")),
    "fleet": (
        "The fleet: iterations, jobs and waiting loops on Temporal, on this machine",
        _measure("fleet"),
    ),
    "plans": ("Plans: audit of 1,000 stories; baseline: json.loads", _measure("plan_audit")),
    "bus": ("The message bus: 10,000 messages from 20 writers", _measure("bus")),
    "supervised": ("Supervision: 200 children over 1,000 restarts", _measure("supervised")),
    "feed": ("The feed of terminal UI and web page: a million events", _measure("feed")),
    "telemetry": ("Telemetry: iterations with an OTLP receiver; baseline: without", _measure("telemetry")),
    "ui": ("The terminal UI: a million events, and 5,000 per second", _measure("ui")),
    "isolation": ("Isolation: a process in a sandbox; baseline: without", _measure("isolation")),
    "hooks": ("The plugin's hooks: CPU to the answer; baseline: `python -c pass`", _measure("hooks")),
    "guard": ("The guard: CPU of a decision and of its start; baseline: `python -c pass`", _measure("guard")),
}
LONG: dict[str, tuple[str, Callable[[Path], list[Row]]]] = {
    "growth": ("Growth: a run of 10,000 iterations; baseline: its beginning", _measure("growth")),
    "crowd": ("The crowd: loops of one machine, 200 that wait and 50 that stream", _measure("crowd")),
}
"""Minutes each: only if they are asked for."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what ralph costs.")
    parser.add_argument("--only", action="append", choices=[*MEASUREMENTS, *LONG], help="may be repeated")
    parser.add_argument("--json", action="store_true", help="rows as JSON on stdout")
    given = parser.parse_args(arguments)

    sections: dict[str, list[Row]] = {}
    problems: list[str] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ralph-bench-") as folder:
        for name in given.only or MEASUREMENTS:
            title, measure = (MEASUREMENTS | LONG)[name]
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            try:
                sections[title] = measure(Path(folder))
            except CannotMeasure as error:
                problems.append(f"{name}: {error}")
    if given.json:
        print(json.dumps(as_data(sections), indent=2))
    else:
        print(render(sections))
        print(f"\n{summary(sections)} ({time.monotonic() - began:.0f} s)")
    for problem in problems:
        print(f"bench: could not measure {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
