"""Measures the terminal UI over one record: ``paint`` it, ``flood`` it, and write a run while it is ``watched``."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App
    from textual.pilot import Pilot

PER_SECOND = 5_000
SECONDS = 6
BATCH = 250
ROUNDS = 7
SIZE = (120, 40)


def paint(folder: Path) -> dict[str, float]:
    """Milliseconds from the start of this process's work, imports included, to a readable stream."""
    began = time.perf_counter()
    from ralph.interfaces.tui.app import RalphApp

    imported = time.perf_counter() - began

    async def whole() -> float:
        app = RalphApp(folder)
        async with app.run_test(size=SIZE) as pilot:
            while app.main.stream.virtual_size.height < 10:
                await pilot.pause(0.001)
            return time.perf_counter() - began

    return {"painted": 1e3 * asyncio.run(whole()), "imported": 1e3 * imported}


def flood(folder: Path) -> dict[str, float]:
    """A run that writes thousands of events per second: how far behind the screen is, and what that costs."""
    from ralph.interfaces.tui.app import RalphApp

    writer = subprocess.Popen(
        [sys.executable, "-m", "bench.ui_parts", str(folder), "write"],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    async def whole() -> dict[str, float]:
        app = RalphApp(folder, "flood")
        assert writer.stdout is not None
        assert writer.stdin is not None
        writer.stdout.readline()
        lags: list[float] = []
        async with app.run_test(size=SIZE) as pilot:
            stream = app.main.stream
            while not stream.virtual_size.height:
                await pilot.pause(0.01)
            writer.stdin.write("go\n")
            writer.stdin.flush()
            began, used = time.perf_counter(), time.process_time()
            while writer.poll() is None:
                asked = time.perf_counter()
                await pilot.pause(0.01)
                lags.append(time.perf_counter() - asked - 0.01)  # how long a key would have to wait
            ended = time.perf_counter()
            share = (time.process_time() - used) / (ended - began)
            await _until(lambda: "last word" in _shown(app), pilot)
            behind = time.perf_counter() - ended
        written = json.loads(writer.stdout.read())
        writer.communicate()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {
            "behind": 1e3 * behind,
            "share": 100 * share,
            "peak": peak,
            "key": 1e3 * sorted(lags)[int(0.95 * len(lags))],
            "rate": written["rate"],
        }

    return asyncio.run(whole())


async def _until(condition: Callable[[], bool], pilot: Pilot[None]) -> None:
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        await pilot.pause(0.01)


def _shown(app: App[None]) -> str:
    return app.export_screenshot().replace("&#160;", " ")


def write(folder: Path) -> dict[str, float]:
    """As a run would, in bursts, at the given rate."""
    from bench.record_parts import ACTED
    from ralph.adapters.processes.process_table import this_process
    from ralph.adapters.storage.database import open_state_database
    from ralph.adapters.storage.journal import SqliteJournal
    from ralph.domain.agent.events import Text
    from ralph.domain.loop.events import AgentActed, IterationStarted

    database = open_state_database(folder)
    with SqliteJournal(folder, database, "flood", owner=this_process(), now=time.time()) as journal:
        journal.begin(profile="basic", agent="claude", root=folder, options={})
        journal.append(IterationStarted(1, 1, None, "prompt"), at=time.time())
        journal.flush()
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.perf_counter()
        for burst in range(PER_SECOND * SECONDS // BATCH):
            if burst % 20 == 19:  # the journal keeps a limited number of bytes per session
                journal.append(IterationStarted(burst, 1, None, "prompt"), at=time.time())
            for _ in range(BATCH):
                journal.append(ACTED, at=time.time())
            journal.flush()
            time.sleep(max(0.0, began + (burst + 1) * BATCH / PER_SECOND - time.perf_counter()))
        taken = time.perf_counter() - began
        journal.append(IterationStarted(10_000, 1, None, "prompt"), at=time.time())
        journal.append(AgentActed((Text("last word"),)), at=time.time())
        journal.flush()
    database.close()
    return {"rate": PER_SECOND * SECONDS / taken}


def watched(folder: Path) -> dict[str, float]:
    """The CPU time that the journal takes to write a run, alone and while the UI shows it."""
    from bench.feed_parts import _write

    alone, seen = [], []
    for number in range(ROUNDS):
        alone.append(_write(folder, f"alone{number}"))
        viewer = subprocess.Popen(
            [sys.executable, "-m", "bench.ui_parts", str(folder), "view"],
            cwd=Path(__file__).parent.parent,
            stdout=subprocess.PIPE,
        )
        assert viewer.stdout is not None
        viewer.stdout.readline()
        try:
            seen.append(_write(folder, f"seen{number}"))
        finally:
            viewer.kill()
            viewer.communicate()
    return {"alone": 1e3 * median(alone), "watched": 1e3 * median(seen)}


def view(folder: Path) -> dict[str, float]:
    """The UI, until it is ended."""
    from ralph.interfaces.tui.app import RalphApp

    async def whole() -> None:
        async with RalphApp(folder).run_test(size=SIZE) as pilot:
            print("ready", file=sys.__stdout__, flush=True)  # textual captures sys.stdout
            while True:
                await pilot.pause(1)

    asyncio.run(whole())
    return {}


PARTS = {"paint": paint, "flood": flood, "write": write, "watched": watched, "view": view}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[2]](Path(sys.argv[1]))))
