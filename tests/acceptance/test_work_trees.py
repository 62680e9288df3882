"""What is in a worktree, and whose: nothing of it is lost, and one run's trees are never another's."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from .conftest import Project
from .running import ended, running, wait_for
from .task_project import TaskProject


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    return TaskProject(project)


def worktrees(tasks: TaskProject) -> list[str]:
    """Those that git knows, besides the user's."""
    listed = tasks.git("worktree", "list", "--porcelain").splitlines()
    return [line for line in listed if line.startswith("worktree ")][1:]


def left_behind(tasks: TaskProject) -> list[str]:
    folder = tasks.root / ".ralph" / "worktrees"
    found = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return [*found, *worktrees(tasks), *tasks.git("branch", "--list", "ralph/*").splitlines()]


# --- what git does not merge ---


@pytest.mark.parametrize(
    "make",
    [
        "git init -q app; echo x > app/main.py; touch app.ok",
        "git init -q app; echo x > app/main.py; git -C app add .; git -C app commit -qm x; git add app; git commit -qm app",
        "git init -q a/app; echo x > a/app/main.py; git -C a/app add .; git -C a/app commit -qm x",
    ],
    ids=["unborn", "committed", "below a folder"],
)
def test_work_in_a_repository_of_its_own_goes_back_to_the_agent(tasks: TaskProject, make: str) -> None:
    fix = "git rm -rq --cached app 2> /dev/null; rm -rf app/.git a/app/.git"
    tasks.role("coder", f'if [ "$number" = 1 ]; then {make}; else {fix}; fi')
    tasks.verified("test -d app || test -d a/app")

    tasks.work(check=0)

    assert "is a git repository of its own inside this one" in tasks.prompt("coder", 2)
    assert {"app/main.py", "a/app/main.py"} & tasks.files()


def test_what_git_ignores_is_kept_and_the_user_is_told_where(tasks: TaskProject) -> None:
    tasks.write(".gitignore", "*.secret\nout/\nnode_modules/\n__pycache__/\n.env\n")
    tasks.commit("ignore")
    tasks.write(".env", "same\n")
    tasks.role(
        "coder",
        "mkdir -p out/deep node_modules/x pkg/__pycache__; echo 1 > out/deep/result; echo 2 > a.secret\n"
        "echo 3 > node_modules/x/y; echo 4 > pkg/__pycache__/z; echo same > .env; echo made > made.txt",
    )
    tasks.verified("test -f made.txt")

    told = tasks.work(check=0)

    (kept,) = (tasks.root / ".ralph" / "runs").glob("*/kept/T-1")
    files = sorted(str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file())
    assert files == ["a.secret", "out/deep/result"], (
        "what programs make again, and what the user has, is not kept"
    )
    assert "T-1: git ignores a.secret, out/deep/result, so it was not merged; it is kept in " in told
    assert str(kept) in told
    assert left_behind(tasks) == []


# --- the project in a folder of its repository ---


def test_a_project_in_a_sub_folder_is_worked_on_and_verified_there(project: Project) -> None:
    tasks = TaskProject(project)
    folder = project.root / "packages" / "shop"
    folder.mkdir(parents=True)
    (project.root / ".ralph").rename(folder / ".ralph")
    tasks.write("packages/shop/check.sh", "grep -qx good made.txt\n")
    tasks.git("add", "packages/shop/check.sh")
    tasks.git("commit", "-qm", "shop")
    tasks.root = project.root = folder
    tasks.settings(others={"guardrails": [{"command": "sh check.sh"}]})
    tasks.role(
        "coder",
        'if [ "$number" = 1 ]; then echo bad > made.txt; else echo good > made.txt; echo x > ../other.txt; fi\n'
        'pwd > "$here/place"; echo good > ../../made.txt',
    )
    tasks.verified("test -f made.txt")

    tasks.work(check=0)

    assert len(tasks.launches()) == 2, "the guardrail failed where the project is, not at the top"
    assert (tasks.programs / "place").read_text().strip().endswith("/.ralph/worktrees/T-1/packages/shop")
    assert tasks.git("show", "main:packages/shop/made.txt") == "good"
    assert tasks.git("show", "main:packages/other.txt") == "x"
    assert (folder / "made.txt").read_text() == "good\n"
    assert tasks.git("status", "--porcelain", "--untracked-files=no") == ""


def test_a_project_in_a_sub_folder_keeps_its_own_tests_from_being_weakened(project: Project) -> None:
    tasks = TaskProject(project)
    folder = project.root / "shop"
    folder.mkdir()
    (project.root / ".ralph").rename(folder / ".ralph")
    tasks.write("shop/check.sh", "grep -qx good made.txt\n")
    tasks.git("add", "shop/check.sh")
    tasks.git("commit", "-qm", "shop")
    tasks.root = project.root = folder
    tasks.settings(roles={"coder": {"maxIterations": 1}}, others={"guardrails": [{"command": "sh check.sh"}]})
    tasks.role("coder", "echo true > check.sh; echo bad > made.txt")
    tasks.verified("test -f made.txt")

    tasks.work(check=1)

    assert tasks.shown()["status"] == "failed"
    assert (folder / "check.sh").read_text() == "grep -qx good made.txt\n"


