"""What screens say about ``ralph work``: the task, its role, its verification, and how everything ended."""

from __future__ import annotations

import json
import signal

import pytest

from .conftest import Project
from .running import alive, running, wait_for
from .task_project import TaskProject

WAIT = 'echo $$ > "$here/pid"; touch "$here/waits"\nwhile [ ! -e "$here/go" ]; do sleep 0.05; done\n'


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    return TaskProject(project)


def killed(tasks: TaskProject) -> str:
    """A work that was killed in the first session; its run."""
    tasks.role("coder", f'{WAIT}echo x > "$RALPH_TASK_ID.txt"')
    tasks.verified("test -f T-1.txt")
    with running(tasks.project, command="work") as process:
        wait_for((tasks.programs / "waits").exists, "the session has begun", 100)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    wait_for(lambda: not alive(tasks.programs / "pid"), "the agent is gone")
    (tasks.programs / "go").touch()
    ((whole,),) = tasks.project.rows("SELECT id FROM runs WHERE parent_id = ''")
    return str(whole)


def test_status_names_the_task_its_role_and_the_last_verification(tasks: TaskProject) -> None:
    tasks.verified("test -f T-1.txt")
    tasks.work(check=0)

    shown = tasks.project.ralph("status", check=0).stdout
    (run,) = [
        one
        for one in json.loads(tasks.project.ralph("status", "--json", check=0).stdout)["runs"]
        if one["task"]
    ]

    assert "T-1 coder" in shown
    assert "passed: external" in shown
    assert (run["task"], run["role"]) == ("T-1", "coder")
    assert run["title"]
    assert run["title"] in shown


def test_afterwards_the_last_run_is_the_whole_and_a_task_names_its_own(tasks: TaskProject) -> None:
    tasks.verified("test -f T-1.txt")
    told = tasks.work(check=0)
    ((whole,),) = tasks.project.rows("SELECT id FROM runs WHERE parent_id = ''")
    ((part,),) = tasks.project.rows("SELECT id FROM runs WHERE parent_id <> ''")

    assert "[T-1] ✅ coder 1 of 15: accepted: the agent gave its promise and" in told
    assert "[T-1] ✅ done: merged as" in told
    assert "iterations of each task, unless it says otherwise: at most coder 15" in told
    logs = tasks.project.ralph("logs", check=0).stdout
    assert logs.startswith(f"ralph run {whole}\n")
    assert [line for line in told.splitlines() if line.startswith("[T-1] ")] == [
        line for line in logs.splitlines() if line.startswith("[T-1] ")
    ]
    data = json.loads(tasks.project.ralph("show", "--json", check=0).stdout)
    assert (data["run"]["id"], [one["run"]["id"] for one in data["tasks"]]) == (whole, [part])
    assert [one["decision"] for one in data["tasks"][0]["iterations"]] == ["accept"]
    assert tasks.project.ralph("logs", "t-1", check=0).stdout.startswith(f"ralph run {part}\n")

    assert "did you mean T-1?" in tasks.work("T-11", check=2)
    assert tasks.project.rows("SELECT count(*) FROM runs") == [(2,)]


def test_a_verification_is_not_called_a_guardrail(tasks: TaskProject) -> None:
    tasks.settings(others={"guardrails": [{"command": "true"}]})
    tasks.verified("test -f T-1.txt")

    told = tasks.work("--verbose", check=0)

    assert "Verification passed: external" in told
    assert "Guardrail passed: true" in told
    assert "Guardrail passed: external" not in told


def test_a_run_that_is_gone_on_with_belongs_to_the_work_that_does(tasks: TaskProject) -> None:
    before = killed(tasks)

    tasks.work(check=0)

    ((part, parent),) = tasks.project.rows("SELECT id, parent_id FROM runs WHERE parent_id <> ''")
    assert parent != before
    tree = tasks.project.ralph("status", "--tree", check=0).stdout.splitlines()
    (place,) = [number for number, line in enumerate(tree) if part in line]
    assert tree[place - 1].startswith(parent)


def test_a_resumed_work_ends_with_its_table(tasks: TaskProject) -> None:
    whole = killed(tasks)

    told = tasks.project.ralph("resume", whole, check=0).stderr

    (row,) = [line for line in told.splitlines() if line.startswith("T-1 ")]
    assert row.split()[1] == "done"


def test_a_verification_that_failed_is_told_with_its_reason(tasks: TaskProject) -> None:
    tasks.settings(stages=["coder", "tester"], maxRejections=1, roles={"tester": {"maxIterations": 2}})
    tasks.task(
        coder={"verification_method": "string_match"},
        tester={
            "verification_method": "external",
            "verification_config": {"command": "echo not yet; exit 3"},
        },
    )

    told = tasks.work(check=1)

    why = "external: Command exited with 3, expected 0"
    assert why in tasks.project.ralph("task", "show", "T-1", check=0).stdout
    assert f"tester: limit of 2 iterations reached; last: {why}" in tasks.prompt("coder", 2)
    assert f"tester: limit of 2 iterations reached; last: {why}" in told
    assert "still failing: external `echo not yet; exit 3` (Command exited with 3, expected 0)" in told
    assert "[T-1]   ⎿  not yet\n" in told

    logs = tasks.project.ralph("logs", "T-1", check=0).stdout
    assert logs.rstrip().endswith("To continue: `ralph task retry T-1`, then `ralph work`")
    assert f"its work so far: see `git -C {tasks.root / '.ralph' / 'worktrees' / 'T-1'} status`" in logs
    assert "stash" not in logs


def test_the_head_tells_what_the_agent_of_a_role_may_do(tasks: TaskProject) -> None:
    said = {
        "type": "item.completed",
        "item": {"type": "agent_message", "text": "<promise>REVIEW_PASSED</promise>"},
    }
    tasks.project.program("codex", f"cat > /dev/null\necho '{json.dumps(said)}'\n")
    tasks.settings(stages=["coder", "reviewer"], roles={"reviewer": {"agent": "codex"}})
    tasks.task(
        coder={"verification_method": "string_match"}, reviewer={"verification_method": "string_match"}
    )

    err = tasks.work(check=0)

    assert "reviewer: approvals and sandbox are off (--dangerously-bypass-approvals-and-sandbox)" in err
