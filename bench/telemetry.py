"""What telemetry costs: an iteration with a receiver on this machine, and a scrape over a long history."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

from bench.child import LONGEST, CannotMeasure, interleaved
from bench.project import Project, new_project
from bench.row import Bar, Row, as_difference, as_ratio

MANY = 50
ROUNDS = 5
RUNS, EVENTS = 1000, 1_000_000


def measure(folder: Path) -> list[Row]:
    with ExitStack() as cleaning:
        address = cleaning.enter_context(_receiver())
        projects = (
            cleaning.enter_context(new_project(folder, f"telemetry-{number}")) for number in itertools.count()
        )
        measures: dict[str, Callable[[], float]] = {
            f"{name} {number}": partial(_loop, projects, otlp, number)
            for name, otlp in (("without", ""), ("with", address))
            for number in (1, MANY)
        }
        walls = interleaved(measures, rounds=ROUNDS)
        full = cleaning.enter_context(new_project(folder, "telemetry-full"))
        _run(full, "bench.record_parts", "fill", str(RUNS), str(EVENTS))
        scraped = _run(full, "bench.telemetry_parts")

    def each(name: str) -> float:
        return 1000 * (median(walls[f"{name} {MANY}"]) - median(walls[f"{name} 1"])) / (MANY - 1)

    started = {name: 1000 * median(walls[f"{name} 1"]) for name in ("without", "with")}
    many = f"{RUNS:,} runs, {EVENTS:,} events"
    return [
        as_ratio("one iteration, to a receiver here", each("with"), "ms", each("without"), Bar(1.1)),
        as_difference("a run of one iteration", started["with"], "ms", started["without"]),
        as_difference(f"first scrape of /metrics: {many}", scraped["first"], "ms", 0.0),
        as_difference("a later scrape", scraped["again"], "ms", 0.0, Bar(200)),
    ]


def _loop(projects: Iterator[Project], otlp: str, number: int) -> float:
    project = next(projects)
    agent = project.program("worker", "echo working")
    project.settings(
        agent={"command": str(agent)}, guardrails=["true"], telemetry={"otlp": otlp}, limits={"stuckAfter": 0}
    )
    return project.ralph_run(number).wall


@contextmanager
def _receiver() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


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
