"""``python -m bench.peers`` for real, with ralph and the bare loop only: what it measures is no test, but that it does is."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from bench.peers import new_files
from bench.peers.__main__ import Sizes, compare
from bench.peers.contenders import BARE, RALPH

TINY = Sizes(events=300, results=300_000, line=300_000, rounds=1, start_rounds=1, part=0.03)


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.skipif(shutil.which("cc") is None, reason="its agent is in C")
def test_ralph_is_compared_with_the_bare_loop() -> None:
    page, is_measured = compare([RALPH, BARE], TINY, seconds=1.0)

    assert is_measured
    speeds, deeds, versions, goals = (table(section) for section in page.split("\n## "))
    assert speeds["300 short events, 0 MB"][-1] == "reads no stream"
    assert all(cell.endswith(" ms)") for cell in speeds["start to the agent's exec"][1:])
    assert deeds[RALPH][-3:] == ["yes", "in `.ralph/`", "ends it"]
    assert deeds[BARE][-3:] == ["no: in the clear in `agent.log`", "in `agent.log`", "leaves it running"]
    assert list(versions) == [RALPH, BARE]
    assert {row[-1] for row in goals.values()} <= {"met", "missed"}
    assert {"an iteration over the bare loop", "ralph --version"} <= set(goals)


@pytest.mark.parametrize(("usual", "is_told"), [(0.0, True), (float("inf"), False)])
def test_files_that_stay_dear_are_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usual: float, is_told: bool
) -> None:
    monkeypatch.setattr(new_files, "USUAL", usual)

    told = new_files.wait_for_new_files([tmp_path], longest=0.0)

    assert told.startswith("To make a file took ") is is_told


def table(section: str) -> dict[str, list[str]]:
    """The rows below its headings, by their first cell."""
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return {name: rest for name, *rest in rows[2:]}
