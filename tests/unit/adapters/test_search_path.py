"""A program is found where `shutil.which` finds it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ralph.adapters.search_path import find_program


@pytest.mark.parametrize("name", ["here", "there", "plain", "nowhere", "./here", "folder/there"])
@pytest.mark.parametrize("path", ["", os.pathsep, "folder", f"folder{os.pathsep}", f"none{os.pathsep}folder"])
def test_programs_are_found_as_which_does(
    name: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for program in ("here", "folder/there"):
        (tmp_path / program).touch(0o755)
    (tmp_path / "plain").touch(0o644)
    assert find_program(name, path) == shutil.which(name, path=path)
    assert find_program(name, path, mode=os.F_OK) == shutil.which(name, os.F_OK, path)