# --- two runs at once ---


def test_two_runs_in_two_worktrees_of_one_repository_do_not_share_a_tree(tasks: TaskProject) -> None:
    """Each verifies a merge in which only its own task must be: with one tree for both they would see each other's."""
    other = tasks.root.parent / "other"
    tasks.git("worktree", "add", "-q", "-b", "second", str(other))
    # Both are at their merge at the same time.
    meet = (
        f"case $PWD in *_integration*) touch '{tasks.programs}/at-'$(basename $PWD);"
        f" while [ $(ls '{tasks.programs}' | grep -c ^at-) -lt 2 ]; do sleep 0.05; done;; esac;"
        " test ! -e A.txt -o ! -e B.txt"
    )
    tasks.settings(others={"guardrails": [{"command": meet}]})
    for name in "AB":
        tasks.verified(f"test -f {name}.txt", name)
    second = Project(other, tasks.programs, tasks.project.environment)
    with running(tasks.project, "A", command="work") as one, running(second, "B", command="work") as two:
        ends = [ended(one), ended(two)]

    assert [code for code, _ in ends] == [0, 0], ends
    assert tasks.files() >= {"A.txt"}
    assert "B.txt" not in tasks.files()
    assert set(tasks.git("ls-tree", "--name-only", "second").splitlines()) & {"A.txt", "B.txt"} == {"B.txt"}
    assert worktrees(tasks) == [f"worktree {other}"]


# --- kills ---

SLOW = """#!/bin/sh
case $PWD in */.ralph/*) exec cat;; esac
if [ -e '{here}/hold' ]; then touch '{here}/waits'; while [ ! -e '{here}/go' ]; do sleep 0.05; done; fi
exec cat
"""


def test_a_kill_in_the_middle_of_the_users_tree_is_finished_by_the_next_command(tasks: TaskProject) -> None:
    smudge = tasks.project.program(
        "smudge", SLOW.replace("#!/bin/sh\n", "").replace("{here}", str(tasks.programs))
    )
    tasks.git("config", "filter.slow.smudge", str(smudge))
    for name in ("a.txt", "b.txt", "gone.txt", "z.txt"):
        tasks.write(name, "old\n")
    tasks.write(".gitattributes", "m.txt filter=slow\n")
    tasks.commit("files")
    tasks.write("start.txt", "staged by the user\n")
    tasks.git("add", "start.txt")
    tasks.role(
        "coder",
        'for name in a b m z; do echo new > "$name.txt"; done; git rm -q gone.txt; mkdir d; echo new > d/n.txt',
    )
    tasks.verified("test -f m.txt")
    (tasks.programs / "hold").touch()
    with running(tasks.project, command="work") as process:
        wait_for((tasks.programs / "waits").exists, "git writes to the user's tree", 100)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    (tasks.programs / "go").touch()
    assert (tasks.root / "a.txt").read_text() == "new\n", "half of it is there"
    assert not (tasks.root / "m.txt").exists()
    tasks.write("b.txt", "edited by the user since then\n")

    told = tasks.work(check=0)

    assert "a merge into main was interrupted; it is finished now" in told
    assert "you have changed b.txt since then" in told
    assert tasks.shown()["status"] == "done"
    assert tasks.launches() == ["T-1 coder"]
    assert {
        name: (tasks.root / f"{name}.txt").read_text() for name in ("a", "m", "z", "d/n")
    } == dict.fromkeys(("a", "m", "z", "d/n"), "new\n")
    assert (tasks.root / "b.txt").read_text() == "edited by the user since then\n"
    assert not (tasks.root / "gone.txt").exists()
    status = tasks.git("status", "--porcelain", "--", ".", ":(exclude).ralph").splitlines()
    assert [line.strip() for line in status] == ["M b.txt", "M  start.txt"]
    assert left_behind(tasks) == []


