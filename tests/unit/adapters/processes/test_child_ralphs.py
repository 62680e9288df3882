"""Which command lines are those of a ralph that runs an agent."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from ralph.adapters.processes.child_ralphs import child_ralphs, is_child_ralph, runs_a_loop


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ralph", True),
        ("/home/me/.local/bin/ralph run -p x", True),
        ("/usr/bin/python3 /usr/local/bin/ralph supervise -- a", True),
        ("python -m ralph run", True),
        ("python -X utf8 -m ralph -p x", True),
        ("ralph -f PROMPT.md", True),
        ("ralph status", False),
        ("python -m ralph bus tail", False),
        ("vim ralph", False),
        ("cat notes about ralph run", False),
        ("sh -c ralph run", False),
        ("", False),
    ],
)
def test_only_what_runs_a_loop_may_be_a_child_run(line: str, expected: bool) -> None:
    assert runs_a_loop(line.split()) is expected


def test_a_process_is_told_by_its_command_line_and_its_environment() -> None:
    sleeping = "import time; time.sleep(60)"
    # Everything behind the program is only arguments to it, so this process looks like a ralph and is none.
    argv = ["ralph", "-c", sleeping]
    process = subprocess.Popen(
        argv, executable=sys.executable, env={**os.environ, "RALPH_RUN_ID": "parent-1"}
    )
    try:
        deadline = time.monotonic() + 60
        while child_ralphs("parent-1") != [process.pid]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert is_child_ralph(process.pid)
        assert process.pid not in child_ralphs("another")
    finally:
        process.kill()
        process.wait()
    assert child_ralphs("parent-1") == []
