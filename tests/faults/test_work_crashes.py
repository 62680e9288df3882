"""Killed, stopped and cancelled in the middle: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import Project
from tests.acceptance.running import alive, ended, running, wait_for
from tests.acceptance.task_project import TaskProject

WAIT = 'echo $$ > "$here/pid"; touch "$here/waits"\nwhile [ ! -e "$here/go" ]; do sleep 0.05; done\n'


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    return TaskProject(project)


def begun(tasks: TaskProject) -> None:
    wait_for((tasks.programs / "waits").exists, "the session has begun", 100)


def go(tasks: TaskProject) -> None:
    (tasks.programs / "go").touch()


def history(tasks: TaskProject) -> list[str]:
    return [kind for (kind,) in tasks.project.rows("SELECT kind FROM task_events ORDER BY seq")]


@pytest.mark.parametrize("role", ["coder", "reviewer", "tester", "qa"])
def test_killed_in_any_stage_it_goes_on_there(tasks: TaskProject, role: str) -> None:
    tasks.settings(stages=[])
    for name in ("reviewer", "tester", "qa"):
        tasks.role(name, f'echo {name} >> "log.txt"')
    tasks.role("coder", 'echo coder >> "log.txt"; echo half > half.txt')
    body = (tasks.programs / f"{role}.sh").read_text()
    (tasks.programs / f"{role}.sh").write_text(f"echo part >> part.txt\n{WAIT}{body}")
    tasks.task()
    with running(tasks.project, command="work") as process:
        begun(tasks)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=60) == -signal.SIGKILL
    wait_for(lambda: not alive(tasks.programs / "pid"), "the agent is gone")
    go(tasks)

    tasks.work(check=0)

    stages = ["coder", "reviewer", "tester", "qa"]
    place = stages.index(role)
    expected = [*stages[: place + 1], *stages[place:]]  # only the interrupted one is launched again
    assert tasks.launches() == [f"T-1 {name}" for name in expected]
    assert tasks.git("show", "main:log.txt").split() == stages
    assert tasks.git("show", "main:part.txt").split() == ["part", "part"]  # its half-done work was kept
    shown = tasks.shown()
    assert shown["status"] == "done"
    assert shown["iterations"] == dict.fromkeys(stages, 1)
    assert "interrupted" in tasks.prompt(role, 2)
    runs = tasks.project.rows("SELECT count(*) FROM runs WHERE json_extract(options, '$.task') = 'T-1'")
    assert runs == [(1,)]


# Copies all there is just before each git command that the integration runs, unless nothing changed since the last: just
# what a kill would have left. Only the test does this.
DRIVER = """
import shutil, sys
from pathlib import Path
from ralph.adapters import git as git_command
from ralph.interfaces.cli.main import main

copies, before = sys.argv[1], {}
run = git_command.Git.run

async def copying(self, *arguments, **keywords):
    global before
    if is_merging():
        files = (file for file in Path("..").rglob("*") if file.is_file() and not file.name.endswith("-shm"))
        now = {file: file.read_bytes() for file in files}
        if now != before:
            shutil.copytree("..", Path(copies, f"{len(list(Path(copies).iterdir())):03}"), symlinks=True)
            before = now
    return await run(self, *arguments, **keywords)

def is_merging():
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "run" and frame.f_code.co_filename.endswith("engine/tasks/merge.py"):
            return True
        frame = frame.f_back
    return False

