"""A whole run, alone and while `ralph web` serves it. ``python -m bench.feed_watched URL`` is the viewer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

from bench.child import CannotMeasure, Cost, interleaved
from bench.project import Project, new_project, ralph_program

ITERATIONS = 40
LINES = 60
ROUNDS = 5
THINKS = 0.02
"""Seconds that the agent is silent in each iteration; a real one is silent for minutes."""


def watched_runs(folder: Path) -> tuple[Cost, Cost]:
    """What the run cost alone, and watched; medians."""
    with new_project(folder, "feed-watched") as project:
        said = json.dumps(
            {"type": "assistant", "message": {"content": [{"type": "text", "text": "x" * 200}]}}
        )
        stream = project.programs / "stream.ndjson"
        stream.write_text(f"{said}\n" * LINES)
        project.program("claude", f"cat > /dev/null; cat {stream}; sleep {THINKS}")
        project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
        costs = interleaved(
            {"alone": lambda: _run(project), "watched": lambda: _watched(project)}, rounds=ROUNDS
        )
    return _median(costs["alone"]), _median(costs["watched"])


def _run(project: Project) -> Cost:
    project.forget_runs()
    return project.ralph_run(ITERATIONS)


def _watched(project: Project) -> Cost:
    project.forget_runs()
    with _page(project) as address, _reader(project, address):
        return project.ralph_run(ITERATIONS)


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        median(cost.wall for cost in costs),
        median(cost.cpu for cost in costs),
        max(cost.peak for cost in costs),
    )


@contextmanager
def _page(project: Project) -> Iterator[str]:
    argv = [ralph_program(), "web", "--port", "0", "--project-dir", str(project.root)]
    with _started(argv, project.root, project) as address:
        yield address


@contextmanager
def _reader(project: Project, address: str) -> Iterator[None]:
    with _started(
        [sys.executable, "-m", "bench.feed_watched", address], Path(__file__).parent.parent, project
    ):
        yield


@contextmanager
def _started(argv: list[str], cwd: Path, project: Project) -> Iterator[str]:
    """Waits for its first line."""
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline().strip()
        if not first:
            message = f"{argv[1]} did not start"
            raise CannotMeasure(message)
        yield first
    finally:
        process.kill()
        process.communicate()


def read(address: str) -> None:
    """As an open page does: the state until there is a run, then its stream."""
    base, _, token = address.partition("/?token=")
    opener = build_opener(ProxyHandler({}))

    def ask(path: str) -> Request:
        return Request(f"{base}{path}", headers={"authorization": f"Bearer {token}"})

    print("ready", flush=True)
    while True:
        try:
            runs = json.load(opener.open(ask("/api/state"), timeout=30))["runs"]
            if runs:
                with opener.open(ask(f"/api/stream?run={runs[0]['id']}"), timeout=60) as stream:
                    for _ in stream:
                        pass
        except (URLError, OSError):
            os._exit(0)
        time.sleep(0.05)


if __name__ == "__main__":
    read(sys.argv[1])
