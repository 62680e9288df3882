"""No wait is a sleep: DONE, a stop and the limits are noticed in every session and every wait, and no time is lost."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project
from .running import alive, ended, kinds, running, wait_for
from .task_project import TaskProject
from .test_plan_run import APPROVED, COMMIT, NEEDED, RUN, PlanRun

NEVER = 3600
SILENT = "echo $$ > pid; echo half > work.txt; exec sleep 3600\n"


def task(project: Project, name: str = "t") -> Path:
    return project.root / ".ralph" / "tasks" / name


def endings(project: Project) -> list[str]:
    rows = project.rows("SELECT data FROM events WHERE kind = 'agent_ended' ORDER BY seq")
    return [json.loads(data)["ending"] for (data,) in rows]


# --- --max-time ---


@pytest.mark.parametrize("kind", ["run", "promise", "supervise"])
def test_max_time_ends_a_session_that_says_nothing_and_keeps_its_work(project: Project, kind: str) -> None:
    agent = project.program("silent", SILENT)
    project.settings(agent={"command": str(agent)})
    arguments = {
        "run": ("run", "-p", PROMPT),
        "promise": ("run", "--profile", "promise", "-p", PROMPT),
        "supervise": ("supervise", "--no-sandbox", "--task", "t", "--", str(agent)),
    }[kind]
    ran = project.ralph(arguments[0], "--max-time", "6", *arguments[1:])
    assert ran.returncode == 1, ran.stderr
    assert "time is over" in ran.stderr
    assert endings(project) == ["limited"]
    assert (project.root / "work.txt").read_text() == "half\n"
    assert not alive(project.root / "pid")


def test_a_run_that_its_time_ended_is_resumed_with_more(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"sleep": NEVER}], [{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "--max-time", "6", check=1)
    project.ralph("resume", "--max-time", "1000", check=0)
    assert project.rows("SELECT outcome FROM runs") == [("completed",)]


def test_max_time_ends_a_check_whose_session_is_judged_later(project: Project) -> None:
    """It was no proof, and no failure either: only the judging is repeated."""
    slow = "test -f fast || exec sleep 3600"
    project.settings(agent={"command": "claude"}, guardrails=[{"command": slow}])
    project.agent([{"say": DONE}], [{"exit": 9}])
    ran = project.ralph("run", "-p", PROMPT, "--max-time", "8", check=1)
    assert "time is over" in ran.stderr
    (project.root / "fast").touch()
    project.ralph("resume", "--max-time", "1000", check=0)
    assert kinds(project).count("agent_started") == 1


def test_a_canary_that_max_time_cuts_off_was_not_seen(project: Project) -> None:
    """The command names no tests, so that all that counts is that it fails: and being cut off is no failure."""
    slow = "test -f slow && test $(ls tests/*.py | wc -l) -gt 2 && exec sleep 3600"
    quiet = f"{sys.executable} -m unittest discover -s tests -t . > /dev/null 2>&1"
    guardrail = {"command": f"{slow}; {quiet}", "allowEmpty": True}
    project.settings(agent={"command": "claude"}, guardrails=[guardrail])
    (project.root / "tests").mkdir()
    (project.root / "tests" / "__init__.py").touch()
    test = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
    (project.root / "tests" / "test_a.py").write_text(test)
    project.agent([{"run": "touch slow"}, {"say": DONE}], [{"exit": 9}])
    ran = project.ralph("run", "-p", PROMPT, "--max-time", "15", check=1)
    assert "time is over" in ran.stderr
    assert "Check passed: clean checkout" in ran.stderr


def test_max_time_leaves_an_approval_that_nobody_could_prove_as_it_is(project: Project) -> None:
    plan = PlanRun(project)
    plan.write(verifyCommands=["test ! -f ralph/built || test -f .ralph/fast || exec sleep 3600"])
    plan.plays(f"touch ralph/built; {plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")
    said = project.ralph(*RUN, "--max-time", "10", check=1).stderr
    assert "time is over" in said
    assert "refused" not in said
    assert plan.story["reviewStatus"] != "changes_requested"


@pytest.mark.parametrize(("where", "status"), [("session", "open"), ("check", "open"), ("merge", "accepted")])
def test_max_time_ends_every_part_of_a_task_and_leaves_it_as_it_is(
    project: Project, where: str, status: str
) -> None:
    tasks = TaskProject(project)
    if where == "session":
        tasks.role("coder", "sleep 3600")
        tasks.verified("true")
    elif where == "check":
        tasks.verified("exec sleep 3600")
    else:
        tasks.verified("case $PWD in *_integration*) exec sleep 3600 ;; esac")
    said = tasks.work("--max-time", "10", check=1)
    assert "time is over" in said
    assert tasks.shown()["status"] == status


def test_max_time_ends_a_paused_run(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"run": "touch started; while [ ! -f go ]; do sleep 0.05; done"}, {"say": "not yet"}])
    with running(project, "-p", PROMPT, "--max-time", "8") as process:
        wait_for((project.root / "started").exists, "the agent's start")
        project.ralph("pause", check=0)
        wait_for(lambda: "run_paused" in kinds(project), "the pause")
        (project.root / "go").touch()
        code, err = ended(process)
    assert code == 1
    assert "time is over" in err


# --- DONE ---


@pytest.mark.parametrize("wait", ["delay", "limit"])
def test_done_ends_every_wait_of_supervise(project: Project, wait: str) -> None:
    limit = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": time.time() + 50_000},
    }
    result = {"type": "result", "subtype": "success", "is_error": True, "result": "limit"}
    project.settings(agent={"command": "claude"})
    session = [{"print": json.dumps(limit)}, {"print": json.dumps(result)}] if wait == "limit" else []
    project.agent([*session, {"exit": 1}])
    arguments = ("--no-sandbox", "--task", "t", "--restart-delay", str(NEVER), "-p", "Write DONE.")
    with running(project, *arguments, command="supervise") as process:
        wait_for(lambda: "pause_began" in kinds(project), "the wait")
        (task(project) / "DONE").touch()
        code, _ = ended(process)
    assert code == 0


def test_a_reason_to_wait_that_comes_in_a_delay_ends_it(project: Project) -> None:
    agent = project.program("agent", "exit 1\n")
    arguments = ("--no-sandbox", "--task", "t", "--restart-delay", str(NEVER), "--", str(agent))
    with running(project, *arguments, command="supervise") as process:
        wait_for(lambda: "pause_began" in kinds(project), "the delay")
        (task(project) / "WAIT_WITHOUT_RESTART").touch()
        code, _ = ended(process)
    assert code == 5


def test_without_a_restart_left_nothing_is_waited_for(project: Project) -> None:
    agent = project.program("agent", "exit 1\n")
    arguments = ("--no-sandbox", "--task", "t", "--max-restarts", "1", "--restart-delay", str(NEVER))
    ran = project.ralph("supervise", *arguments, "--", str(agent), check=1)
    assert "no restart is left" in ran.stderr
    assert "pause_began" not in kinds(project)


def test_a_command_that_goes_silent_is_ended_if_the_user_says_so(project: Project) -> None:
    agent = project.program("agent", SILENT)
    project.settings(agent={"idleTimeout": 1})
    arguments = ("--no-sandbox", "--task", "t", "--max-restarts", "1", "--restart-delay", "0")
    project.ralph("supervise", *arguments, "--", str(agent), check=1)
    assert endings(project) == ["idle"]


# --- kills ---


def killed_while_silent(project: Project, *arguments: str, command: str, seconds: float) -> None:
    with running(project, *arguments, command=command) as process:
        wait_for((project.root / "pid").exists, "the agent")
        elapsed = [path / "elapsed" for path in (project.root / ".ralph" / "runs").iterdir()]
        wait_for(lambda: any(file.exists() and float(file.read_text()) > seconds for file in elapsed), "time")
        process.kill()
        process.wait()
    wait_for(lambda: not alive(project.root / "pid"), "the end of the agent")


def test_the_time_of_a_silent_session_counts_though_ralph_was_killed(project: Project) -> None:
    project.settings(agent={"command": str(project.program("silent", SILENT))})
    killed_while_silent(project, "-p", PROMPT, command="run", seconds=2.0)
    ran = project.ralph("resume", "--max-time", "2", check=1)
    assert "time is over" in ran.stderr
    assert endings(project) == []  # there was no time for another session


def test_a_launch_that_was_killed_with_ralph_counts_as_one(project: Project) -> None:
    agent = project.program("silent", SILENT)
    arguments = ("--no-sandbox", "--task", "t", "--max-restarts", "1", "--", str(agent))
    killed_while_silent(project, *arguments, command="supervise", seconds=0.0)
    ran = project.ralph("resume", check=1)
    assert "max restarts exceeded (1)" in ran.stderr
    assert kinds(project).count("iteration_started") == 1


# --- what is left behind ---


def test_nothing_that_the_agent_left_runs_during_the_checks(project: Project) -> None:
    """Not even what is named like a ralph: it could change what is being judged."""
    start = "setsid {} >/dev/null 2>&1 & while [ ! -s {} ]; do sleep 0.01; done"
    (project.root / "ralph").write_text(
        "import os, time\nopen('named', 'w').write(str(os.getpid()))\ntime.sleep(3600)\n"
    )
    project.settings(
        agent={"command": "claude"},
        guardrails=[{"command": "! kill -0 $(cat cleared) && ! kill -0 $(cat named)"}],
    )
    cleared = start.format("env -i sh -c 'echo $$ > cleared; exec sleep 3600'", "cleared")
    project.agent([{"run": cleared}, {"run": start.format("python3 ralph run", "named")}, {"say": DONE}])
    project.ralph("run", "-p", PROMPT, "-m", "1", check=0)


def test_nothing_that_a_task_left_runs_during_its_verification_beside_another_task(project: Project) -> None:
    tasks = TaskProject(project)
    go = tasks.programs / "go"
    daemon = "setsid env -i sh -c 'echo $$ > cleared; exec sleep 3600' >/dev/null 2>&1 &"
    until = "while [ ! -{} {} ]; do sleep 0.02; done"
    tasks.role(
        "coder",
        f"""case $RALPH_TASK_ID in
            A) {daemon} {until.format("s", "cleared")} ;;
            B) echo b > b; {until.format("e", go)} ;;
        esac""",
    )
    # B is under way until A's verification has begun: then only A's keeper knows whose the daemon is.
    tasks.verified(f"touch '{go}'; ! kill -0 $(cat cleared)", "A")
    tasks.verified("true", "B")
    try:
        tasks.work("--max-parallel", "2", check=0)
    finally:
        go.touch()


# --- our own git ---


def test_a_git_that_waits_for_a_pipe_does_not_outlast_a_stop(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[])
    project.git("init", "-q")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    trap = "mkfifo .git/trap; git config include.path trap; touch trapped"
    project.agent([{"run": trap}, {"say": "not yet"}])
    with running(project, "-p", PROMPT, "-m", "3") as process:
        wait_for(lambda: "agent_ended" in kinds(project), "the end of the session")
        began = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        code, _ = ended(process)
    assert code == 130
    assert time.monotonic() - began < 60  # not the 300 s that git has otherwise