git_command.Git.run = copying
sys.exit(main(["work"]))
"""
SHARES = 6
"""Parts of the points, so that no test is long."""

merging: list[tuple[TaskProject, list[Path]]] = []
"""The project whose merge this process has watched, and what there was at each point."""


@pytest.fixture
def merge(tasks: TaskProject, tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskProject, list[Path]]:
    """Made once. A copy is restored where it was made: worktrees know their places."""
    if not merging:
        tasks.verified("test -f T-1.txt")
        copies = tmp_path_factory.mktemp("merge")
        subprocess.run(
            [sys.executable, "-c", DRIVER, str(copies)],
            cwd=tasks.root,
            env=tasks.project.env(),
            capture_output=True,
            timeout=100,
            check=True,
        )
        merging.append((tasks, sorted(copies.iterdir())))
    return merging[0]


@pytest.mark.parametrize("share", range(SHARES))
def test_killed_anywhere_in_a_merge_it_is_merged_once(
    merge: tuple[TaskProject, list[Path]], share: int
) -> None:
    tasks, points = merge
    assert len(points) > 8
    for died in points[share::SHARES]:
        print(f"died at point {died.name}")
        shutil.rmtree(tasks.root.parent)
        shutil.copytree(died, tasks.root.parent, symlinks=True)

        tasks.work(check=0)

        assert tasks.launches() == ["T-1 coder"]
        assert tasks.shown()["status"] == "done"
        assert tasks.git("rev-list", "--count", "--merges", "main") == "1"
        assert tasks.git("show", "main:T-1.txt") == "made"
        assert (tasks.root / "T-1.txt").read_text() == "made\n"
        assert tasks.git("status", "--porcelain", "--", ".", ":(exclude).ralph") == ""
        assert not tasks.worktree().exists()
        assert history(tasks).count("merged") <= 1
        assert tasks.project.rows("PRAGMA integrity_check") == [("ok",)]


def test_killed_after_a_conflict_was_found_it_is_still_resolved(tasks: TaskProject) -> None:
    tasks.role(
        "coder",
        "if git rev-parse -q --verify MERGE_HEAD > /dev/null; then\n"
        '  if [ "$RALPH_TASK_ID" = A ] && [ ! -e "$here/go" ]; then '
        + WAIT.replace("\n", "; ").rstrip("; ")
        + "; fi\n"
        '  printf "both\\n" > start.txt; git add -A; git commit -qm both\n'
        "else\n"
        '  echo "$RALPH_TASK_ID" > start.txt\n'
        "fi",
    )
    tasks.task("A")
    # The user's branch moves on while the task is worked on: its first merge meets a conflict.
    tasks.judge(
        f'cd "{tasks.root}" && echo user > start.txt && git commit -qam user; cd - > /dev/null\n'
        'printf "<%s>\\nVERIFIED\\n1. VERIFIED: seen\\n</%s>\\n" "$tag" "$tag"\n'
    )
    with running(tasks.project, command="work") as process:
        begun(tasks)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    wait_for(lambda: not alive(tasks.programs / "pid"), "the agent is gone")
    go(tasks)

    tasks.work(check=0)

    assert tasks.git("show", "main:start.txt") == "both"
    assert tasks.shown("A")["rejections"] == 1


def test_a_cancelled_task_ends_at_once_and_the_others_go_on(tasks: TaskProject) -> None:
    tasks.role(
        "coder",
        'if [ "$RALPH_TASK_ID" = A ]; then echo half > half.txt; '
        + WAIT
        + 'fi\necho x > "$RALPH_TASK_ID.txt"',
    )
    tasks.tasks({"id": "A", "priority": 1}, {"id": "B", "priority": 2})
    with running(tasks.project, command="work") as process:
        begun(tasks)
        assert "cancelled: A" in tasks.project.ralph("cancel", "A", check=0).stdout
        code, said = ended(process)

    assert code == 1, said
    assert tasks.shown("A")["status"] == "cancelled"
    assert tasks.shown("B")["status"] == "done"
    assert not alive(tasks.programs / "pid")
    assert (tasks.worktree("A") / "half.txt").read_text() == "half\n"
    assert "B.txt" in tasks.files()

    go(tasks)
    tasks.project.ralph("task", "retry", "A", check=0)
    tasks.work(check=0)
    assert {"A.txt", "half.txt"} <= tasks.files()


def test_a_task_that_is_cancelled_while_its_merge_is_verified_is_not_merged(tasks: TaskProject) -> None:
    here = f"here='{tasks.programs}'"
    tasks.settings(
        others={"guardrails": [{"command": f"case $PWD in *_integration*) {here};\n{WAIT};; esac"}]},
    )
    tasks.verified("test -f T-1.txt")
    with running(tasks.project, command="work") as process:
        begun(tasks)
        tasks.project.ralph("cancel", "T-1", check=0)
        go(tasks)
        assert ended(process)[0] == 1

    assert tasks.shown()["status"] == "cancelled"
    assert "T-1.txt" not in tasks.files()
    assert tasks.git("branch", "--list", "ralph/T-1")


@pytest.mark.parametrize("now", [False, True])
def test_a_stop_from_another_terminal_leaves_everything_to_go_on_with(tasks: TaskProject, now: bool) -> None:
    tasks.role("coder", f'{WAIT}echo x > "$RALPH_TASK_ID.txt"')
    tasks.tasks({"id": "A"}, {"id": "B"})
    with running(tasks.project, command="work") as process:
        begun(tasks)
        tasks.project.ralph("stop", *(["--now"] if now else []), check=0)
        if not now:
            # It is heard while the session goes on, which may finish.
            wait_for(
                lambda: tasks.project.rows("SELECT 1 FROM events WHERE kind = 'stop_requested'") != [],
                "heard",
            )
            go(tasks)
        code, said = ended(process)

    assert code == 130, said
    assert tasks.shown("A")["status"] == "open"
    assert tasks.shown("B")["status"] == "open"
    assert not alive(tasks.programs / "pid")
    go(tasks)
    tasks.work(check=0)
    assert {"A.txt", "B.txt"} <= tasks.files()
    assert tasks.launches().count("B coder") == 1


def test_ctrl_c_twice_ends_all_sessions(tasks: TaskProject) -> None:
    tasks.role("coder", 'echo $$ > "$here/pid-$RALPH_TASK_ID"\nwhile :; do sleep 0.05; done')
    tasks.tasks({"id": "A"}, {"id": "B"})
    pids = [tasks.programs / f"pid-{name}" for name in "AB"]
    with running(tasks.project, "--max-parallel", "2", command="work") as process:
        for pid in pids:
            wait_for(lambda pid=pid: pid.exists() and pid.read_text().endswith("\n"), "it has begun")  # type: ignore[misc]
        process.send_signal(signal.SIGINT)
        wait_for(
            lambda: tasks.project.rows("SELECT 1 FROM events WHERE kind = 'stop_requested'") != [], "heard"
        )
        process.send_signal(signal.SIGINT)
        code, said = ended(process)

    assert code == 130, said
    for pid in pids:
        wait_for(lambda pid=pid: not alive(pid), "it is gone")  # type: ignore[misc]
    assert [tasks.shown(name)["status"] for name in "AB"] == ["open", "open"]


def test_a_second_ralph_work_is_refused_while_one_is_at_it(tasks: TaskProject) -> None:
    tasks.role("coder", f"{WAIT}echo x > x.txt")
    tasks.task()
    with running(tasks.project, command="work") as process:
        begun(tasks)
        second = tasks.project.ralph("work", check=2)
        go(tasks)
        assert ended(process)[0] == 0

    assert "Traceback" not in second.stderr
    assert len(tasks.launches()) == 1


def test_status_shows_role_and_iteration_while_it_works(tasks: TaskProject) -> None:
    tasks.role("coder", f"{WAIT}echo x > x.txt")
    tasks.task()
    with running(tasks.project, command="work") as process:
        begun(tasks)
        listed = json.loads(tasks.project.ralph("task", "list", "--json", check=0).stdout)
        shown = tasks.project.ralph("task", "show", "T-1", check=0).stdout
        edit = tasks.project.ralph("task", "edit", "T-1", "--priority", "1", check=2)
        remove = tasks.project.ralph("task", "rm", "-y", "T-1", check=2)
        go(tasks)
        assert ended(process)[0] == 0

    assert "working" in json.dumps(listed)
    assert "coder" in shown
    assert "is being worked on by" in edit.stderr
    assert "is being worked on by" in remove.stderr


def test_a_killed_work_can_be_resumed_by_name(tasks: TaskProject) -> None:
    tasks.role("coder", f'{WAIT}echo x > "$RALPH_TASK_ID.txt"')
    tasks.tasks({"id": "A"}, {"id": "B"})
    with running(tasks.project, "A", command="work") as process:
        begun(tasks)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    wait_for(lambda: not alive(tasks.programs / "pid"), "the agent is gone")
    go(tasks)
    ((whole,),) = tasks.project.rows("SELECT id FROM runs WHERE json_extract(options, '$.task') IS NULL")

    tasks.project.ralph("resume", whole, check=0)

    assert tasks.shown("A")["status"] == "done"
    assert tasks.shown("B")["status"] == "open"  # only what was asked for


def test_the_work_of_a_killed_ralph_is_ended_by_its_watcher(tasks: TaskProject) -> None:
    tasks.role("coder", f"setsid sh -c 'echo $$ > \"{tasks.programs}/far\"; sleep 600' &\n{WAIT}")
    tasks.task()
    far = tasks.programs / "far"
    with running(tasks.project, command="work") as process:
        begun(tasks)
        wait_for(lambda: far.exists() and far.read_text().endswith("\n"), "it has a child")
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    for pid in (far, tasks.programs / "pid"):
        wait_for(lambda pid=pid: not alive(Path(pid)), "it is gone")  # type: ignore[misc]


def test_the_budget_of_all_tasks_survives_kills(tasks: TaskProject) -> None:
    """$2 a session, $5 for all: a kill in the second and in the third gives none of it back."""
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "", "total_cost_usd": 2}
    tasks.project.program(
        "claude",
        f"here='{tasks.programs}'\n"
        'cat > /dev/null; echo "$RALPH_TASK_ID $RALPH_ROLE" >> "$here/launches"\n'
        'number=$(grep -c . "$here/launches")\necho "$number" > work.txt\n'
        f'if [ "$number" = 2 ] || [ "$number" = 3 ]; then rm -f "$here/waits"; {WAIT}fi\n'
        f"echo '{json.dumps(result)}'\n",
    )
    tasks.project.settings(agent={"command": "claude"}, profiles={"verified": {"stages": ["coder"]}})
    tasks.verified("false")
    for arguments in (("work", "--max-cost", "5"), ("resume",)):
        with running(tasks.project, *arguments[1:], command=arguments[0]) as process:
            begun(tasks)
            process.send_signal(signal.SIGKILL)
            assert process.wait(timeout=60) == -signal.SIGKILL
        (tasks.programs / "waits").unlink()
    go(tasks)

    said = tasks.project.ralph("resume", check=1).stderr

    assert "budget reached: $6.00 of $5.00" in said
    assert len(tasks.launches()) == 5  # two of them were killed before they cost anything


def test_a_session_that_was_killed_counts_for_the_whole_as_far_as_it_said(tasks: TaskProject) -> None:
    usage = {"input_tokens": 900, "output_tokens": 100}
    message = {
        "id": "m",
        "role": "assistant",
        "model": "m",
        "usage": usage,
        "content": [{"type": "text", "text": "w"}],
    }
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "", "usage": usage}
    tasks.project.program(
        "claude",
        f"here='{tasks.programs}'\n"
        'cat > /dev/null; echo "$RALPH_TASK_ID $RALPH_ROLE" >> "$here/launches"\n'
        f"echo '{json.dumps({'type': 'assistant', 'message': message})}'\n{WAIT}"
        f"echo '{json.dumps(result)}'\n",
    )
    tasks.project.settings(agent={"command": "claude"}, profiles={"verified": {"stages": ["coder"]}})
    tasks.verified("false")
    heard = "SELECT count(*) FROM events WHERE kind = 'agent_acted'"
    with running(tasks.project, "--max-tokens", "2000", command="work") as process:
        begun(tasks)
        wait_for(lambda: tasks.project.rows(heard) != [(0,)], "its usage is on record")
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=60) == -signal.SIGKILL
    go(tasks)

    said = tasks.project.ralph("resume", check=1).stderr

    assert "budget reached: 2000 of 2000 tokens" in said
    assert len(tasks.launches()) == 2
