"""Measures the feed of one record: ``look`` at it twice, ``follow`` a flood, and write a run alone and ``watched``."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench.record_parts import ACTED, CHECK
from ralph.adapters.processes.process_table import this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal
from ralph.domain.loop.events import IterationStarted
from ralph.domain.loop.state import LoopState
from ralph.operations.watch import open_feed

FOLLOWED = 100_000
ROUNDS = 9
WATCHED = 40
"""Iterations of the run that is written alone and watched, 500 events each."""


def look(folder: Path) -> dict[str, float]:
    """Milliseconds: what a screen needs at first, and what it asks for again and again."""
    with open_feed(folder) as feed:
        began = time.perf_counter()
        runs = feed.runs(limit=100)
        feed.boards()
        feed.newest(runs[0].id, 200)
        feed.timeline(runs[0].id)
        first = time.perf_counter() - began
        heads = [_timed(feed.head) for _ in range(200)]
        again = [_timed(lambda: (feed.runs(limit=100), feed.timeline(runs[0].id))) for _ in range(20)]
    return {"first": 1e3 * first, "head": 1e6 * median(heads), "again": 1e3 * median(again)}


def _timed(question: object) -> float:
    assert callable(question)
    began = time.perf_counter()
    question()
    return time.perf_counter() - began


def follow(folder: Path) -> dict[str, float]:
    """Events per second in batches, as every screen reads them, and the peak memory."""
    with open_feed(folder) as feed:
        run_id = feed.runs(limit=1)[0].id
        seen = after = 0
        began = time.perf_counter()
        while seen < FOLLOWED and (batch := feed.events(run_id, after, 500)):
            seen += len(batch)
            after = batch[-1].seq
        taken = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rate": seen / taken, "peak": peak}


def watched(folder: Path) -> dict[str, float]:
    """The CPU time that the journal takes to write a run, alone and while it is followed.

    Not wall time: the follower's own work is done elsewhere, but on the same few cores.
    """
    alone, seen = [], []
    for number in range(ROUNDS):
        alone.append(_write(folder, f"alone{number}"))
        watcher = subprocess.Popen(
            [sys.executable, "-m", "bench.feed_parts", str(folder), "watch", f"seen{number}"],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert watcher.stdout is not None
        watcher.stdout.readline()
        seen.append(_write(folder, f"seen{number}"))
        watcher.kill()
        watcher.communicate()
    return {"alone": 1e3 * median(alone), "watched": 1e3 * median(seen)}


def watch(folder: Path, run_id: str) -> None:
    """As the page does: the head five times a second, and the rest when it changed."""
    with open_feed(folder) as feed:
        print("ready", flush=True)
        after, known = 0, None
        while True:
            head = feed.head()
            if head != known:
                known = head
                feed.runs(limit=100)
                feed.timeline(run_id)
                while batch := feed.events(run_id, after, 500):
                    after = batch[-1].seq
            time.sleep(0.2)


def _write(folder: Path, name: str) -> float:
    database = open_state_database(folder)
    try:
        with SqliteJournal(folder, database, name, owner=this_process(), now=time.time()) as journal:
            journal.begin(profile="basic", agent="claude", root=folder, options={})
            began = time.process_time()
            for iteration in range(1, WATCHED + 1):
                journal.append(IterationStarted(iteration, 1, None, "prompt"), at=time.time())
                for number in range(500):
                    journal.append(ACTED, at=time.time())
                    if number % 50 == 49:
                        journal.flush()
                journal.append(CHECK, at=time.time())
                journal.commit(LoopState(iteration=iteration))
            return time.process_time() - began
    finally:
        database.close()


if __name__ == "__main__":
    place, what, *rest = sys.argv[1:]
    if what == "watch":
        watch(Path(place), rest[0])
    else:
        print(json.dumps({"look": look, "follow": follow, "watched": watched}[what](Path(place))))
