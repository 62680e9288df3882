"""Putting a denied DONE aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.adapters.signals.done_file import DoneFile
from ralph.errors import StoreError


def test_each_denied_done_is_kept_under_a_name_of_its_own(tmp_path: Path) -> None:
    done = DoneFile(tmp_path / "DONE")
    names = []
    for _ in range(2):
        done.path.touch()
        aside = done.reject()
        assert aside is not None
        names.append(aside.name)
    assert names == ["DONE.rejected-1", "DONE.rejected-2"]
    assert not done.exists()


@pytest.mark.parametrize("folder", [".", "gone"])
def test_a_done_that_was_taken_away_meanwhile_is_not_denied(tmp_path: Path, folder: str) -> None:
    assert DoneFile(tmp_path / folder / "DONE").reject() is None


def test_a_done_that_cannot_be_put_aside_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="put"):
        DoneFile(tmp_path / "file" / "DONE").reject()
