"""Any process may be killed at any instant; the next command sees the truth and goes on from it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from hashlib import sha256

import pytest

from .conftest import DONE, PROMPT, Project
from .running import ended, running, wait_for


def interrupt(project: Project, *arguments: str, when: str = "started", command: str = "run") -> None:
    """Start, wait for a file, and kill ralph the hard way."""
    with running(project, *arguments, command=command) as process:
        wait_for((project.root / when).exists, f"{when} to appear")
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)


def test_a_killed_run_goes_on_where_it_was(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "test -f made"}])
    project.agent(
        [{"say": DONE}],
        [{"touch": "started"}, {"sleep": 60}],
        [{"touch": "made"}, {"say": DONE}],
    )
    interrupt(project, "-p", PROMPT, "-m", "3")

    noted = project.ralph("run", "-p", "other", "--dry-run", check=0)
    ran = project.ralph("resume", check=0)

    assert "interrupted" not in noted.stdout
    prompt = (next((project.root / ".ralph" / "runs").iterdir()) / "prompt_002_attempt2.txt").read_text()
    assert 'Guardrail "test -f made" failed' in prompt, "the feedback of the first iteration survived"
    assert "was interrupted before it ended" in prompt
    assert "Completed" in ran.stderr
    assert project.rows("SELECT iteration, attempt, decision FROM iterations") == [
        (1, 1, "continue"),
        (2, 1, None),
        (2, 2, "accept"),
    ]
    ((state,),) = project.rows("SELECT state FROM runs")
    assert json.loads(state)["iteration"] == 2


def test_run_beside_an_interrupted_one_says_so_and_starts(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}], [{"say": DONE}])
    interrupt(project, "-p", PROMPT)
    ran = project.ralph("run", "-p", PROMPT, check=0)
    ((first,), _) = project.rows("SELECT id FROM runs ORDER BY started_at")
    assert f"run {first} was interrupted; `ralph resume {first}` resumes it, this is a new one" in ran.stderr


def test_limits_survive_and_can_be_extended(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "no"}], [{"say": "no"}], [{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "-m", "2", check=1)
    refused = project.ralph("resume", check=2).stderr
    assert "no interrupted run" in refused
    assert "`ralph resume -m N`" in refused
    assert "no interrupted run" in project.ralph("resume", "--no-wait", check=2).stderr, "that is no limit"
    ran = project.ralph("resume", "-m", "3", check=0)
    assert "maximumIterations was 2, is 3" in ran.stderr
    assert project.rows("SELECT outcome FROM runs") == [("completed",)]


def test_a_run_that_cost_too_much_can_be_given_more(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "no"}], [{"say": "no"}], [{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "--max-cost", "0.02", check=1)
    project.ralph("resume", "--max-cost", "1", check=0)


def test_a_limit_given_on_resume_stays_if_that_is_killed_too(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent(
        [{"say": "no"}],
        [{"touch": "started"}, {"sleep": 60}],
        [{"say": "no"}],
        [{"say": "no"}],
        [{"say": DONE}],
    )
    project.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    interrupt(project, "-m", "3", command="resume")
    assert "maximum iterations reached (3)" in project.ralph("resume", check=1).stderr
    project.ralph("resume", "-m", "4", check=0)
    (request,) = (project.root / ".ralph" / "runs").glob("*/request.json")
    assert json.loads(request.read_text())["flags"] == [
        [["maximumIterations"], 4, "--max-iterations"],
    ], "one limit, the newest"


def test_a_run_that_was_cut_off_in_another_worktree_is_not_offered_here(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    other = project.root.parent / "other"
    project.git("worktree", "add", "-q", str(other))
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}], [{"say": DONE}])
    interrupt(project, "-p", PROMPT)
    assert "was interrupted" not in project.ralph("run", "-p", PROMPT, check=0, cwd=other).stderr
    assert "no interrupted run here" in project.ralph("resume", check=2, cwd=other).stderr
    project.ralph("resume", check=0)


def test_a_run_whose_working_tree_is_gone_is_not_resumed(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    other = project.root.parent / "other"
    project.git("worktree", "add", "-q", str(other))
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "no"}])
    project.ralph("run", "-p", PROMPT, "-m", "1", check=1, cwd=other)
    project.git("worktree", "remove", "--force", str(other))
    assert f"no longer exists: {other}" in project.ralph("resume", "last", "-m", "2", check=2).stderr
    assert project.rows("SELECT outcome FROM runs") == [("exhausted",)]


def test_after_stop_now_the_next_session_is_told(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}], [{"say": DONE}])
    with running(project, "-p", PROMPT) as process:
        wait_for((project.root / "started").exists, "the start")
        project.ralph("stop", "--now", check=0)
        assert ended(process)[0] == 130
    project.ralph("resume", "last", check=0)
    assert "was interrupted before it ended" in project.prompt(1)


def test_settings_are_read_anew_and_what_differs_is_told(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}], [{"say": "<response>SHIPPED</response>"}])
    interrupt(project, "-p", PROMPT, "-c", "SHIPPED")
    project.settings(agent={"command": "claude"}, outputTruncateChars=77, guardrails=[{"command": "true"}])
    ran = project.ralph("resume", check=0)
    assert "outputTruncateChars was 5000, is 77" in ran.stderr
    assert "guardrails was not set, is true" in ran.stderr


def test_what_changed_of_the_proof_around_a_kill_is_told_and_denied_until_it_is_taken_as_found(
    project: Project,
) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "sh check.sh"}])
    (project.root / "check.sh").write_text("test -f made")
    project.agent([{"say": "looking"}], [{"touch": "started"}, {"sleep": 60}])
    interrupt(project, "-p", PROMPT)
    (project.root / "check.sh").write_text("true")
    project.agent([{"say": DONE}])
    told = project.ralph("resume", "-m", "2", check=1).stderr
    assert "cannot tell whether a session or you changed check.sh" in told
    project.agent([{"say": DONE}])
    told = project.ralph("resume", "-m", "3", "--as-found", check=0).stderr
    assert "check.sh taken as found" in told


def test_a_word_of_the_users_survives_a_kill(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}], [{"touch": "again"}, {"sleep": 60}], [{"say": DONE}])
    with running(project, "-p", PROMPT) as process:
        wait_for((project.root / "started").exists, "the start")
        project.ralph("steer", "Use tabs.", check=0)
        os.kill(process.pid, signal.SIGKILL)
    interrupt(project, when="again", command="resume")
    project.ralph("resume", check=0)
    assert "Use tabs." in project.prompt(1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nonsense", "there is no run 'nonsense'"),
        ("last", "nothing left to do"),
        ("--agent=codex", "change agent.command"),
    ],
)
def test_an_unknown_or_finished_run_is_not_resumed(project: Project, name: str, said: str) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=0)
    assert said in project.ralph("resume", name, check=2).stderr


def test_a_run_that_is_under_way_is_not_resumed(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"run": "while [ ! -f go ]; do sleep 0.05; done"}, {"say": DONE}])
    with running(project, "-p", PROMPT) as process:
        wait_for((project.root / "started").exists, "the start")
        said = project.ralph("resume", "last", check=2)
        (project.root / "go").touch()
        assert ended(process)[0] == 0
    assert "is under way" in said.stderr


def test_what_a_session_cost_survives_a_kill_while_it_is_judged(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        guardrails=[{"command": "touch judging; [ -f fast ] || sleep 60"}],
        limits={"maxCost": 0.02},
    )
    project.agent([{"say": "no"}])
    interrupt(project, "-p", PROMPT, when="judging")
    (project.root / "judging").unlink()
    interrupt(project, when="judging", command="resume")
    (project.root / "fast").touch()
    ran = project.ralph("resume", check=1)
    assert "budget reached: $0.02 of $0.02" in ran.stderr


def test_after_a_fatal_fault_one_is_told_how_to_try_again(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    broken = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "result": "no",
        "api_error_status": 401,
    }
    project.agent([{"print": json.dumps(broken)}, {"exit": 1}], [{"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=4)
    ((run_id,),) = project.rows("SELECT id FROM runs")
    assert f"`ralph resume {run_id}` tries it again" in project.ralph("resume", check=2).stderr
    project.ralph("resume", run_id, check=0)


def test_a_receipt_credits_an_iteration_with_its_own_checks_only(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        guardrails=[{"command": "echo fine"}, {"command": "touch judging; [ -f fast ] || sleep 60"}],
    )
    project.agent([{"say": DONE}])
    interrupt(project, "-p", PROMPT, when="judging")
    (project.root / "fast").touch()
    project.ralph("resume", check=0)

    receipt = json.loads(project.ralph("show", "--receipt", check=0).stdout)
    (iteration,) = receipt["iterations"]
    assert (iteration["iteration"], iteration["attempt"]) == (1, 2)
    assert [check["name"] for check in iteration["checks"]] == [
        "echo fine",
        "touch judging; [ -f fast ] || sleep 60",
        "protection",
        "tests review",
        "clean checkout",
        "old proof",
    ]
    log = project.root / iteration["checks"][0]["log_file"]
    assert log.parent == project.root / ".ralph" / "runs" / receipt["run"], "not a link, which moves on"
    assert iteration["checks"][0]["output_sha256"] == sha256(log.read_bytes()).hexdigest()
    assert (receipt["outcome"], iteration["decision"]) == ("completed", "accept")


def test_a_stop_that_the_dead_process_never_heard_is_not_for_the_next(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}], [{"say": DONE}])
    with running(project, "-p", PROMPT) as process:
        wait_for((project.root / "started").exists, "the start")
        os.kill(process.pid, signal.SIGSTOP)
        assert "has not answered yet" in project.ralph("stop", check=0).stderr
        os.kill(process.pid, signal.SIGKILL)
    project.ralph("resume", check=0)


@pytest.mark.parametrize(
    "damage", ["UPDATE runs SET state = 'x'", "UPDATE runs SET state = '{\"iteration\": -5}'"]
)
def test_a_damaged_state_is_told(project: Project, damage: str) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}])
    interrupt(project, "-p", PROMPT)
    with sqlite3.connect(project.root / ".ralph" / "ralph.db") as database:
        database.execute(damage)
    database.close()
    assert "state of the run" in project.ralph("resume", check=4).stderr


@pytest.mark.parametrize("content", ["", "{}", '{"version": 1, "prompt": 5}', "[" * 100_000])
def test_a_damaged_request_is_told(project: Project, content: str) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}])
    interrupt(project, "-p", PROMPT)
    (request,) = (project.root / ".ralph" / "runs").glob("*/request.json")
    request.write_text(content)
    ran = project.ralph("resume", check=4)
    assert "request.json" in ran.stderr
