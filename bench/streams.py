"""A flood of events through ``ralph run``, compared with a bare ``json.loads`` of every line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.child import Cost, interleaved
from bench.project import Project, new_project
from bench.row import Bar, Row, Sense, as_ratio, as_speed
from bench.stream_data import MEGABYTE, write_idle, write_long_line, write_stream

EVENTS = 100_000
WHOLE_EVENTS = 190_000
LONG_LINE = 50 * MEGABYTE

# What was asked for is 150, 250 and 200 MB/s, on a machine whose json.loads alone takes these streams in at 95, 164 and 262.
SHORT_BAR = Bar(1.6, Sense.AT_LEAST)
WHOLE_BAR = Bar(1.5, Sense.AT_LEAST)
LONG_LINE_BAR = Bar(0.76, Sense.AT_LEAST)

BARE_PASS = """import json, sys
with open(sys.argv[1], "rb") as file:
    for line in file:
        json.loads(line)"""


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "streams") as project:
        idle, stream, long_stream = (folder / f"{name}.ndjson" for name in ("idle", "stream", "long_stream"))
        write_idle(idle)
        size = write_stream(stream, events=EVENTS)
        rows = _compare(
            project,
            f"{EVENTS:,} events, {size / MEGABYTE:.0f} MB, short lines",
            idle,
            stream,
            bar=SHORT_BAR,
            rounds=5,
            variants={", --no-stream-agent-output": ("--no-stream-agent-output",), ", --json": ("--json",)},
        )
        stream.unlink()
        size = write_stream(long_stream, events=WHOLE_EVENTS, whole=True)
        rows += _compare(
            project,
            f"{WHOLE_EVENTS:,} events, {size / MEGABYTE:.0f} MB, whole lines",
            idle,
            long_stream,
            bar=WHOLE_BAR,
            rounds=3,
            variants={},
        )
        write_long_line(long_stream, size=LONG_LINE, speaker="user")
        name = f"one line of {LONG_LINE // MEGABYTE} MB, a tool's output"
        rows += _compare(project, name, idle, long_stream, bar=LONG_LINE_BAR, rounds=3, variants={})
        long_stream.unlink()
    return rows


def _compare(
    project: Project,
    name: str,
    idle: Path,
    stream: Path,
    *,
    bar: Bar,
    rounds: int,
    variants: dict[str, tuple[str, ...]],
) -> list[Row]:
    """Start-up is measured with a stream of three lines and subtracted on both sides."""
    size = stream.stat().st_size / MEGABYTE
    plays: dict[str, tuple[str, ...]] = {"": (), **variants}
    measures: dict[str, Callable[[], Cost]] = {
        "bare idle": lambda: project.python(BARE_PASS, str(idle)),
        "bare": lambda: project.python(BARE_PASS, str(stream)),
    }
    for variant, flags in plays.items():
        measures[f"ralph{variant} idle"] = session(project, idle, *flags)
        measures[f"ralph{variant}"] = session(project, stream, *flags)
    costs = interleaved(measures, rounds=rounds)

    def wall(what: str) -> float:
        return _without_start_up([cost.wall for cost in costs[what]], [c.wall for c in costs[f"{what} idle"]])

    def cpu(what: str) -> float:
        return _without_start_up([cost.cpu for cost in costs[what]], [c.cpu for c in costs[f"{what} idle"]])

    rows = [
        as_speed(name + variant, wall(f"ralph{variant}"), "s", wall("bare"), None if variant else bar)
        for variant in plays
    ]
    return [
        *rows,
        as_speed(f"{name}, CPU", cpu("ralph"), "s", cpu("bare")),
        as_ratio(f"{name}, on this machine", size / wall("ralph"), "MB/s", size / wall("bare")),
    ]


def _without_start_up(whole: list[float], start_up: list[float]) -> float:
    return median(whole) - median(start_up)


def session(project: Project, stream: Path, *flags: str) -> Callable[[], Cost]:
    """One session of a claude that prints this file."""

    def play() -> Cost:
        project.program("claude", f"exec cat {stream}")
        project.settings(agent={"command": "claude"})
        cost = project.ralph_run(1, *flags)
        project.forget_runs()
        return cost

    return play
