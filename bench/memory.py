"""Peak memory of ``ralph run`` beyond what a session of three lines needs."""

from __future__ import annotations

from pathlib import Path

from bench.child import CannotMeasure, own_peak
from bench.project import Project, new_project
from bench.row import Bar, Row, as_difference
from bench.stream_data import MEGABYTE, write_idle, write_long_line, write_stream
from bench.streams import EVENTS, WHOLE_EVENTS, session

FLAT = Bar(60)
LONG_LINE = 50 * MEGABYTE
TIMES_ITS_SIZE = 4
ROUNDS = 2
"""Peaks hardly differ from run to run."""


def measure(folder: Path) -> list[Row]:
    path = folder / "memory.ndjson"
    with new_project(folder, "memory") as project:
        write_idle(path)
        idle = _peak(project, path)
        if own_peak() >= idle * MEGABYTE:
            message = f"the bench itself needs more memory ({own_peak()} bytes) than an idle ralph"
            raise CannotMeasure(message)

        def row(name: str, bar: Bar | None) -> Row:
            return as_difference(name, _peak(project, path), "MB", idle, bar)

        size = write_stream(path, events=EVENTS)
        rows = [row(f"{EVENTS:,} events, {size / MEGABYTE:.0f} MB", FLAT)]
        size = write_stream(path, events=WHOLE_EVENTS, whole=True)
        rows.append(row(f"{WHOLE_EVENTS:,} events, {size / MEGABYTE:.0f} MB", FLAT))

        bounded = Bar(TIMES_ITS_SIZE * LONG_LINE / MEGABYTE)
        for name, speaker, filler, bar in (
            ("a tool's output", "user", "x", bounded),
            ("assistant text", "assistant", "x", bounded),
            # One such character makes Python use four bytes for each: with the line itself, at least five times its size.
            ("assistant text with emoji", "assistant", "x" * 100 + "🎉", None),
        ):
            write_long_line(path, size=LONG_LINE, speaker=speaker, filler=filler)
            rows.append(row(f"one line of {LONG_LINE // MEGABYTE} MB, {name}", bar))
        path.unlink()
    return rows


def _peak(project: Project, stream: Path) -> float:
    play = session(project, stream)
    return max(play().peak for _ in range(ROUNDS)) / MEGABYTE
