"""Where our git talks to the remote from: with the settings that its user agreed to, and none that came later."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.outpost import Outpost


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("remote.git", "other.git"):
        git(tmp_path, "init", "-q", "--bare", "-b", "main", name)
    root = tmp_path / "work"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    git(root, "commit", "-q", "--allow-empty", "-m", "Begin")
    return root


def outpost(project: Path) -> Outpost:
    runner = PosixProcessRunner(run_id="r", base_environment=os.environ)
    return asyncio.run(Outpost.make(Git(project, runner), runner))


def push(there: Outpost, address: Path) -> bool:
    return asyncio.run(there.reach("push", "--quiet", "--", str(address), "HEAD:refs/heads/main")).ok


def test_what_is_committed_later_can_be_pushed_and_what_is_there_brought(project: Path) -> None:
    there, remote = outpost(project), project.parent / "remote.git"
    git(project, "commit", "-q", "--allow-empty", "-m", "Later")
    tip = git(project, "rev-parse", "HEAD")
    ran = asyncio.run(there.reach("push", "--quiet", "--", str(remote), f"{tip}:refs/heads/main"))

    assert ran.ok, ran.err
    assert git(remote, "rev-parse", "main") == tip
    theirs = git(remote, "commit-tree", "-p", tip, "-m", "Theirs", f"{tip}^{{tree}}")
    git(remote, "update-ref", "refs/heads/main", theirs)
    assert asyncio.run(there.bring(str(remote), "refs/heads/main", "refs/ralph/bases/main")).ok
    assert git(project, "rev-parse", "refs/ralph/bases/main") == theirs
    assert git(project, "branch", "--format=%(refname)") == "refs/heads/main", "no branch of the user's"


def test_settings_that_a_session_writes_lead_nowhere_and_run_nothing(project: Path) -> None:
    there, remote, ran = outpost(project), project.parent / "remote.git", project.parent / "ran"
    program = project.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    program.chmod(0o755)
    git(project, "config", f"url.{project.parent / 'other.git'}.insteadOf", str(remote))
    git(project, "config", "core.sshCommand", str(program))
    git(project, "config", f"remote.{remote}.receivepack", str(program))
    git(project, "config", "credential.helper", str(program))
    tip = git(project, "rev-parse", "HEAD")

    assert asyncio.run(there.reach("push", "--quiet", "--", str(remote), f"{tip}:refs/heads/main")).ok
    asyncio.run(there.reach("ls-remote", "--", "ssh://127.0.0.1:1/x"))

    assert git(remote, "rev-parse", "main") == tip
    assert git(project.parent / "other.git", "for-each-ref") == ""
    assert not ran.exists()


def test_settings_that_were_there_before_are_obeyed(project: Path) -> None:
    remote, odd = project.parent / "remote.git", 'short"name\\:'
    git(project, "config", f"url.{remote}.insteadOf", odd)
    there = outpost(project)
    tip = git(project, "rev-parse", "HEAD")

    assert asyncio.run(there.reach("push", "--quiet", "--", odd, f"{tip}:refs/heads/main")).ok
    assert git(remote, "rev-parse", "main") == tip


def test_a_shallow_clone_can_be_pushed_from(project: Path) -> None:
    remote = project.parent / "remote.git"
    for number in range(3):
        git(project, "commit", "-q", "--allow-empty", "-m", str(number))
    git(project, "push", "-q", str(remote), "main")
    clone = project.parent / "clone"
    git(project.parent, "clone", "-q", "--depth=1", f"file://{remote}", str(clone))
    git(clone, "commit", "-q", "--allow-empty", "-m", "More")
    tip = git(clone, "rev-parse", "HEAD")

    ran = asyncio.run(outpost(clone).reach("push", "--quiet", "--", str(remote), f"{tip}:refs/heads/more"))

    assert ran.ok, ran.err
    assert git(remote, "rev-parse", "more") == tip
