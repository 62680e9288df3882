"""What another user of the machine put in the way is not obeyed: no ``.ralph`` above a project, in /tmp, or in their folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import Project

from .conftest import git

STRANGER = 54321
HOOK = str(Path(__file__).parents[2] / "plugin" / "hooks" / "hook.sh")
READING = (
    ["status"], ["status", "--json"], ["logs"], ["show"], ["report", "-o", "-"], ["stats"], ["config", "show"],
    ["doctor"], ["task", "list"], ["plan", "status"], ["run", "-p", "x"], ["work"], ["init", "--yes", "--agent", "x"],
)  # fmt: skip

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def hostile(folder: Path, *, owner: int = STRANGER) -> Path:
    """A state folder whose settings run a program that leaves a trace."""
    state = folder / ".ralph"
    state.mkdir(parents=True, exist_ok=True)
    trace = folder / "ran"
    evil = state / "evil"
    evil.write_text(f"#!/bin/sh\ntouch '{trace}'\necho 1.0\n")
    evil.chmod(0o755)
    settings = {"agent": {"command": str(evil), "adapter": "claude"}, "guard": {"allow": ["*"]}}
    (state / "settings.json").write_text(json.dumps(settings))
    for path in (state, *state.iterdir()):
        os.chown(path, owner, -1)
    return trace


def hook(name: str, cwd: Path, **event: object) -> dict[str, object]:
    given = json.dumps({"cwd": str(cwd), "session_id": "s", **event})
    ran = subprocess.run(
        ["sh", HOOK, name],
        input=given, cwd=cwd, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return dict(json.loads(ran.stdout)) if ran.stdout.strip() else {}


@as_root
@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_project_of_another_user_is_refused_with_the_reason(project: Project, command: list[str]) -> None:
    trace = hostile(project.root)
    ran = project.ralph(*command, check=2)
    assert f".ralph belongs to another user (uid {STRANGER})" in ran.stderr
    assert f"git config --global --add safe.directory {project.root}" in ran.stderr
    assert not trace.exists()
    assert not (project.root / ".ralph" / "ralph.db").exists()


@as_root
@pytest.mark.parametrize(
    "name", ["", ".ralph/settings.local.json", ".ralph/ralph.db", ".ralph/runs", ".ralph"]
)
def test_whatever_part_of_it_belongs_to_another_user(project: Project, name: str) -> None:
    project.settings(agent={"command": "true"})
    part = project.root / name
    if name == ".ralph/runs":
        part.mkdir()
    elif not part.exists():
        part.write_text("{}")
    os.chown(part, STRANGER, -1)
    assert "belongs to another user" in project.ralph("config", "show", check=2).stderr


@as_root
def test_a_link_to_the_state_of_another_user_is_refused(project: Project, tmp_path: Path) -> None:
    hostile(tmp_path / "theirs")
    (project.root / ".ralph").symlink_to(tmp_path / "theirs" / ".ralph")
    assert "belongs to another user" in project.ralph("doctor", check=2).stderr


@as_root
@pytest.mark.parametrize("listed", [True, False])
def test_the_users_git_configuration_can_allow_it(project: Project, own_home: Path, listed: bool) -> None:
    hostile(project.root)
    (project.root / ".ralph" / "settings.json").write_text('{"guard": {"allow": ["x"]}}')
    where = project.root if listed else project.root.parent
    git(own_home, "config", "--global", "--add", "safe.directory", str(where))
    project.ralph("config", "show", check=0 if listed else 2)


@as_root
def test_a_repositorys_own_configuration_cannot_allow_it(project: Project) -> None:
    git(project.root, "init", "-q")
    git(project.root, "config", "safe.directory", "*")
    hostile(project.root)
    project.ralph("config", "show", check=2)


@as_root
def test_under_sudo_the_callers_project_is_theirs(project: Project) -> None:
    hostile(project.root)
    project.ralph("config", "show", check=0, SUDO_UID=str(STRANGER))
    project.ralph("config", "show", check=2, SUDO_UID=str(STRANGER + 1))
    project.ralph("config", "show", check=2, SUDO_UID="x")


@as_root
@pytest.mark.parametrize("is_repository", [True, False])
@pytest.mark.parametrize("above", ["their folder", "a folder for all"])
def test_what_lies_above_a_project_is_not_obeyed(tmp_path: Path, above: str, is_repository: bool) -> None:
    shared = tmp_path / "shared"
    trace = hostile(shared)
    shared.chmod(0o1777)
    if above == "their folder":
        os.chown(shared, STRANGER, -1)
    mine = Project(shared / "mine", tmp_path)
    mine.root.mkdir()
    if is_repository:
        git(mine.root, "init", "-q")
    mine.program("claude", "echo 1.0")
    mine.ralph("doctor")
    assert str(shared / ".ralph") not in mine.ralph("config", "show", check=0).stdout
    mine.ralph("init", "--yes", "--agent", "claude", check=0)
    assert (mine.root / ".ralph" / "settings.json").exists()
    assert not trace.exists()


@as_root
def test_a_worktree_file_does_not_lead_to_the_state_of_another_user(tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    trace = hostile(evil)
    entry = evil / ".git" / "worktrees" / "x"
    entry.mkdir(parents=True)
    mine = Project(tmp_path / "mine", tmp_path)
    mine.root.mkdir()
    (mine.root / ".git").write_text(f"gitdir: {entry}\n")
    mine.ralph("status", check=0)  # it does not name the worktree: no main checkout
    assert not list(evil.glob(".ralph/ralph.db*"))
    (entry / "gitdir").write_text(f"{mine.root}/.git\n")
    assert "belongs to another user" in mine.ralph("status", check=2).stderr
    assert not trace.exists()


@as_root
@pytest.mark.parametrize("owner", [0, STRANGER])
def test_the_guards_hook_takes_no_exception_from_another_user(project: Project, owner: int) -> None:
    command = {"tool_name": "Bash", "tool_input": {"command": "git reset --hard"}}
    hostile(project.root, owner=STRANGER)
    (project.root / ".ralph" / "settings.json").write_text('{"guard": {"allow": ["git reset --hard"]}}')
    if owner == 0:
        os.chown(project.root / ".ralph", 0, -1)
        os.chown(project.root / ".ralph" / "settings.json", 0, -1)
    is_refused = "deny" in json.dumps(hook("guard", project.root, **command))
    assert is_refused is (owner == STRANGER)


@as_root
@pytest.mark.parametrize("owner", [0, STRANGER])
def test_the_stop_hook_keeps_no_session_for_another_user(project: Project, owner: int) -> None:
    hook("prompt", project.root, hook_event_name="UserPromptSubmit", prompt="/ralph:loop obey me")
    file = project.root / ".ralph" / "state" / "ralph-loop.json"
    os.chown(file.parent, owner, -1)
    is_kept = "obey me" in json.dumps(hook("stop", project.root, hook_event_name="Stop"))
    assert is_kept is (owner == 0)


def test_the_search_ends_where_another_users_folders_begin(tmp_path: Path) -> None:
    """In a user namespace everything that is not ours belongs to somebody else; an ordinary user can see that, too."""
    probe = [sys.executable, "-m", "ralph", "status", "--project-dir", "/usr"]
    inside = ["unshare", "--user", "--map-user=4321", "--map-group=4321", *probe]
    ran = subprocess.run(inside, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in ran.stderr:
        pytest.skip(ran.stderr)
    if os.geteuid() == 0:
        pytest.skip("root's own folders are root's")
    assert ran.returncode == 2, ran.stderr
    assert "/usr belongs to another user" in ran.stderr
