"""``fill RUNS EVENTS`` fills a database with runs; ``write`` measures the journal. Prints JSON."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ralph.adapters.processes.process_table import this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal
from ralph.adapters.storage.wire import encode_event, encode_state
from ralph.domain.agent.events import Text, ToolEnded, ToolStarted
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    AgentActed,
    CheckEnded,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    RunEnded,
    RunStarted,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState

EVENTS_PER_ITERATION = 100
OPEN_EVERY = 20
"""One in this many runs was killed and never ended."""

ADD_RUN = """INSERT INTO runs (id, profile, agent, root, options, state, started_at, updated_at, outcome, reason,
    pid, process_started, boot_id, host) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
ADD_EVENT = "INSERT INTO events (run_id, iteration, at, kind, data) VALUES (?, ?, ?, ?, ?)"
ADD_ITERATION = """INSERT INTO iterations (run_id, iteration, attempt, assignment, role, started_at, ended_at)
    VALUES (?, ?, 1, 'prompt', '', ?, ?)"""

ACTED = AgentActed(
    (
        Text("I will look at the tests first, then fix the parser."),
        ToolStarted("tool_1", "Read", "src/parser.py"),
        ToolEnded("tool_1", "Read", "def parse(text):\n    return text.split()", lines=40, chars=1200),
    )
)
CHECK = CheckEnded(CheckResult("unit tests", Verdict.PASSED, command="make test", exit_code=0, seconds=1.5))


def fill(folder: Path, runs: int, events: int) -> dict[str, float]:
    """As the journal would have written it, but in one transaction."""
    database = open_state_database(folder)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    now, here = time.time(), this_process()
    for number in range(runs):
        name, at = f"20250101-{number:06}-abcd", now - 60.0 * (runs - number)
        is_over = number % OPEN_EVERY != 0
        database.execute(
            ADD_RUN,
            (
                *(name, "basic", "claude", str(folder), json.dumps({"maximumIterations": 10})),
                *(encode_state(LoopState(iteration=10)), at, at, "exhausted" if is_over else None, ""),
                # A process that had our pid before: ralph looks for it and does not find it.
                *(here.pid, f"{here.process_started}1", here.boot_id, here.host),
            ),
        )
        database.executemany(ADD_EVENT, _rows(name, at, events // runs))
        database.executemany(
            ADD_ITERATION,
            ((name, iteration + 1, at, at) for iteration in range(events // runs // EVENTS_PER_ITERATION)),
        )
    database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = float((folder / "ralph.db").stat().st_size)
    database.close()
    return {"bytes": size}


def _rows(name: str, at: float, events: int) -> Iterator[tuple[str, int, float, str, bytes]]:
    acted = encode_event(ACTED)
    whole: dict[int, LoopEvent] = {
        0: RunStarted(name, "basic", "claude", "/project"),
        events - 4: CHECK,
        events - 1: RunEnded(Outcome.EXHAUSTED, "limit of 10 iterations reached", 10, Spend(), 60.0),
    }
    for number in range(events):
        event = whole.get(number)
        kind, data = ("agent_acted", acted) if event is None else (event.kind, encode_event(event))
        yield name, number // EVENTS_PER_ITERATION + 1, at, kind, data


def write(folder: Path) -> dict[str, float]:
    """Microseconds for an event, milliseconds for an iteration, kilobytes of growth per iteration."""
    event, _ = _written(folder, "events", iterations=20, events=500)
    bare, _ = _written(folder, "bare", iterations=100, events=0)
    _, small = _written(folder, "small", iterations=200, events=3)
    _, large = _written(folder, "large", iterations=100, events=EVENTS_PER_ITERATION)
    return {
        "event": 1e6 * (event - bare) / 500,
        "iteration": 1e3 * bare,
        "small": small / 1000,
        "large": large / 1000,
    }


def _written(folder: Path, name: str, *, iterations: int, events: int) -> tuple[float, float]:
    """Seconds and bytes of each iteration."""
    database = open_state_database(folder)
    try:
        before = _size(folder, database)
        with SqliteJournal(folder, database, name, owner=this_process(), now=time.time()) as journal:
            journal.begin(profile="basic", agent="claude", root=folder, options={})
            began = time.perf_counter()
            for number in range(iterations):
                _iteration(journal, number + 1, events)
            taken = time.perf_counter() - began
        return taken / iterations, (_size(folder, database) - before) / iterations
    finally:
        database.close()


def _iteration(journal: SqliteJournal, iteration: int, events: int) -> None:
    started = IterationStarted(iteration=iteration, attempt=1, maximum=None, assignment="prompt")
    journal.append(started, at=time.time())
    journal.commit(LoopState())
    for number in range(events):
        journal.append(ACTED, at=time.time())
        if number % 20 == 19:
            journal.flush()  # as happens four times a second
    journal.append(CHECK, at=time.time())
    ended = IterationEnded(
        iteration=iteration,
        attempt=1,
        decision="continue",
        reason="no claim of completion",
        claimed=False,
        proven=True,
        spend=Spend(),
        seconds=0.0,
    )
    journal.append(ended, at=time.time())
    journal.commit(LoopState(iteration=iteration))


def _size(folder: Path, database: sqlite3.Connection) -> int:
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (folder / "ralph.db").stat().st_size


def main(arguments: list[str]) -> dict[str, float]:
    folder, what, *numbers = arguments
    if what == "fill":
        return fill(Path(folder), int(numbers[0]), int(numbers[1]))
    return write(Path(folder))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
