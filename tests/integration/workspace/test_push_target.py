"""Which addresses nothing is pushed to, and what git itself makes of odd names and chatty remotes."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.delivered_branch import DeliveredBranch
from ralph.adapters.workspace.outpost import Outpost
from ralph.adapters.workspace.push_target import require_pushable
from ralph.engine.delivery.ports import PushRefused
from ralph.errors import UsageError


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    ran = subprocess.run(command, cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    return ran.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "first")
    git(project, "worktree", "add", "-q", "../tree")
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    (project / "folder").mkdir()
    (tmp_path / "link").symlink_to(project / "folder")
    return project


def require(project: Path, address: str) -> None:
    require_pushable(address, "origin", workspace=project, state=project / ".ralph")


@pytest.mark.parametrize("address", ["--upload-pack=touch x", "-x"])
def test_an_address_that_git_would_take_for_an_option_is_refused(project: Path, address: str) -> None:
    with pytest.raises(UsageError, match="begins with -"):
        require(project, address)


@pytest.mark.parametrize(
    "address",
    [
        ".", "folder", "./folder/x.git", "/PROJECT", "/PROJECT/.git", "/PROJECT/.ralph/remote", "file:///PROJECT/folder",
        "file:///PROJECT/fol%64er", "../tree", "../link", "../remote.git/../project/folder", "~/project/folder", "folder/with:colon",
    ],
)  # fmt: skip
def test_a_folder_of_the_project_is_refused(
    project: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project.parent))
    with pytest.raises(UsageError, match="is a folder of this project") as refused:
        require(project, address.replace("/PROJECT", str(project)))
    assert "git remote set-url origin" in refused.value.hint


def test_of_a_worktree_the_main_checkout_is_one_too(project: Path) -> None:
    for address in ("../project/folder", "../project/.git", "."):
        with pytest.raises(UsageError, match="is a folder of this project"):
            require(project.parent / "tree", address)


@pytest.mark.parametrize(
    "address",
    ["../remote.git", "../remote", "file:///srv/x.git", "/srv/x", "https://github.com/o/r", "git@github.com:o/r", "ssh://h/o/r"],
)  # fmt: skip
def test_any_other_place_is_not(project: Path, address: str) -> None:
    require(project, address)


# --- the branch there ---


def here(project: Path) -> Git:
    return Git(project, PosixProcessRunner(run_id="r", base_environment=os.environ))


def branch(project: Path, name: str = "main", address: str = "../remote.git") -> DeliveredBranch:
    runner = PosixProcessRunner(run_id="r", base_environment=os.environ)
    outpost = asyncio.run(Outpost.make(here(project), runner))
    return DeliveredBranch(here(project), name, address=address, outpost=outpost)


def push(project: Path, name: str = "main") -> PushRefused | None:
    one = branch(project, name)

    async def pushed() -> PushRefused | None:
        return await one.push(await one.tip(), expected="")

    return asyncio.run(pushed())


def test_settings_of_the_repository_run_nothing_and_no_address_is_an_option(project: Path) -> None:
    ran = project.parent / "ran"
    for key in ("uploadpack", "receivepack"):
        git(project, "config", f"remote.../remote.git.{key}", f"touch {ran};")
    git(project, "config", "remote.../remote.git.url", "../remote.git")
    assert push(project) is None
    assert asyncio.run(branch(project).remote_tip()) == git(project, "rev-parse", "HEAD")
    asyncio.run(branch(project).fetch("main"))
    option = branch(project, address=f"--upload-pack=touch {ran};")
    for asks in (option.remote_tip, lambda: option.fetch("main")):
        with pytest.raises(Exception, match="remote"):
            asyncio.run(asks())
    assert not ran.exists()


@pytest.mark.parametrize("words", ["stale info", "already exists", "connection refused", "early EOF"])
def test_words_of_a_hook_there_are_not_git_s(project: Path, words: str) -> None:
    hook = project.parent / "remote.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho '{words}'\nprintf 'error: {words}\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    refused = push(project)
    assert refused is not None
    assert not refused.is_theirs


def test_the_name_of_a_branch_is_not_git_s_word(project: Path) -> None:
    git(project, "branch", "fix-non-fast-forward")
    hook = project.parent / "remote.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    refused = push(project, "fix-non-fast-forward")
    assert refused is not None
    assert not refused.is_theirs


def test_a_branch_that_moved_there_is_somebody_else_s(project: Path) -> None:
    assert push(project) is None
    git(project, "commit", "-q", "--allow-empty", "-m", "second")
    refused = push(project)
    assert refused is not None
    assert refused.is_theirs


# --- the branch here ---


def test_a_branch_is_named_as_it_is_whatever_tags_there_are(project: Path) -> None:
    git(project, "tag", "main")
    assert asyncio.run(here(project).branch()) == "main"
    git(project, "checkout", "-q", "--detach")
    assert asyncio.run(here(project).branch()) == ""


def test_a_branch_whose_name_looks_like_an_option_is_checked_out(project: Path) -> None:
    (project / "new").write_text("mine")
    git(project, "add", "new")
    git(project, "update-ref", "refs/heads/-f", "HEAD")
    asyncio.run(here(project).switch("-f"))
    assert git(project, "symbolic-ref", "HEAD") == "refs/heads/-f"
    assert (project / "new").read_text() == "mine"
