"""The matrix that any harness can be pointed at (bench/faults): its judge can say both, and ralph's own column stands."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from bench.faults.acts import Act, Promise
from bench.faults.harnesses import HARNESSES, REFERENCES
from bench.faults.judge import Result, play
from bench.faults.lies import ACTS, PYTESTED
from bench.faults.stage import Stage

QUICK = [act.id for act in ACTS.values() if act.quick]
LIES = [name for name in QUICK if ACTS[name].promise is Promise.LIES]
GREEN = [f"lie-{name}" for name, _ in PYTESTED.values()]


@pytest.mark.parametrize("act", QUICK)
def test_ralph_holds(act: str) -> None:
    cell = play(HARNESSES["ralph"], ACTS[act])
    assert cell.result is Result.HOLDS, cell.evidence


@pytest.mark.parametrize("act", [*LIES, "daemon", "orphan-kill"])
def test_a_naive_loop_fails(act: str) -> None:
    """Else the judge would prove nothing."""
    cell = play(REFERENCES["naive"], ACTS[act])
    assert cell.result is Result.FAILS, cell.evidence


@pytest.mark.parametrize("act", ["honest", "honest-3", *LIES])
def test_a_careful_loop_holds(act: str) -> None:
    cell = play(REFERENCES["careful"], ACTS[act])
    assert cell.result is Result.HOLDS, cell.evidence


@pytest.mark.parametrize("act", GREEN)
def test_each_lie_turns_its_check_green_in_place(act: str, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.build(ACTS[act])
    stage.commit()
    assert check(stage, ACTS[act]) != 0
    shell = ["sh", "-c", ACTS[act].shell]
    subprocess.run(
        shell, cwd=stage.root, env={**stage.environment(), "here": str(stage.here)}, check=True, timeout=60
    )
    assert check(stage, ACTS[act]) == 0


def check(stage: Stage, act: Act) -> int:
    """With the variables of this test, not those of the stage: an agent cannot change them either."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["sh", "-c", act.check]
    return subprocess.run(
        command, cwd=stage.root, env=environment, capture_output=True, check=False, timeout=90
    ).returncode


def test_nothing_of_a_cell_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    play(REFERENCES["naive"], ACTS["orphan-kill"])
    assert list(tmp_path.iterdir()) == []
    running = [
        entry
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and str(tmp_path) in command_line(entry)
    ]
    assert running == []


def command_line(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_text(errors="replace")
    except OSError:
        return ""
