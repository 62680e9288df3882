"""`ralph fleet demo`: everything completes though a worker is killed, and nothing is left, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fleet.world.machines import wait_until

WITHIN = 240.0


@contextmanager
def demo(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """In a folder for temporary files of its own, by which its processes are known too."""
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "ralph", "fleet", "demo"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "TEMPORAL_ADDRESS": "127.0.0.1:1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def left(folder: Path) -> list[str]:
    """The command lines of processes that work in the folder, or on something in it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ValueError):
            continue
        if entry.name.isdigit() and f"{folder}/" in words:
            found.append(words)
    return found


def test_it_completes_and_leaves_nothing(tmp_path: Path) -> None:
    with demo(tmp_path / "tmp") as running:
        said, _ = running.communicate(timeout=WITHIN)

    assert running.returncode == 0, said
    assert said.count(": completed, iteration 3/6") == 6
    assert "kill -9: demo-" in said
    assert "6 jobs, 18 iterations judged" in said
    assert "continued elsewhere" in said
    assert left(tmp_path / "tmp") == []
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_its_processes_end_with_it(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "tmp"
    with demo(folder) as running:
        assert running.stdout is not None
        assert any("running, on demo-" in line for line in running.stdout), "a session is under way"
        assert left(folder)
        running.send_signal(how)
        rest, _ = running.communicate(timeout=WITHIN)

    wait_until(lambda: not left(folder), "all of them are gone")
    if how is not signal.SIGKILL:  # nobody is there who could remove it then
        assert running.returncode == 130, rest
        assert "Traceback" not in rest
        assert list(folder.glob("ralph-fleet-demo-*")) == []