# Dies by SIGKILL before or after the n-th git command of a kind. Only the test does this.
KILLER = """
import os, signal, sys
from ralph.adapters import git as git_command
from ralph.interfaces.cli.main import main

when, wanted = sys.argv[1], sys.argv[2].split()
run = git_command.Git.run

async def deadly(self, *arguments, **keywords):
    is_it = list(arguments[: len(wanted)]) == wanted and "T-1" in " ".join(arguments)
    if is_it and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    ran = await run(self, *arguments, **keywords)
    if is_it:
        os.kill(os.getpid(), signal.SIGKILL)
    return ran

git_command.Git.run = deadly
sys.exit(main(["work"]))
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("command", ["branch -D", "worktree add", "worktree remove"])
def test_a_kill_while_a_worktree_is_made_or_removed_leaves_nothing(
    tasks: TaskProject, command: str, when: str
) -> None:
    tasks.verified("test -f T-1.txt")
    killed = subprocess.run(
        [sys.executable, "-c", KILLER, when, command],
        cwd=tasks.root,
        env=tasks.project.env(),
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    tasks.work(check=0)

    assert tasks.shown()["status"] == "done"
    assert tasks.git("show", "main:T-1.txt") == "made"
    assert tasks.git("show", "main:start.txt") == "start"
    assert left_behind(tasks) == []


def test_half_a_worktree_is_made_again_and_half_a_removal_finished(tasks: TaskProject) -> None:
    """As git itself leaves them if it is killed: locked while it was filling one, files missing while it was emptying one."""
    tasks.tasks({"id": "A"}, {"id": "B", "dependencies": ["A"]})
    tasks.work("A", check=0)
    tasks.git("worktree", "add", "-q", "-b", "ralph/A", str(tasks.worktree("A")))
    (tasks.worktree("A") / "start.txt").unlink()
    tasks.git("worktree", "add", "-q", "-b", "ralph/B", str(tasks.worktree("B")))
    (tasks.root / ".git" / "worktrees" / "B" / "locked").write_text("initializing\n")
    (tasks.root / ".git" / "worktrees" / "B" / "index").unlink()
    (tasks.worktree("B") / "start.txt").unlink()

    tasks.work(check=0)

    assert {"start.txt", "A.txt", "B.txt"} <= tasks.files()
    assert [name for name in left_behind(tasks) if not name.startswith("B.left-")] == []


# --- what an agent or a daemon does to others' trees ---


def test_a_branch_that_an_agent_moved_under_the_users_tree_is_told(tasks: TaskProject) -> None:
    tasks.role(
        "coder", "echo x > f.txt; git add f.txt; git commit -qm x; git update-ref refs/heads/main HEAD"
    )
    tasks.verified("test -f f.txt")

    told = tasks.work(check=5)

    assert "main was moved to " in told
    assert "behind your working tree" in told
    before = tasks.git("rev-parse", "main~1")
    tasks.git("update-ref", "refs/heads/main", before)
    tasks.work(check=0)
    assert (tasks.root / "f.txt").read_text() == "x\n"
    assert tasks.git("status", "--porcelain", "--", ".", ":(exclude).ralph") == ""


def test_what_changes_while_a_merge_is_verified_is_not_merged(tasks: TaskProject) -> None:
    """Somebody writes to the merged tree until the check passes there."""
    patch = "case $PWD in *_integration*) [ -e '{here}/twice' ] || echo good > state.txt; touch '{here}/twice';; esac"
    tasks.write("state.txt", "good\n")
    tasks.commit("state")
    tasks.role(
        "coder", 'echo $number > T-1.txt; echo bad > state.txt; [ "$number" = 1 ] || echo good > state.txt'
    )
    guard = f"{patch.replace('{here}', str(tasks.programs))}; case $PWD in *_integration*) grep -q good state.txt;; esac"
    tasks.settings(others={"guardrails": [{"command": guard}]})
    tasks.verified("test -f T-1.txt")

    tasks.work(check=0)

    assert "state.txt changed while the merge was checked" in tasks.prompt("coder", 2)
    assert tasks.git("show", "main:state.txt") == "good"


def test_a_repository_that_an_agent_removed_ends_the_run(project: Project) -> None:
    tasks = TaskProject(project)
    tasks.project.program("worker", "rm -rf .git; echo '<response>DONE</response>'")

    told = tasks.project.ralph("run", "-p", "Output <response>DONE</response>.", check=4).stderr

    assert f"the git repository of {tasks.root} was removed during the run" in told


# --- before the first session ---


def test_without_an_identity_no_session_is_spent(tasks: TaskProject) -> None:
    tasks.git("config", "--unset", "user.name")
    tasks.git("config", "--unset", "user.email")
    tasks.git("config", "user.useConfigOnly", "true")
    tasks.project.environment.update(GIT_AUTHOR_NAME="", GIT_COMMITTER_NAME="", EMAIL="")
    tasks.task()

    told = tasks.work(check=2)

    assert "git cannot commit" in told
    assert "user.name and user.email" in told
    assert tasks.launches() == []
    assert tasks.shown()["status"] == "open"


def test_tasks_that_all_conflict_are_all_merged(tasks: TaskProject) -> None:
    number = 6
    tasks.settings(maxParallel=number, maxRejections=1)
    tasks.role(
        "coder",
        'touch "$here/begun-$RALPH_TASK_ID"\n'
        f'while [ "$(ls "$here" | grep -c ^begun-)" -lt {number} ]; do sleep 0.05; done\n'
        "if git rev-parse -q --verify MERGE_HEAD > /dev/null; then\n"
        "  { git show :2:start.txt; git show :3:start.txt; } | sort -u > start.txt; git add -A; git commit -qm both\n"
        'else grep -q "^$RALPH_TASK_ID$" start.txt || echo "$RALPH_TASK_ID" > start.txt; fi',
    )
    tasks.tasks(
        *(
            {"id": f"T{one}", "completion": {"coder": {"verification_method": "string_match"}}}
            for one in range(number)
        )
    )

    tasks.work(check=0)

    assert set(tasks.git("show", "main:start.txt").split()) == {f"T{one}" for one in range(number)}
