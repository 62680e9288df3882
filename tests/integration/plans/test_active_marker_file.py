"""``.ralph-active`` on disk: written and removed by its run, whatever an agent made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.adapters.beneath import write_atomic
from ralph.adapters.documents.plan_files import remove_marker, write_marker
from ralph.domain.plan.active_marker import MARKER_FILE, ActiveMarker, active_marker_from

MARKER = ActiveMarker(pid=1, ralph_dir="plans", run_id="r1", uncommitted=("a b",))


@pytest.mark.parametrize("there", ["nothing", "another marker", "a link", "a broken link", "a folder"])
def test_a_marker_is_written_and_removed_whatever_stands_in_its_place(tmp_path: Path, there: str) -> None:
    path, outside = tmp_path / MARKER_FILE, tmp_path / "outside"
    outside.write_text("mine")

    def put() -> None:
        match there:
            case "another marker":
                path.write_text(ActiveMarker(pid=1, run_id="other").text())
            case "a link":
                path.symlink_to(outside)
            case "a broken link":
                path.symlink_to("nowhere")
            case "a folder":
                path.mkdir()
                (path / "file").touch()
            case _:
                pass

    put()
    write_marker(tmp_path, MARKER, write_atomic)
    assert path.is_file()
    assert not path.is_symlink()
    assert active_marker_from(path.read_text()) == MARKER

    path.unlink()
    put()
    remove_marker(tmp_path)
    assert not path.exists()
    assert not path.is_symlink()
    remove_marker(tmp_path)
    assert outside.read_text() == "mine"
