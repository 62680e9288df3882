"""Worktrees that can build: ``workspace.setup``, ``share``, ``teardown`` and ``.worktreeinclude``."""

from __future__ import annotations

import pytest

from .conftest import Project
from .running import running, wait_for
from .task_project import TaskProject

NOTE = 'printf "%s\\n" "$(basename "$PWD")" >> "{log}"\n'


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    made = TaskProject(project)
    made.write(".gitignore", "node_modules/\n.env\nbuilt/\n")
    made.write("package.json", "{}\n")
    made.write("package-lock.json", "one\n")
    made.commit("a project with dependencies")
    return made


def set_up(tasks: TaskProject, script: str, **workspace: object) -> None:
    """``setup`` runs a script outside the repository, which first notes the worktree that it is in."""
    log = tasks.programs / "setups"
    tasks.project.program("setup", NOTE.replace("{log}", str(log)) + script)
    tasks.settings(others={"workspace": {"setup": str(tasks.programs / "setup"), **workspace}})


def setups(tasks: TaskProject) -> list[str]:
    file = tasks.programs / "setups"
    places = file.read_text().splitlines() if file.exists() else []
    return ["merge" if place.startswith("_integration") else place for place in places]


INSTALL = "rm -rf node_modules; mkdir node_modules; cp package-lock.json node_modules/installed\n"
RUNS = "cmp package-lock.json node_modules/installed"
"""Passes only where what the lock file says is installed."""


def test_every_worktree_is_set_up_once_and_what_setup_changes_is_not_work(tasks: TaskProject) -> None:
    set_up(
        tasks,
        INSTALL
        + "echo changed >> start.txt; echo out > built_by_setup; mkdir -p built; mv built_by_setup built/\n"
        + "echo default > .env",
    )
    tasks.role(
        "coder",
        'test "$number" = 2 && echo made > "$RALPH_TASK_ID.txt" && echo changed > .env; ls node_modules > /dev/null',
    )
    tasks.verified(f"test -f T-1.txt && {RUNS} && test -f built/built_by_setup")

    told = tasks.work(check=0)

    assert setups(tasks) == ["T-1", "merge"], told
    assert tasks.git("show", "main:start.txt") == "start"
    assert tasks.files() == {".gitignore", "package.json", "package-lock.json", "start.txt", "T-1.txt"}
    assert not list((tasks.root / ".ralph" / "prepared").iterdir())
    assert "git ignores .env, so it was not merged" in told, (
        "the agent changed it; what setup made is not missed"
    )


def test_a_setup_that_fails_is_no_fault_of_the_task(tasks: TaskProject) -> None:
    set_up(tasks, 'echo "the registry is away" >&2; exit 7')
    tasks.verified("test -f T-1.txt")

    told = tasks.work(check=4)

    assert "setup` failed: Command exited with 7" in told
    assert "the registry is away" in told
    assert tasks.launches() == []
    assert tasks.shown()["status"] == "open"
    assert not tasks.worktree().exists(), "it is made again from what the branch is by then"

    set_up(tasks, INSTALL)
    tasks.work(check=0)
    assert "T-1.txt" in tasks.files()


def test_a_lock_file_that_the_task_changes_gets_its_own_installation(tasks: TaskProject) -> None:
    """First one that cannot be installed: the agent is told, for it works without its change."""
    set_up(tasks, f"grep -q broken package-lock.json && {{ echo cannot resolve >&2; exit 1; }}\n{INSTALL}")
    coder = (
        'if [ "$number" = 1 ]; then echo broken; else echo two; fi > package-lock.json; echo made > T-1.txt'
    )
    tasks.role("coder", coder)
    tasks.verified(f"grep -q two package-lock.json && {RUNS}")

    told = tasks.work(check=0)

    assert setups(tasks) == ["T-1", "T-1", "merge", "T-1", "merge"], told
    assert "the installation fails with them" in tasks.prompt("coder", 2)
    assert "cannot resolve" in tasks.prompt("coder", 2)
    assert tasks.git("show", "main:package-lock.json") == "two"


def test_what_is_shared_or_included_is_a_copy_of_the_users(tasks: TaskProject) -> None:
    """And it is not shared with a worktree that needs something else installed."""
    tasks.write("node_modules/installed", "one\n")
    tasks.write(".env", "KEY=1\n")
    tasks.write("other.env", "untracked, but not ignored\n")
    (tasks.root / "linked").symlink_to("/etc/hostname")
    tasks.write(".worktreeinclude", "# for agents\n*env\nlinked\nstart.txt\n")
    (tasks.root / ".git" / "info" / "exclude").write_text("/linked\n/.worktreeinclude\n")
    tasks.settings(
        others={"workspace": {"share": ["node_modules"], "teardown": "cat .env >> ../../torn; exit 3"}}
    )
    see = f"test ! -L node_modules && test ! -e other.env && test ! -e linked && grep -q KEY=1 .env && {RUNS}"
    tasks.role("coder", f"{see} && echo made > T-1.txt; echo changed >> node_modules/installed; rm -f .env")
    tasks.verified("test -f T-1.txt")

    told = tasks.work(check=0)

    assert (tasks.root / "node_modules" / "installed").read_text() == "one\n"
    assert (tasks.root / ".env").read_text() == "KEY=1\n"
    assert "T-1: workspace.teardown: `cat .env >> ../../torn; exit 3` failed: Command exited with 3" in told
    assert (tasks.root / ".ralph" / "torn").read_text() == "KEY=1\n", (
        "of the merge; the agent removed its own"
    )
    assert not tasks.worktree().exists()

    tasks.write("package-lock.json", "two\n")  # not committed: what is installed here may be something else
    tasks.role("coder", "test ! -e node_modules && echo made > T-2.txt")
    tasks.verified("test -f T-2.txt", "T-2")
    assert "T-2: node_modules not shared: what it was installed from differs" in tasks.work(check=0)


def test_a_worktree_that_was_half_set_up_is_set_up_again(tasks: TaskProject) -> None:
    hang = tasks.programs / "hang"
    hang.touch()
    set_up(
        tasks, f'echo half >> start.txt; if [ -e "{hang}" ]; then touch "{hang}.now"; sleep 60; fi\n{INSTALL}'
    )
    tasks.verified(f"test -f T-1.txt && {RUNS}")
    with running(tasks.project, command="work") as work:
        wait_for((tasks.programs / "hang.now").exists, "the setup to run")
        work.kill()
        work.wait(timeout=30)
    hang.unlink()

    tasks.work(check=0)

    assert setups(tasks) == ["T-1", "T-1", "merge"]
    assert tasks.git("show", "main:start.txt") == "start", "what the first one changed is put back too"


def test_the_user_is_told_what_worktrees_lack(tasks: TaskProject) -> None:
    tasks.write("node_modules/installed", "one\n")
    tasks.task()

    assert "worktrees have no node_modules of their own: `workspace.setup`" in tasks.work(check=0)


def test_files_that_setup_leaves_for_git_to_commit_are_refused(tasks: TaskProject) -> None:
    set_up(tasks, "mkdir -p wheels; touch wheels/a wheels/b")
    tasks.task()

    told = tasks.work(check=4)

    assert "it leaves wheels/, which git does not ignore and would commit as work: list it in" in told
    assert ".gitignore, and commit that (a worktree has only what is committed)" in told
    assert tasks.launches() == []
