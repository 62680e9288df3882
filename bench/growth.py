"""A run of 10,000 iterations: whether the last ones cost more than the first, and what it leaves on the disk."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from bench.child import CannotMeasure
from bench.project import LIMIT_REACHED, PROMPT, Project, new_project, ralph_program
from bench.row import Bar, Row, as_difference, as_ratio

MANY = 10_000
PRUNED = 2_000
PART = 1_000
KEPT = 100
SAID = 20_000
"""Bytes that the agent of the pruned run prints in each iteration."""
LONGEST = 600.0
EVERY = 0.02
"""Seconds between two looks at the run."""
FLAT = Bar(1.1)


@dataclass(frozen=True, slots=True)
class Look:
    """At ralph, in the middle of its run."""

    iteration: int
    cpu: float  # seconds so far, without what it started
    memory: float  # MB


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes, as the disk counts them."""

    folder: float
    database: float


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "growth") as project:
        project.settings(agent={"command": "/bin/echo", "flags": ["working"]}, limits={"stuckAfter": 0})
        looks = _watched(project, MANY)
        walls = _walls(project)
        whole = _disk(project)
    with new_project(folder, "growth-again") as project:
        project.settings(agent={"command": "/bin/echo", "flags": ["working"]}, limits={"stuckAfter": 0})
        _watched(project, PART)
        again = _walls(project)
    with new_project(folder, "growth-talkative") as project:
        talkative = _talkative(project)
    with new_project(folder, "growth-pruned") as project:
        pruned = _talkative(project, keepIterations=KEPT)
    first, last = _at(looks, PART), _at(looks, MANY - PART)
    begin, end = looks[0], looks[-1]

    def cpu(before: Look, after: Look) -> float:
        return 1000 * (after.cpu - before.cpu) / (after.iteration - before.iteration)

    each = f"the last {PART:,} of {MANY:,}; baseline: the first {PART:,}"
    return [
        as_ratio(f"one iteration, CPU of ralph: {each}", cpu(last, end), "ms", cpu(begin, first), FLAT),
        as_ratio(
            f"one iteration, time: the last {PART:,} of {MANY:,}; baseline: those of a new run just after it",
            1000 * median(walls[-PART:]),
            "ms",
            1000 * median(again),
            FLAT,
        ),
        as_difference(
            f"memory after {MANY:,}; baseline: after {PART:,}", end.memory, "MB", first.memory, Bar(5)
        ),
        as_difference("disk per iteration: files", whole.folder / MANY / 1000, "KB", 0.0),
        as_difference("disk per iteration: the record", whole.database / MANY / 1000, "KB", 0.0),
        as_difference(
            f"disk per iteration: files, if the agent prints {SAID // 1000} KB each",
            talkative.folder / PRUNED / 1000,
            "KB",
            0.0,
            Bar(SAID / 1000),
        ),
        as_difference(
            f"the same, all files after {PRUNED:,} iterations, keepIterations {KEPT}; baseline: {KEPT} iterations whole",
            pruned.folder / 1000,
            "KB",
            KEPT * (SAID + 4 * 4096) / 1000,
            Bar(0),
        ),
    ]


def _talkative(project: Project, **limits: int) -> Disk:
    text = project.programs / "text"
    text.write_bytes(os.urandom(SAID // 4).hex().encode() + b"x" * (SAID - 2 * (SAID // 4)))
    project.settings(agent={"command": "/bin/cat", "flags": [str(text)]}, limits={"stuckAfter": 0, **limits})
    _watched(project, PRUNED)
    return _disk(project)


def _watched(project: Project, iterations: int) -> list[Look]:
    process = subprocess.Popen(
        [ralph_program(), "run", "-p", PROMPT, "-m", str(iterations)],
        cwd=project.root,
        env=project.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    looks: list[Look] = []
    ends = time.monotonic() + LONGEST
    try:
        while process.poll() is None and time.monotonic() < ends:
            if (look := _look(project, process.pid)) is not None:
                looks.append(look)
            time.sleep(EVERY)
    finally:
        process.kill()
        process.wait()
    if process.returncode != LIMIT_REACHED or not looks:
        message = f"a run of {iterations} iterations ended with {process.returncode}"
        raise CannotMeasure(message)
    return looks


def _look(project: Project, pid: int) -> Look | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        with closing(_record(project)) as record:
            iteration = record.execute("SELECT max(iteration) FROM iterations").fetchone()[0]
    except (OSError, sqlite3.Error):
        return None
    if not iteration or not pages:  # it has not begun, or is gone
        return None
    return Look(iteration, cpu, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def _record(project: Project) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{project.root / '.ralph' / 'ralph.db'}?mode=ro", uri=True, timeout=5.0)


def _at(looks: list[Look], iteration: int) -> Look:
    return next(look for look in looks if look.iteration >= iteration)


def _walls(project: Project) -> list[float]:
    with closing(_record(project)) as record:
        rows = record.execute("SELECT started_at FROM iterations ORDER BY iteration").fetchall()
    begun = [at for (at,) in rows]
    return [after - before for before, after in pairwise(begun)]


def _disk(project: Project) -> Disk:
    state = project.root / ".ralph"
    with closing(sqlite3.connect(state / "ralph.db")) as record:
        record.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files = (path for path in (state / "runs").rglob("*") if path.is_file())
    return Disk(
        sum(512.0 * path.stat().st_blocks for path in files), 512.0 * (state / "ralph.db").stat().st_blocks
    )
