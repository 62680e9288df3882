"""Peak memory of ``ralph run`` beyond what a session of three lines needs."""

from __future__ import annotations

from pathlib import Path

from bench.child import CannotMeasure, own_peak
from bench.project import Project, new_project
from bench.row import Bar, Row, as_difference
from bench.stream_data import MEGABYTE, write_idle, write_long_line, write_stream
from bench.streams import EVENTS, LONG_LINE, WHOLE_EVENTS, session

FLAT = Bar(60)
IN_ALL = Bar(40)
LONG_LINE_IN_ALL = Bar(130)
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

        def rows_of(name: str, bar: Bar | None, in_all: Bar | None) -> list[Row]:
            peak = _peak(project, path)
            beyond = as_difference(name, peak, "MB", idle, bar)
            return (
                [beyond]
                if in_all is None
                else [beyond, as_difference(f"{name}, in all", peak, "MB", 0.0, in_all)]
            )

        size = write_stream(path, events=EVENTS)
        rows = rows_of(f"{EVENTS:,} events, {size / MEGABYTE:.0f} MB", FLAT, IN_ALL)
        size = write_stream(path, events=WHOLE_EVENTS, whole=True)
        rows += rows_of(f"{WHOLE_EVENTS:,} events, {size / MEGABYTE:.0f} MB", FLAT, IN_ALL)

        bounded = Bar(TIMES_ITS_SIZE * LONG_LINE / MEGABYTE)
        for name, speaker, filler, bar, in_all in (
            ("a tool's output", "user", "x", bounded, LONG_LINE_IN_ALL),
            ("assistant text", "assistant", "x", bounded, None),
            # One such character makes Python use four bytes for each: with the line itself, at least five times its size.
            ("assistant text with emoji", "assistant", "x" * 100 + "🎉", None, None),
        ):
            write_long_line(path, size=LONG_LINE, speaker=speaker, filler=filler)
            rows += rows_of(f"one line of {LONG_LINE // MEGABYTE} MB, {name}", bar, in_all)
        path.unlink()
    return rows


def _peak(project: Project, stream: Path) -> float:
    play = session(project, stream)
    return max(play().peak for _ in range(ROUNDS)) / MEGABYTE
