"""``python -m bench.peers`` for real, with ralph and the bare loop only: what it measures is no test, but that it does is."""

from __future__ import annotations

import shutil
import sys

import pytest
from bench.peers.__main__ import Sizes, compare
from bench.peers.contenders import BARE, RALPH

TINY = Sizes(events=300, results=300_000, line=300_000, rounds=1, start_rounds=1, part=0.03)


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.skipif(shutil.which("cc") is None, reason="its agent is in C")
def test_ralph_is_compared_with_the_bare_loop() -> None:
    page, is_measured = compare([RALPH, BARE], TINY, seconds=1.0)

    assert is_measured
    rows = {row.split(" | ")[0].strip("| "): row for row in page.splitlines() if row.startswith("| ")}
    assert "reads no stream" in rows["300 short events, 0 MB"]
    assert rows["start to the agent's exec"].count(" ms)") == 2
    deeds = page.partition("## What each does meanwhile")[2]
    (ralph,) = [row for row in deeds.splitlines() if row.startswith("| ralph | all of it")]
    (bare,) = [row for row in deeds.splitlines() if row.startswith("| bare loop | nothing")]
    assert ralph.endswith("| yes | in `.ralph/` | ends it |")
    assert bare.endswith("| no: in the clear in `agent.log` | in `agent.log` | leaves it running |")
    for goal in ("ralph --version", "ralph run, until the agent's exec"):
        assert rows[goal].endswith((" met |", " missed |"))
