"""Every place where our git works is part of the question of trust: a worktree has git settings of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.config.loading import Sources
from ralph.config.root import find_root
from ralph.operations.trust import standing_of, trust

Change = Callable[[Path, Path], None]

FILTER = '[filter "x"]\n\tclean = ./their-tool\n'


@pytest.fixture(autouse=True)
def nobody_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RALPH_TRUST")


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """The main checkout of an unpacked archive."""
    project = tmp_path / "main"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "sub").mkdir()
    (project / "sub" / "file").write_text("file\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "first")
    return project


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=60)


def asked_in(folder: Path) -> list[str]:
    """What a command there would ask about."""
    root = find_root(folder)
    standing = standing_of(Sources.read(root.state, os.environ), root.workspace)
    return [demand.key or demand.means for demand in standing.new]


def add_worktree(main: Path, place: Path) -> Path:
    """Git's own folder for it."""
    git(main, "worktree", "add", "-q", "-b", place.name, str(place))
    return main / ".git" / "worktrees" / place.name


def use_own_settings(main: Path, own: Path, text: str = FILTER) -> None:
    git(main, "config", "extensions.worktreeConfig", "true")
    (own / "config.worktree").write_text(text)


def use_another_folder(main: Path, own: Path, text: str = FILTER) -> None:
    other = main.parent / "other"
    shutil.copytree(main / ".git", other)
    with (other / "config").open("a") as config:
        config.write(text)
    (own / "commondir").write_text(f"{other}\n")


@pytest.mark.parametrize("change", [use_own_settings, use_another_folder])
def test_the_settings_of_a_worktree_are_asked_about(main: Path, change: Change) -> None:
    worktree = main.parent / "w"
    change(main, add_worktree(main, worktree))
    for start in (worktree, worktree / "sub", main):
        assert "filter.x.clean" in asked_in(start), start
    run = [sys.executable, "-m", "ralph", "run", "-p", "x", "--agent", "true", "-m", "1"]
    ran = subprocess.run(
        run, cwd=worktree, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 2
    assert "runs ./their-tool" in ran.stderr


@pytest.mark.parametrize("change", [use_own_settings, use_another_folder])
def test_the_settings_of_a_tasks_worktree_are_asked_about(main: Path, change: Change) -> None:
    """Whatever its ``.git`` says: ralph connects it again by its name."""
    prepared = main / ".ralph" / "worktrees" / "T-01"
    own = add_worktree(main, prepared)
    change(main, own)
    assert "filter.x.clean" in asked_in(main)
    harmless = main.parent / "harmless"
    git(main, "clone", "-q", str(main), str(harmless))
    (prepared / ".git").write_text(f"gitdir: {harmless / '.git'}\n")
    assert "filter.x.clean" in asked_in(main)


def test_a_tasks_worktree_that_leads_to_another_repository_is_asked_about(main: Path) -> None:
    prepared = main / ".ralph" / "worktrees" / "T-01"
    add_worktree(main, prepared)
    other = main.parent / "other"
    git(main, "clone", "-q", str(main), str(other))
    with (other / ".git" / "config").open("a") as config:
        config.write(FILTER)
    (prepared / ".git").write_text(f"gitdir: {other / '.git'}\n")
    assert "filter.x.clean" in asked_in(main)


def test_a_repository_inside_the_main_checkout_hides_no_worktree(main: Path) -> None:
    """There the record is in one repository, and the work in another."""
    worktree = main.parent / "w"
    own = add_worktree(main, worktree)
    use_own_settings(main, own)
    git(main / "sub", "init", "-q")
    git(main / "sub", "commit", "-q", "--allow-empty", "-m", "inner")
    (worktree / "sub" / ".ralph").mkdir()
    assert "filter.x.clean" in asked_in(worktree / "sub")


def test_a_yes_to_one_file_is_none_to_another(main: Path) -> None:
    long = "#" * 1_000_001
    use_own_settings(main, add_worktree(main, main.parent / "w"), long)
    root = find_root(main)
    trust(standing_of(Sources.read(root.state, os.environ), root.workspace))
    assert asked_in(main) == []
    use_own_settings(main, add_worktree(main, main.parent / "v"), long)
    assert asked_in(main) == ["has git settings that cannot be examined"]


def test_worktrees_as_git_makes_them_are_no_question(main: Path) -> None:
    git(main, "config", "core.worktree", str(main))
    add_worktree(main, main.parent / "w")
    git(main, "config", "extensions.worktreeConfig", "true")
    git(main.parent / "w", "sparse-checkout", "set", "sub")
    assert asked_in(main.parent / "w") == []
