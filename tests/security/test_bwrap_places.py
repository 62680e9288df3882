"""What a sandboxed process finds: paths, worktrees, the agent's own state, its input and its exit code."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ralph.adapters.isolation.bwrap import BwrapSandbox, trouble
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.own_programs import OwnPrograms
from ralph.domain.loop.session_report import Ending
from ralph.domain.sandbox.kind import Network
from ralph.domain.sandbox.policy import SandboxPolicy
from ralph.errors import ConfigError

from .conftest import OFF, Sandboxed, git


def test_exit_codes_and_input_come_through(sandboxed: Sandboxed, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("do it")
    exit_, output = sandboxed.run("sh", "-c", "cat; exit 42", stdin=prompt)
    assert (exit_.code, output) == (42, "do it")


def test_a_program_that_is_not_there_says_so(sandboxed: Sandboxed) -> None:
    exit_, output = sandboxed.run("no-such-agent")
    assert exit_.code == 127
    assert output == "cannot run no-such-agent in the sandbox: No such file or directory\n"


def test_a_workspace_behind_a_link_in_a_hidden_folder_is_found_by_both_names(
    sandboxed: Sandboxed, own_home: Path
) -> None:
    link = own_home / "project link"
    link.symlink_to(sandboxed.workspace)
    real, sandboxed.workspace = sandboxed.workspace, link
    output = sandboxed.shell('pwd -P; echo x > "$1/by-link"; cat "$2/by-link"', str(link), str(real))
    assert output == f"{real}\nx\n"


def test_in_a_worktree_one_can_commit_but_not_touch_the_main_checkout(
    sandboxed: Sandboxed, tmp_path: Path
) -> None:
    main, worktree, other = sandboxed.workspace, tmp_path / "tree 1", tmp_path / "tree 2"
    git(main, "worktree", "add", "-q", "-b", "one", str(worktree))
    git(main, "worktree", "add", "-q", "-b", "two", str(other))
    sandboxed.workspace = worktree
    sandboxed.shell("echo x > file && git add file && git commit -q -m 'in the worktree'")
    assert git(worktree, "log", "-1", "--format=%s") == "in the worktree"
    before = {
        path: path.read_bytes() for path in (main / ".git").rglob("*") if path.is_file() and is_run(path)
    }
    sandboxed.shell("""
        cd "$1" || exit 0
        echo 'ref: refs/heads/one' > HEAD; rm -f index
        git config core.fsmonitor evil; echo evil > hooks/pre-commit
        echo /tmp > worktrees/tree1/commondir; echo /tmp > worktrees/tree2/gitdir
        rm -rf worktrees/tree2
        cd - ; echo 'gitdir: /tmp' > .git
    """, str(main / ".git"))  # fmt: skip
    after = {
        path: path.read_bytes() for path in (main / ".git").rglob("*") if path.is_file() and is_run(path)
    }
    assert after == before
    assert git(worktree, "status", "--short") == ""
    assert git(other, "status", "--short") == ""


def is_run(path: Path) -> bool:
    return path.name in ("config", "HEAD", "commondir", "gitdir") or "hooks" in path.parts


def test_a_folder_for_hooks_inside_of_the_project_is_read_only(sandboxed: Sandboxed) -> None:
    (sandboxed.workspace / ".husky").mkdir()
    git(sandboxed.workspace, "config", "core.hooksPath", ".husky")
    sandboxed.shell("echo evil > .husky/pre-commit")
    assert list((sandboxed.workspace / ".husky").iterdir()) == []


def test_what_the_user_lists_is_readable_or_writable(sandboxed: Sandboxed, own_home: Path) -> None:
    for name in ("notes", "cache"):
        (own_home / name).mkdir()
        (own_home / name / "a").write_text("listed")
    policy = SandboxPolicy(network=Network.OFF, readonly=("~/notes",), writable=(str(own_home / "cache"),))
    output = sandboxed.shell("cat ~/notes/a; echo b > ~/notes/b; echo c > ~/cache/c", policy=policy)
    assert output.startswith("listed")
    assert not (own_home / "notes" / "b").exists()
    assert (own_home / "cache" / "c").read_text() == "c\n"


def test_what_settings_open_can_be_seen_in_the_promises(sandboxed: Sandboxed, own_home: Path) -> None:
    (own_home / "cache").mkdir()
    policy = SandboxPolicy(writable=("~/cache",), readonly=("~/.ssh",), env=("SOME_*",))
    promises = BwrapSandbox(sandboxed.site(), policy).guarantees
    assert promises.writes.endswith(", ~/cache")
    assert promises.secrets.endswith("; also visible: ~/.ssh, ~/cache, $SOME_*")


def test_the_task_folder_in_the_record_is_writable(sandboxed: Sandboxed) -> None:
    folder = sandboxed.workspace / ".ralph" / "runs" / "1" / "task"
    folder.mkdir(parents=True)
    sandboxed.shell(
        'touch "$1/DONE"; touch .ralph/runs/1/x', str(folder), site=sandboxed.site(writable=(folder,))
    )
    assert (folder / "DONE").exists()
    assert not (folder.parent / "x").exists()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (SandboxPolicy(writable=("~/missing",)), "sandbox.writable: ~/missing does not exist"),
        (SandboxPolicy(readonly=("/no/such/thing",)), "sandbox.readonly: /no/such/thing does not exist"),
        (SandboxPolicy(writable=("~",)), "contains your home folder"),
        (SandboxPolicy(writable=("/",)), "contains your home folder"),
    ],
)
def test_a_list_that_makes_no_sense_is_told_before_anything_starts(
    sandboxed: Sandboxed, policy: SandboxPolicy, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        BwrapSandbox(sandboxed.site(), policy)


def test_a_home_as_workspace_is_refused(sandboxed: Sandboxed, own_home: Path) -> None:
    sandboxed.workspace = own_home
    with pytest.raises(ConfigError, match="contains your home folder"):
        BwrapSandbox(sandboxed.site(), OFF)


def test_a_sandbox_that_cannot_be_made_is_no_failure_of_the_agent(
    sandboxed: Sandboxed, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2\nexit 1\n")
    program.chmod(0o755)
    sandboxed.environ["PATH"] = f"{program.parent}:{sandboxed.environ['PATH']}"

    async def run() -> tuple[Ending, str]:
        from ralph.adapters.isolation.runner import IsolatedRunner
        from ralph.engine.ports import Command

        inner, sandbox = sandboxed.runner(), BwrapSandbox(sandboxed.site(), OFF)
        await sandbox.open(inner)  # and not examined: it broke later
        exit_ = await IsolatedRunner(inner, sandbox).run(Command(("true",), sandboxed.workspace))
        await sandbox.close(inner)
        return exit_.ending, exit_.error

    assert asyncio.run(run()) == (
        Ending.NOT_STARTED,
        "cannot set up the sandbox: Creating new namespace failed",
    )


def trouble_with(sandboxed: Sandboxed, path: str) -> str:
    environ = {**sandboxed.environ, "PATH": path}
    own = OwnPrograms(environ, (sandboxed.workspace,))
    site = Site(sandboxed.workspace, sandboxed.workspace / ".ralph", ("sh",), "t", environ, own=own)
    return asyncio.run(trouble(site, sandboxed.runner()))


def test_a_missing_program_and_one_that_is_broken_are_told_apart(
    sandboxed: Sandboxed, tmp_path: Path
) -> None:
    assert trouble_with(sandboxed, str(tmp_path)) == "bwrap is not installed (package bubblewrap)"
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    found = trouble_with(sandboxed, str(tmp_path))
    assert found.startswith("bwrap cannot create namespaces here: No permissions to create new namespace")


def test_a_sandbox_in_a_sandbox_says_that_it_is_in_one(
    sandboxed: Sandboxed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RALPH_SANDBOX", "bwrap")
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert trouble_with(sandboxed, str(tmp_path)).endswith("(this already is a sandbox)")
