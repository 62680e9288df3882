"""Writing the settings file: whole or not at all, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.files import make_state_folder
from ralph.config.sources import SETTINGS_FILE
from ralph.errors import ConfigError
from ralph.operations.settings_file import check_writable, write_settings


def names(root: Path) -> set[str]:
    return {path.name for path in (root / ".ralph").iterdir()}


def test_the_first_use_makes_the_folder_and_its_gitignore(tmp_path: Path) -> None:
    make_state_folder(tmp_path / ".ralph")
    lines = (tmp_path / ".ralph" / ".gitignore").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["*", "!settings.json"]


def test_git_sees_only_the_teams_settings(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, timeout=90)
    make_state_folder(tmp_path / ".ralph")
    for name in ("settings.json", "settings.local.json", "ralph.db", "settings.json.bak", "runs/1/x.log"):
        path = tmp_path / ".ralph" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    status = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=tmp_path, check=True, capture_output=True, timeout=90
    )
    assert status.stdout.decode().split() == ["??", ".ralph/settings.json"]


def test_a_gitignore_of_the_users_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / ".gitignore").write_text("mine")
    make_state_folder(tmp_path / ".ralph")
    assert (tmp_path / ".ralph" / ".gitignore").read_text() == "mine"


def test_new_settings_leave_nothing_else_behind(tmp_path: Path) -> None:
    assert write_settings(tmp_path, "{}\n") is None
    assert (tmp_path / SETTINGS_FILE).read_text() == "{}\n"
    assert names(tmp_path) == {".gitignore", "seal", "settings.json"}


def test_old_settings_are_kept_each_time(tmp_path: Path) -> None:
    for text in ("one", "two", "three"):
        write_settings(tmp_path, text)
    folder = tmp_path / ".ralph"
    assert (folder / "settings.json").read_text() == "three"
    assert (folder / "settings.json.bak").read_text() == "one"
    assert (folder / "settings.json.bak.2").read_text() == "two"


def test_the_same_old_settings_are_kept_once(tmp_path: Path) -> None:
    for text in ("one", "two", "one", "two"):
        write_settings(tmp_path, text)
    assert names(tmp_path) == {
        ".gitignore",
        "seal",
        "settings.json",
        "settings.json.bak",
        "settings.json.bak.2",
    }


def test_a_failed_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(tmp_path, "old")
    write_settings(tmp_path, "present")  # so that the backup is there already
    write_settings(tmp_path, "old")

    def full_disk(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    before = names(tmp_path)
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(ConfigError, match="cannot be written: no space left on device"):
        write_settings(tmp_path, "new")
    assert (tmp_path / SETTINGS_FILE).read_text() == "old"
    assert names(tmp_path) == before


def test_a_linked_settings_file_is_written_where_it_really_is(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    real = tmp_path / "elsewhere.json"
    real.write_text("old")
    (tmp_path / SETTINGS_FILE).symlink_to(real)
    backup = write_settings(tmp_path, "new")
    assert (tmp_path / SETTINGS_FILE).is_symlink()
    assert real.read_text() == "new"
    assert backup is not None
    assert backup.read_text() == "old"


def test_something_in_the_way_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    check_writable(tmp_path)
    (tmp_path / ".ralph").write_text("")
    with pytest.raises(ConfigError, match="a directory is needed there"):
        check_writable(tmp_path)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_settings(tmp_path, "{}")


def test_a_directory_in_place_of_the_settings_is_told(tmp_path: Path) -> None:
    (tmp_path / SETTINGS_FILE).mkdir(parents=True)
    with pytest.raises(ConfigError, match="is a directory"):
        check_writable(tmp_path)


def test_a_folder_without_write_permission_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ConfigError, match="cannot be written"):
        check_writable(tmp_path)
