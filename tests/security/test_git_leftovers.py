"""What a confined agent leaves in git's own folder does not act at the user's next git command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project

from .test_sandboxed_run import needs_bwrap

pytestmark = needs_bwrap


@pytest.fixture
def confined(project: Project) -> Project:
    project.settings(agent={"command": "claude"}, sandbox={"writable": [str(project.programs)]})
    project.git("init", "-q", "-b", "main")
    for name in ("one", "two"):
        (project.root / name).write_text(name)
        project.git("add", name)
        project.git("commit", "-q", "-m", name)
    return project


def run(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    project.agent([{"run": script}, {"say": DONE}])
    return project.ralph("run", "-p", PROMPT, "--sandbox", "-m", "1", check=0)


def until(file: str) -> str:
    """Waits for half a minute at most."""
    return f"i=0; until [ -e {file} ] || [ $i -gt 300 ]; do sleep 0.1; i=$((i+1)); done"


def git(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As the user would, with no editor."""
    environment = {**os.environ, "GIT_EDITOR": "true"}
    return subprocess.run(
        ["git", *arguments], cwd=project.root, env=environment, capture_output=True, text=True, check=False
    )


def test_commands_in_the_list_of_a_rebase_do_not_run_outside(confined: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ESCAPED"
    script = f"""
        GIT_SEQUENCE_EDITOR='printf "break\\nexec touch {mark}\\n\\tx touch {mark}\\n" >' git rebase -q -i HEAD~1
        test -f .git/rebase-merge/git-rebase-todo && touch was-there; true
    """
    ran = run(confined, script)
    assert (confined.root / "was-there").exists()
    assert "removed commands from the list of a rebase" in ran.stderr
    assert git(confined, "rebase", "--continue").returncode == 0
    assert not mark.exists()


def test_a_rebase_of_the_users_own_keeps_its_commands(confined: Project) -> None:
    environment = {**os.environ, "GIT_SEQUENCE_EDITOR": "printf 'break\\nexec touch mine\\n' >"}
    rebase = ["git", "rebase", "-q", "-i", "HEAD~1"]
    subprocess.run(rebase, cwd=confined.root, env=environment, check=True)
    run(confined, "echo 'exec touch evil' >> .git/rebase-merge/git-rebase-todo; true")
    git(confined, "rebase", "--continue")
    assert not (confined.root / "evil").exists()
    assert (confined.root / "mine").exists()


BEGUN = "git checkout -q -b side HEAD~1; echo other > two; git add two; git commit -q -m side"
UNFINISHED = {
    "rebase": ("git rebase -q main", ".git/rebase-merge/strategy", "x/y", "rebase --skip"),
    "applied rebase": ("git rebase -q --apply main", ".git/rebase-apply/apply-opt", "'--unsafe-paths'", "rebase --skip"),
    "cherry-pick": ("git cherry-pick main side", ".git/sequencer/opts", "[options]\n\tstrategy = x/y\n", "cherry-pick --skip"),
}  # fmt: skip


@pytest.mark.parametrize("operation", UNFINISHED)
def test_an_unfinished_operation_keeps_nothing_but_data(
    confined: Project, tmp_path: Path, operation: str
) -> None:
    begin, file, content, finish = UNFINISHED[operation]
    mark = tmp_path / "ESCAPED"
    script = f"""
        {BEGUN}
        {begin}
        mkdir git-merge-x; printf '#!/bin/sh\ntouch {mark}; exit 1\n' > git-merge-x/y; chmod +x git-merge-x/y
        printf "%s" "{content}" > {file} && touch was-there
    """
    ran = run(confined, script)
    assert (confined.root / "was-there").exists()
    assert f"removed {Path(file).name} from git's folder" in ran.stderr
    assert not (confined.root / file).exists()
    git(confined, *finish.split())
    assert not mark.exists()


def test_the_strategy_of_a_rebase_of_the_users_own_is_put_back(confined: Project) -> None:
    for command in BEGUN.split("; "):
        subprocess.run(command, cwd=confined.root, shell=True, check=True)
    assert git(confined, "rebase", "-q", "-s", "resolve", "main").returncode != 0
    strategy = confined.root / ".git" / "rebase-merge" / "strategy"
    was = strategy.read_bytes()
    ran = run(confined, "printf x/y > .git/rebase-merge/strategy")
    assert "put back strategy" in ran.stderr
    assert strategy.read_bytes() == was


def test_what_the_user_does_in_another_worktree_meanwhile_is_left_alone(
    confined: Project, tmp_path: Path
) -> None:
    """The agent could not have: the worktree was there when the run began, so it is read-only."""
    other, mine = tmp_path / "other", confined.root / ".git" / "worktrees" / "other"
    git(confined, "worktree", "add", "-q", "-b", "side", str(other))
    agent = f"touch begun; {until('go')}"
    user = f"""
        {until("begun")}
        printf 'break\\nexec touch kept\\n' > {tmp_path}/todo
        GIT_SEQUENCE_EDITOR='cp {tmp_path}/todo' git -C {other} rebase -q -i HEAD~1
        touch go
    """
    with subprocess.Popen(["sh", "-c", user], cwd=confined.root) as rebasing:
        ran = run(confined, agent)
        assert rebasing.wait(30) == 0
    assert "removed commands" not in ran.stderr
    assert b"exec touch kept" in (mine / "rebase-merge" / "git-rebase-todo").read_bytes()


def test_a_configuration_that_would_count_later_is_removed(confined: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ESCAPED"
    run(confined, f"printf '[core]\\n\\tfsmonitor = touch {mark}\\n' > .git/config.worktree")
    git(confined, "sparse-checkout", "set", "one")
    git(confined, "status")
    assert not mark.exists()


PACK = "git pack-refs --all; sed -i '/replace/s/ /{}/' .git/packed-refs; "


@pytest.mark.parametrize("pack", ["", *map(PACK.format, (" ", "\\t", "\\r"))])
def test_replaced_objects_do_not_outlive_the_session(confined: Project, pack: str) -> None:
    ran = run(confined, f"git replace HEAD HEAD~1; {pack}git rev-parse HEAD~0; true")
    assert "removed" in ran.stderr
    assert git(confined, "replace", "--list").stdout == ""
    assert git(confined, "log", "-1", "--format=%s").stdout == "two\n"
    assert git(confined, "fsck", "--no-dangling").returncode == 0


def test_the_users_own_replacements_stay(confined: Project) -> None:
    git(confined, "replace", "HEAD", "HEAD~1")
    run(confined, "true")
    assert git(confined, "replace", "--list").stdout != ""


def test_hooks_and_included_files_of_the_users_own_configuration_are_read_only(
    confined: Project, own_home: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ESCAPED"
    (own_home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = .githooks\n[include]\n\tpath = {confined.root}/.gitmore\n"
        f'[filter "x"]\n\tclean = ./tool\n'
    )
    (confined.root / "tool").write_text("#!/bin/sh\ncat\n")
    script = f"""
        mkdir -p .githooks; printf '#!/bin/sh\\ntouch {mark}\\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit
        printf '[core]\\n\\tfsmonitor = touch {mark}\\n' > .gitmore; true
    """
    ran = run(confined, script)
    git(confined, "status")
    git(confined, "commit", "--allow-empty", "-m", "mine")
    assert not mark.exists()
    assert f"runs outside, though the agent can change it: {confined.root}/tool" in ran.stderr


def test_a_list_that_is_too_long_to_be_looked_through_is_removed(confined: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ESCAPED"
    script = f"""
        GIT_SEQUENCE_EDITOR='printf "break\\n" >' git rebase -q -i HEAD~1
        head -c 51000000 /dev/zero | tr '\\0' '#' > todo
        printf '\\nexec touch {mark}\\n' >> todo; mv todo .git/rebase-merge/git-rebase-todo
        {{ printf '# %051000000d\\n'; echo "$(git rev-parse HEAD~1) refs/replace/$(git rev-parse HEAD)"; }} > .git/packed-refs
    """
    ran = run(confined, script)
    assert "removed git-rebase-todo" in ran.stderr
    assert "too long to be cleaned of refs/replace" in ran.stderr
    git(confined, "rebase", "--continue")
    assert not mark.exists()


def test_a_git_folder_that_the_agent_closed_is_open_again(confined: Project) -> None:
    run(confined, "chmod 000 .git")
    assert git(confined, "status").returncode == 0


def test_more_worktrees_than_can_be_protected_are_refused_by_name(confined: Project) -> None:
    for number in range(1001):
        (confined.root / ".git" / "worktrees" / str(number)).mkdir(parents=True)
    confined.agent([{"say": DONE}])
    ran = confined.ralph("run", "-p", PROMPT, "--sandbox", "-m", "1", check=2)
    assert "too many worktrees and submodules" in ran.stderr
    assert "git worktree prune" in ran.stderr


def test_an_agent_can_still_commit_branch_merge_and_rebase(confined: Project) -> None:
    script = """
        set -e
        git checkout -q -b side HEAD~1; echo side > side; git add side; git commit -q -m side
        git checkout -q main; git merge -q --no-edit side; git rebase -q HEAD~1; git tag done
    """
    run(confined, script)
    assert "done" in git(confined, "tag").stdout
    assert (confined.root / "side").exists()
