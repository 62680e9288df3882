"""``.ralph-active`` on disk: written and removed by its run, recognised when its run is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ralph.adapters.documents.active_marker_file import live_marker, remove_marker, write_marker
from ralph.adapters.storage.files import write_atomic
from ralph.domain.active_marker import MARKER_FILE, ActiveMarker


def gone_pid() -> int:
    """Of a process that has been waited for."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"])
    process.wait()
    return process.pid


def test_a_marker_is_live_while_its_process_is_and_only_its_owner_removes_it(tmp_path: Path) -> None:
    marker = ActiveMarker(pid=os.getpid(), ralph_dir="plans")
    write_marker(tmp_path, marker, write_atomic)

    assert live_marker(tmp_path) == marker
    remove_marker(tmp_path, pid=os.getpid() + 1)
    assert live_marker(tmp_path) == marker
    remove_marker(tmp_path, pid=os.getpid())
    assert not (tmp_path / MARKER_FILE).exists()
    remove_marker(tmp_path, pid=os.getpid())


def test_a_leftover_is_not_live_and_anybody_may_remove_it(tmp_path: Path) -> None:
    for leftover in (ActiveMarker(pid=gone_pid()).text(), "{", ActiveMarker(pid=2**70).text()):
        (tmp_path / MARKER_FILE).write_text(leftover)
        assert live_marker(tmp_path) is None
        remove_marker(tmp_path, pid=os.getpid())
        assert not (tmp_path / MARKER_FILE).exists()
