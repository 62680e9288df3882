"""The arithmetic and the report of ``python -m bench``; the measurements themselves are no tests."""

from __future__ import annotations

import json
from pathlib import Path

import bench.__main__ as bench_main
import pytest
from bench.child import CannotMeasure, interleaved
from bench.row import Bar, Row, Sense, as_difference, as_ratio, as_speed
from bench.stream_data import write_long_line, write_stream, write_tool_results
from bench.table import render, summary


def test_a_bar_is_met_on_its_good_side_and_exactly_at_it() -> None:
    assert Bar(5).is_met(5)
    assert not Bar(5).is_met(5.01)
    assert Bar(1, Sense.AT_LEAST).is_met(1)
    assert not Bar(1, Sense.AT_LEAST).is_met(0.99)


def test_half_the_time_is_twice_the_speed_and_half_the_ratio() -> None:
    assert as_speed("x", 1.0, "s", 2.0).compared == 2.0
    assert as_ratio("x", 1.0, "s", 2.0).compared == 0.5
    assert as_difference("x", 3.0, "ms", 2.0).compared == 1.0


def test_a_row_without_a_bar_is_neither_met_nor_missed() -> None:
    assert as_ratio("x", 1.0, "s", 2.0).ok is None


def test_the_table_is_aligned_and_says_what_was_missed() -> None:
    sections = {
        "Start-up": [
            as_ratio("quick", 20.0, "ms", 10.0, Bar(2.5)),
            as_ratio("slow", 200.0, "ms", 10.0, Bar(15)),
        ],
        "Memory": [as_difference("flood", 41.0, "MB", 31.0, Bar(60))],
    }

    lines = render(sections).splitlines()

    assert [line.rstrip() for line in lines] == lines
    assert lines[2].split() == ["quick", "20.0", "ms", "10.0", "ms", "2.00x", "<=", "2.5x", "ok"]
    assert lines[3].endswith("MISSED")
    assert lines[5].split()[5:7] == ["+10.0", "MB"]
    assert summary(sections) == "2 of 3 bars met; missed: slow"


def test_measures_are_interleaved_and_the_first_round_is_not_counted() -> None:
    order: list[str] = []

    def measure(name: str) -> float:
        order.append(name)
        return float(len(order))

    results = interleaved({"a": lambda: measure("a"), "b": lambda: measure("b")}, rounds=2)

    assert order == ["a", "b", "a", "b", "a", "b"]
    assert results == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


@pytest.mark.parametrize("whole", [False, True], ids=["short lines", "whole lines"])
def test_a_stream_has_the_number_of_events_asked_for_and_every_call_is_answered(
    tmp_path: Path, whole: bool
) -> None:
    path = tmp_path / "stream.ndjson"

    size = write_stream(path, events=32, whole=whole)

    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    blocks = [event["message"]["content"][0] for event in events if "message" in event]
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert size == path.stat().st_size
    assert len(events) == 32
    assert called == answered != []
    assert [events[0]["type"], events[-1]["type"]] == ["system", "result"]


def test_tool_results_are_long_lines_and_end_once_there_are_enough_of_them(tmp_path: Path) -> None:
    path = tmp_path / "results.ndjson"

    size = write_tool_results(path, size=100_000)

    lines = path.read_bytes().splitlines()
    assert 100_000 <= size == path.stat().st_size < 120_000
    assert [json.loads(line)["type"] for line in lines[:3]] == ["system", "assistant", "user"]
    assert json.loads(lines[-1])["type"] == "result"
    assert {len(line) > 15_000 for line in lines[2:-1:2]} == {True}


@pytest.mark.parametrize("speaker", ["assistant", "user"])
def test_a_long_line_is_one_line_of_about_the_size_asked_for(tmp_path: Path, speaker: str) -> None:
    path = tmp_path / "long.ndjson"

    write_long_line(path, size=2_000_000, speaker=speaker, filler="🎉")

    longest = max(path.read_bytes().splitlines(), key=len)
    assert json.loads(longest)["type"] == speaker
    assert 1_900_000 < len(longest) < 2_100_000


def test_a_missed_bar_is_no_failure_but_a_measurement_that_cannot_be_made_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def misses(folder: Path) -> list[Row]:
        return [as_ratio("slow", 9.0, "s", 1.0, Bar(2))]

    def fails(folder: Path) -> list[Row]:
        message = "no such program"
        raise CannotMeasure(message)

    monkeypatch.setattr(bench_main, "MEASUREMENTS", {"one": ("One", misses), "two": ("Two", fails)})

    assert bench_main.main(["--only", "one", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["ok"] is False
    assert bench_main.main([]) == 1
    printed = capsys.readouterr()
    assert "missed: slow" in printed.out
    assert "could not measure two: no such program" in printed.err
