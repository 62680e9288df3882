"""Whatever we ask of a repository, nothing that its configuration names is started."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.changes import GitChanges
from ralph.adapters.workspace.plan_repository import GitPlanRepository
from ralph.adapters.workspace.snapshot import GitWorkspace
from ralph.domain.views.iterations import IterationView
from ralph.engine.plans.ports import TreeState
from ralph.engine.ports import ProcessRunner
from ralph.interfaces.hooks.plan_stop import uncommitted

HOOKS = (
    "pre-commit",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
)
SIGNED = """tree {tree}
parent {parent}
author a <a@b> 1700000000 +0000
committer a <a@b> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 x
 -----END PGP SIGNATURE-----

signed, it says
"""


class Hostile:
    """A repository in which everything that can be named is a trap."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.sprung = folder / "sprung"
        self.root.mkdir()
        trap = folder / "trap"
        trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.sprung}\nexit 1\n')
        trap.chmod(0o755)
        self.git("init", "-q", "-b", "main")
        for key, value in (("user.name", "a"), ("user.email", "a@b")):
            self.git("config", key, value)
        (self.root / "code.txt").write_text("one\n")
        (self.root / ".gitattributes").write_text("*.txt diff=trap\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        tree, self.first = self.git("rev-parse", "HEAD^{tree}"), self.git("rev-parse", "HEAD")
        self.signed = self.git(
            "hash-object", "-t", "commit", "-w", "--stdin", given=SIGNED.format(tree=tree, parent=self.first)
        )
        self.git("reset", "-q", "--hard", self.signed)
        for name in HOOKS:
            (self.root / ".git" / "hooks").mkdir(exist_ok=True)
            (self.root / ".git" / "hooks" / name).symlink_to(trap)
        for key in ("core.fsmonitor", "diff.external", "diff.trap.textconv", "gpg.program", "core.editor"):
            self.git("config", key, str(trap))
        for key in ("commit.gpgSign", "log.showSignature", "merge.verifySignatures"):
            self.git("config", key, "true")
        (self.root / "code.txt").write_text("two\n")
        (self.root / "new.txt").write_text("new\n")
        self.sprung.unlink(missing_ok=True)  # by our own preparations

    def git(self, *arguments: str, given: str = "") -> str:
        ran = subprocess.run(
            ["git", *arguments], cwd=self.root, input=given, capture_output=True, text=True, check=True
        )
        return ran.stdout.strip()


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


async def look_at_changes(hostile: Hostile, runner: ProcessRunner) -> None:
    iteration = IterationView(
        iteration=1, attempt=1, started_at=0.0, first_seq=0, commit=hostile.signed, began_with=hostile.first
    )
    changes = await GitChanges(hostile.root, runner).of_run([iteration], newest=False)
    assert [commit.subject for commit in changes.commits] == ["signed, it says"]
    await GitChanges(hostile.root, runner).of_run([], newest=True)


async def enforce_a_plan(hostile: Hostile, runner: ProcessRunner) -> None:
    repository = GitPlanRepository(hostile.root, runner, aside=hostile.root.parent / "aside")
    assert await repository.changed_since(TreeState(hostile.first)) == ("code.txt", "new.txt")
    assert await repository.commit(["code.txt"], "ours") == ""
    assert await repository.restore(["code.txt"], TreeState(hostile.first)) == ()


async def merge_work(hostile: Hostile, runner: ProcessRunner) -> None:
    git = Git(hostile.root, runner)
    assert "+two" in await git.diff_since("HEAD")
    assert await git.commit_all("ours")
    await git.must("branch", "side", hostile.first)
    await git.must("merge", "--no-ff", "--no-verify", "-m", "merged", "side")


async def take_a_snapshot(hostile: Hostile, runner: ProcessRunner) -> None:
    assert (await GitWorkspace(hostile.root, runner, top=hostile.root).snapshot()).commit == hostile.signed


async def stop_a_session(hostile: Hostile, runner: ProcessRunner) -> None:
    assert uncommitted(str(hostile.root), dict(os.environ)) == ["code.txt", "new.txt"]


@pytest.mark.parametrize(
    "use", [look_at_changes, enforce_a_plan, merge_work, take_a_snapshot, stop_a_session]
)
def test_nothing_that_a_repository_names_is_started(
    hostile: Hostile, use: Callable[[Hostile, ProcessRunner], Awaitable[None]]
) -> None:
    async def go() -> None:
        await use(hostile, PosixProcessRunner(run_id="", base_environment=os.environ))

    asyncio.run(go())
    assert not hostile.sprung.exists(), hostile.sprung.read_text()
