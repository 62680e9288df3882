"""Files of the working tree that git's configuration includes: what an agent makes of them is not obeyed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.adapters.isolation.git_includes import IncludedFiles
from ralph.errors import ConfigError


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def obedient(tmp_path: Path, own_home: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / ".gitconfig").write_text("[alias]\n\tst = status\n")
    git(tmp_path, "config", "include.path", "../.gitconfig")
    git(tmp_path, "add", ".gitconfig")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


@pytest.mark.parametrize("change", ["edit", "delete", "replace"])
def test_a_change_is_noticed_before_the_next_git_of_ours(obedient: Path, change: str) -> None:
    files = IncludedFiles(obedient)
    files.require_unchanged()
    path = obedient / ".gitconfig"
    if change == "edit":
        path.write_text('[filter "x"]\n\tclean = ./evil\n')
    else:
        path.unlink()
    if change == "replace":
        (obedient / "other").write_text("[core]\n\tfsmonitor = ./evil\n")
        path.symlink_to("other")
    with pytest.raises(ConfigError, match="has changed since the run began"):
        files.require_unchanged()


def test_one_that_includes_another_is_noticed_too(obedient: Path) -> None:
    (obedient / ".gitconfig").write_text("[include]\n\tpath = more\n")
    files = IncludedFiles(obedient)
    (obedient / "more").write_text('[filter "x"]\n\tclean = ./evil\n')
    with pytest.raises(ConfigError, match="more, which git's configuration includes"):
        files.require_unchanged()


def test_what_the_user_changes_in_gits_own_configuration_is_no_matter(obedient: Path) -> None:
    files = IncludedFiles(obedient)
    git(obedient, "config", "user.name", "Another")
    files.require_unchanged()
