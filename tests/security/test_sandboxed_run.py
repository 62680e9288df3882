"""``--sandbox`` through the command line, with the real bubblewrap."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project
from tests.acceptance.task_project import TaskProject


def sandbox_works() -> bool:
    if shutil.which("bwrap") is None:
        return False
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_bwrap = pytest.mark.skipif(
    not sandbox_works(), reason="bubblewrap cannot make namespaces on this machine"
)


@pytest.fixture
def confined(project: Project) -> Project:
    # The fake agent counts its sessions beside its script; a real one keeps its state in its own folder.
    project.settings(agent={"command": "claude"}, sandbox={"writable": [str(project.programs)]})
    return project


@needs_bwrap
def test_a_confined_agent_works_in_the_project_and_nowhere_else(confined: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    confined.agent([{"run": f"echo in > inside; echo out > {outside}; echo x > .ralph/x"}, {"say": DONE}])
    ran = confined.ralph("run", "-p", PROMPT, "--sandbox", "--guardrail", "test -f inside", check=0)
    assert (confined.root / "inside").read_text() == "in\n"
    assert not outside.exists()
    assert not (confined.root / ".ralph" / "x").exists()
    assert "sandbox" in ran.stderr
    assert "writes: only the workspace" in ran.stderr
    assert "will run guardrail: test -f inside (--guardrail)" in ran.stderr


@needs_bwrap
def test_guardrails_are_confined_too_unless_the_settings_say_otherwise(
    confined: Project, tmp_path: Path
) -> None:
    confined.agent([{"say": DONE}])
    guardrail = f"touch {tmp_path / 'by-guardrail'}"
    confined.ralph("run", "-p", PROMPT, "--sandbox=bwrap", "--guardrail", guardrail, check=0)
    assert not (tmp_path / "by-guardrail").exists()
    settings = json.loads((confined.root / ".ralph" / "settings.json").read_text())
    confined.settings(**settings, sandboxChecks=False)
    confined.ralph("run", "-p", PROMPT, "--sandbox=bwrap", "--guardrail", guardrail, check=0)
    assert (tmp_path / "by-guardrail").exists()


@needs_bwrap
def test_secrets_of_the_environment_and_of_home_are_not_seen_inside(
    confined: Project, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("private")
    confined.agent([{"run": "env > seen; cat ~/.ssh/id >> seen 2>&1; true"}, {"say": DONE}])
    confined.ralph("run", "-p", PROMPT, "--sandbox", check=0, HOME=str(home), MY_DEPLOY_KEY="hush")
    seen = (confined.root / "seen").read_text()
    assert "hush" not in seen
    assert "private" not in seen


def test_the_head_names_each_guardrail_with_where_it_really_comes_from(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true", "hint": "false"}])
    project.agent([{"say": DONE}])
    ran = project.ralph("run", "-p", PROMPT, "--guardrail", "false", "-m", "1", check=1)
    assert "will run guardrail: true (.ralph/settings.json)" in ran.stderr
    assert "will run guardrail: false (--guardrail)" in ran.stderr


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--sandbox=fortress"], "there is no sandbox 'fortress'"),
        (["--sandbox", "--no-sandbox"], "contradict each other"),
    ],
)
def test_flags_that_make_no_sense_are_told(confined: Project, flags: list[str], told: str) -> None:
    confined.agent([{"say": DONE}])
    assert told in confined.ralph("run", "-p", PROMPT, *flags, check=2).stderr


def test_a_sandbox_that_is_not_there_is_an_error_and_leaves_nothing_to_resume(confined: Project) -> None:
    confined.agent([{"say": DONE}])
    ran = confined.ralph("run", "-p", PROMPT, "--sandbox=sbx", check=4)
    assert "sbx" in ran.stderr
    assert "--no-sandbox" in ran.stderr
    assert "no interrupted run" in confined.ralph("resume", check=2).stderr


@pytest.mark.parametrize("place", ["", "work"], ids=["home", "a folder"])
def test_of_an_agent_in_the_home_only_its_file_is_seen(confined: Project, own_home: Path, place: str) -> None:
    agent = own_home / place / "agent.sh"
    agent.parent.mkdir(exist_ok=True)
    (agent.parent / "secret").write_text("hush")
    agent.write_text(
        f'#!/bin/sh\nls {agent.parent} > seen; cat {agent.parent}/secret >> seen; echo "{DONE}"\n'
    )
    agent.chmod(0o755)
    confined.ralph("run", "-p", PROMPT, "--sandbox", "--agent", str(agent), check=0, HOME=str(own_home))
    assert (confined.root / "seen").read_text() == "agent.sh\n"


def test_without_a_word_a_run_has_no_sandbox(confined: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    confined.agent([{"run": f"touch {outside}"}, {"say": DONE}])
    ran = confined.ralph("run", "-p", PROMPT, check=0)
    assert outside.exists()
    assert "writes: only" not in ran.stderr


@needs_bwrap
def test_our_own_commit_does_not_follow_links_that_the_agent_laid(confined: Project, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text("mine\n")
    confined.git("init", "-q")
    confined.git("commit", "-q", "--allow-empty", "-m", "first")
    settings = json.loads((confined.root / ".ralph" / "settings.json").read_text())
    confined.settings(**settings, scm={"command": "git", "tasks": ["commit"]})
    trap = f"ln -sf {profile} .git/COMMIT_EDITMSG; ln -sf {profile} .git/logs/HEAD; echo new > new"
    confined.agent([{"run": trap}, {"say": DONE}], commits=["evil"])
    ran = confined.ralph("run", "-p", PROMPT, "--sandbox", "--guardrail", "true", check=0)
    assert profile.read_text() == "mine\n"
    assert confined.git("log", "-1", "--format=%s") == "evil\n"
    assert "COMMIT_EDITMSG: the agent put it" in ran.stderr


@needs_bwrap
def test_merging_a_task_does_not_follow_links_that_its_agent_laid(project: Project, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text("mine\n")
    tasks = TaskProject(project)
    tasks.settings(others={"sandbox": {"writable": [str(tasks.programs)]}})
    tasks.role(
        "coder",
        f"""
        echo made > made.txt
        common=$(git rev-parse --git-common-dir)
        ln -sf {profile} "$common/logs/refs/heads/main"
        ln -sf {profile} "$(git rev-parse --git-dir)/COMMIT_EDITMSG"
        """,
    )
    tasks.verified("test -f made.txt")
    told = tasks.work("--sandbox", check=0)
    assert profile.read_text() == "mine\n"
    assert (tasks.root / "made.txt").exists()
    assert "where git would have followed it" in told


@needs_bwrap
def test_proof_in_throw_away_checkouts_is_confined_and_has_its_dependencies(confined: Project) -> None:
    root = confined.root
    (root / "node_modules" / "lib").mkdir(parents=True)
    (root / "node_modules" / "lib" / "data").write_text("needed")
    (root / ".gitignore").write_text("node_modules/\n")
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "start"), ("tag", "v1")):
        subprocess.run(["git", *arguments], cwd=root, check=True, timeout=60)
    place = "case $PWD in */proof/*) git log -1 --format=%s HEAD^ && git status --porcelain && pwd;; esac"
    tried = f"case $PWD in */proof/*) ! touch {root}/by-proof;; esac"
    confined.agent([{"run": "echo in > inside"}, {"say": DONE}])
    guardrails = ("--guardrail", f"grep needed node_modules/lib/data && {place} && {tried}")
    confined.ralph("run", "-p", PROMPT, "--sandbox=bwrap", *guardrails, check=0)
    assert not (root / "by-proof").exists()
    log = next((root / ".ralph" / "runs").glob("*/guardrail_001_clean_1.log")).read_text()
    assert log.startswith("needed\nstart\n/")
