"""Many tasks at a time: they share one watcher, and need more open files than a process usually may have."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Project
from .running import wait_for
from .task_project import TaskProject

MANY = 24
FEW_FILES = 150
"""Less than so many tasks need."""

# Each waits for all: none of them can end before as many are under way.
WAITS = """ulimit -Sn >> {programs}/limits
echo $$ > {programs}/up/$RALPH_TASK_ID
while [ ! -e {programs}/go ]; do sleep 0.05; done
echo made > "$RALPH_TASK_ID.txt"
"""
# The parent of an agent is its keeper, whose parent is the watcher.
KILLS = """if [ "$RALPH_TASK_ID" = T-1 ]; then
    while [ "$(ls {programs}/up | wc -l)" -lt 2 ]; do sleep 0.05; done
    keeper=$(sed -n 's/^PPid:\\t//p' /proc/$$/status)
    kill -9 "$(sed -n 's/^PPid:\\t//p' /proc/$keeper/status)"
fi
echo $$ > {programs}/up/$RALPH_TASK_ID
echo made > "$RALPH_TASK_ID.txt"
"""


@pytest.fixture
def crowd(project: Project) -> TaskProject:
    found = TaskProject(project)
    (found.programs / "up").mkdir()
    found.settings(roles={"coder": {"verification": "string_match"}})
    return found


def role(crowd: TaskProject, body: str) -> None:
    crowd.role("coder", body.replace("{programs}", shlex.quote(str(crowd.programs))))


def up(crowd: TaskProject) -> list[Path]:
    return [*(crowd.programs / "up").iterdir()]


def is_there(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def work(crowd: TaskProject, *, files: int) -> subprocess.Popen[str]:
    ralph = shlex.join([sys.executable, "-m", "ralph", "work", "-j", str(MANY)])
    return subprocess.Popen(
        ["/bin/sh", "-c", f"ulimit -Sn {files}; exec {ralph}"],
        cwd=crowd.root,
        env=crowd.project.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_more_tasks_at_a_time_than_the_usual_limit_of_files_allows(crowd: TaskProject) -> None:
    role(crowd, WAITS)
    crowd.tasks(*({"id": f"T-{number}"} for number in range(MANY)))

    process = work(crowd, files=FEW_FILES)
    try:
        wait_for(lambda: len(up(crowd)) == MANY or process.poll() is not None, "all to begin", 90)
        watchers = [pid for pid in _children_of(process.pid) if _is_watcher(pid)]
        (crowd.programs / "go").touch()
        said, _ = process.communicate(timeout=90)
    finally:
        process.kill()
        process.communicate()

    assert process.returncode == 0, said
    assert len(watchers) == 1, "one for all"
    limits = {*(crowd.programs / "limits").read_text().split()}
    assert limits == {str(FEW_FILES)}, "an agent gets what ralph was given"
    assert {path.name for path in crowd.root.glob("T-*.txt")} == {f"T-{number}.txt" for number in range(MANY)}


def _children_of(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _is_watcher(pid: int) -> bool:
    return b"watcher_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_kill_ends_the_agents_of_all_tasks(crowd: TaskProject) -> None:
    role(crowd, WAITS)
    crowd.tasks(*({"id": f"T-{number}"} for number in range(6)))

    process = work(crowd, files=FEW_FILES)
    try:
        wait_for(lambda: len(up(crowd)) == 6 or process.poll() is not None, "all to begin", 90)
        wait_for(lambda: all(path.read_text().strip() for path in up(crowd)), "their pids")
        agents = [int(path.read_text()) for path in up(crowd)]
        assert all(map(is_there, agents))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()

    wait_for(lambda: not any(map(is_there, agents)), "all agents to end")


def test_a_watcher_that_an_agent_kills_is_replaced_for_all(crowd: TaskProject) -> None:
    role(crowd, KILLS)
    crowd.tasks(*({"id": f"T-{number}"} for number in range(4)))
    crowd.settings(roles={"coder": {"verification": "string_match"}}, maxParallel=2)

    ran = crowd.project.ralph("work", check=0)

    assert {path.name for path in crowd.root.glob("T-*.txt")} == {f"T-{number}.txt" for number in range(4)}, (
        ran.stderr
    )
