"""Looking at runs from another terminal, while they are under way and after."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pexpect
import pytest

from .conftest import DONE, PROMPT, Project, copy_of, make_once
from .running import kinds, running, wait_for

WAIT_FOR_GO = "touch started; while [ ! -f go ]; do sleep 0.05; done"
EVIL = "\x1b]0;title\x07\x1b[2Jwiped\r over \u202e"
GUARDRAIL = "test -f second || { touch second; echo first time; false; }"


def run_twice(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"name": "tests", "command": GUARDRAIL}])
    project.agent(
        [{"run": "true"}, {"say": f"I looked around {EVIL}"}, {"say": DONE}], [{"say": f"All good. {DONE}"}]
    )
    ran = project.ralph("run", "-p", PROMPT, "--json", check=0)
    (project.root / "live.json").write_text(ran.stdout)


@pytest.fixture(scope="module")
def done_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory.mktemp("done"), run_twice)


@pytest.fixture
def done(done_once: Path, tmp_path: Path) -> Project:
    """A run of two iterations that is over."""
    return copy_of(done_once, tmp_path)


@pytest.fixture
def busy(project: Project) -> Project:
    """An agent that works until told to go on, then is done."""
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "first words"}, {"run": WAIT_FOR_GO}, {"say": DONE}])
    return project


def status(project: Project) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads(project.ralph("status", "--json", check=0).stdout)["runs"]
    return runs


def run_id(project: Project) -> str:
    return str(project.rows("SELECT id FROM runs ORDER BY started_at DESC")[0][0])


def harmless(text: str) -> bool:
    return "\x1b" not in text and "\u202e" not in text and "\x07" not in text


# --- status ---


def test_status_where_nothing_ran_says_so_and_makes_nothing(project: Project) -> None:
    assert project.ralph("status", check=0).stdout == "no runs here yet\n"
    assert "Start here:" in project.ralph(check=0).stdout
    assert json.loads(project.ralph("status", "--json", check=0).stdout) == {"runs": [], "count": 0}
    assert list(project.root.iterdir()) == []


def test_status_shows_how_a_run_ended(done: Project) -> None:
    head, line = done.ralph("status", check=0).stdout.splitlines()
    assert head.startswith("run ")
    for said in (
        run_id(done),
        "completed",
        "2/10",
        "$0.02",
        "passed: tests",
        "claude",
        "the agent said DONE",
    ):
        assert said in line
    (run,) = status(done)
    assert (run["state"], run["live"], run["iteration"]) == ("completed", False, 2)
    assert run["last_check"] == {"name": "tests", "verdict": "passed"}


def test_a_live_run_is_first_and_a_killed_one_is_interrupted(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        (run,) = status(busy)
        assert (run["state"], run["live"], run["iteration"]) == ("running", True, 1)
        process.kill()
        process.wait(timeout=60)
        (run,) = status(busy)
        assert (run["state"], run["live"]) == ("interrupted", False)
        assert "its process ended unexpectedly" in busy.ralph("status", check=0).stdout


def test_a_run_that_waits_for_a_limit_says_until_when(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    soon = 4_000_000_000
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": soon}}
    result = {"type": "result", "subtype": "success", "is_error": True, "result": "limit"}
    project.agent([{"print": json.dumps(limit)}, {"print": json.dumps(result)}, {"exit": 1}])
    database = project.root / ".ralph" / "ralph.db"
    with running(project, "-p", PROMPT):
        wait_for(lambda: database.exists() and "pause_began" in kinds(project), "the wait")
        (run,) = status(project)
        assert (run["state"], run["live"]) == ("waiting", True)
        assert run["waits_until"] > 0
        assert " left: " in project.ralph("status", check=0).stdout


def test_only_the_newest_runs_are_shown_unless_all_are_wanted(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=0)
    copy = """INSERT INTO runs (id, profile, agent, root, options, state, started_at, updated_at, outcome)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        SELECT 'old-' || i, profile, agent, root, options, state, i, i, 'failed' FROM runs, n"""
    write(project, copy)
    lines = project.ralph("status", check=0).stdout.splitlines()
    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "and 11 older; --all shows them"
    assert len(project.ralph("status", "--all", check=0).stdout.splitlines()) == 1 + 31


def test_watching_goes_on_until_ctrl_c(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        terminal = on_terminal(busy, "status", "--watch")
        terminal.expect("running")
        (busy.root / "go").touch()
        process.wait(timeout=90)
        terminal.expect("completed")
        terminal.sendintr()
        terminal.expect(pexpect.EOF)
        terminal.close()
    assert terminal.exitstatus == 0


def test_watching_into_a_pipe_tells_each_change_once(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        with running(busy, "--watch", "--json", command="status") as watcher:
            assert watcher.stdout is not None
            first = json.loads(watcher.stdout.readline())
            (busy.root / "go").touch()
            process.wait(timeout=90)
            states = [first["runs"][0]["state"]]
            while states[-1] == "running":
                states.append(json.loads(watcher.stdout.readline())["runs"][0]["state"])
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(timeout=60) == 0
    assert states[-1] == "completed"


# --- logs ---


def test_logs_as_json_are_what_the_run_printed_as_json(done: Project) -> None:
    logs = done.ralph("logs", "--json", check=0).stdout
    assert logs == (done.root / "live.json").read_text()


def test_logs_show_the_run_as_it_was_shown(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": GUARDRAIL}])
    project.agent([{"run": "echo hi"}, {"say": "words"}, {"say": DONE}], [{"say": DONE}])
    shown = subprocess.run(
        [sys.executable, "-m", "ralph", "run", "-p", PROMPT],
        cwd=project.root,
        env=project.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=50,
        check=True,
    ).stdout
    assert "Guardrail failed" in shown
    assert project.ralph("logs", check=0).stdout == shown


def test_logs_of_one_iteration_leave_out_the_others(done: Project) -> None:
    logs = done.ralph("logs", "last", "--iteration", "2", check=0).stdout
    assert "Iteration 2/10" in logs
    assert "Iteration 1/10" not in logs
    assert "I looked around" not in logs
    refused = done.ralph("logs", "--iteration", "7", check=2)
    assert "has no iteration 7" in refused.stderr
    assert done.ralph("logs", "--raw", "--iteration", "7", check=2).stdout == ""


def test_hostile_words_in_the_record_do_not_reach_the_terminal(done: Project) -> None:
    for arguments in (["logs"], ["show", "last"], ["status"]):
        assert harmless(done.ralph(*arguments, check=0).stdout), arguments
    write(done, "UPDATE runs SET reason = ?, agent = ?", EVIL, EVIL)
    for arguments in (["show", "last"], ["status"]):
        shown = done.ralph(*arguments, check=0).stdout
        assert "wiped" in shown
        assert harmless(shown)


def test_events_that_nobody_understands_are_skipped(done: Project) -> None:
    write(done, "UPDATE events SET data = ? WHERE kind = 'check_ended'", b'{"kind": "of_the_future"}')
    write(done, "UPDATE events SET data = ? WHERE kind = 'claims_sought'", b"\xff\x00 no json")
    logs = done.ralph("logs", check=0).stdout
    assert "Guardrail passed" not in logs
    assert "Completed" in logs
    done.ralph("show", "last", check=0)
    done.ralph("status", check=0)


def test_following_ends_with_the_run(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        with running(busy, "-f", command="logs") as follower:
            assert follower.stdout is not None
            while "first words" not in follower.stdout.readline():
                assert follower.poll() is None
            (busy.root / "go").touch()
            out, err = follower.communicate(timeout=90)
        process.wait(timeout=90)
    assert follower.returncode == 0
    assert "Completed" in out
    assert err == ""


def test_following_a_run_that_is_killed_ends_and_says_so(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        with running(busy, "-f", "--raw", command="logs") as follower:
            assert follower.stdout is not None
            while "first words" not in follower.stdout.readline():
                assert follower.poll() is None
            process.kill()
            process.wait(timeout=60)
            _, err = follower.communicate(timeout=90)
    assert follower.returncode == 0
    assert "was interrupted" in err


def test_raw_logs_are_the_agents_bytes_session_after_session(done: Project) -> None:
    folder = done.root / ".ralph" / "runs" / run_id(done)
    (folder / "agent_010.ndjson").write_bytes(b"\xff\x00raw\n" + b"x" * 3_000_000)
    whole = b"".join((folder / f"agent_{number:03}.ndjson").read_bytes() for number in (1, 2, 10))
    printed = subprocess.run(
        [sys.executable, "-m", "ralph", "logs", "--raw"],
        cwd=done.root,
        env=done.env(),
        capture_output=True,
        timeout=50,
        check=True,
    ).stdout
    assert printed == whole


def test_raw_logs_on_a_terminal_are_made_harmless(done: Project) -> None:
    log = done.root / ".ralph" / "runs" / run_id(done) / "agent_001.ndjson"
    log.write_bytes(b"before \x1b]0;title\x07 after\n")
    terminal = on_terminal(done, "logs", "--raw", "--iteration", "1")
    terminal.expect(pexpect.EOF)
    shown = terminal.before or ""
    terminal.close()
    assert "before  after" in shown
    assert harmless(shown)


def test_raw_logs_that_are_gone_are_a_clear_error(done: Project) -> None:
    for file in (done.root / ".ralph" / "runs" / run_id(done)).glob("agent_*"):
        file.unlink()
    assert "has no logs" in done.ralph("logs", "--raw", check=2).stderr


def test_a_reader_that_goes_away_ends_the_logs_quietly(done: Project) -> None:
    for arguments in ("logs", "logs --json", "logs --raw", "show last", "status"):
        ran = subprocess.run(
            f"{sys.executable} -m ralph {arguments} | head -c 1",
            shell=True,
            cwd=done.root,
            env=done.env(),
            capture_output=True,
            text=True,
            timeout=50,
            check=True,
        )
        assert ran.stderr == "", arguments


def test_wrong_settings_do_not_hide_what_happened(done: Project) -> None:
    done.settings(nonsense=1, agent=7)
    assert "Completed" in done.ralph("logs", check=0).stdout


# --- show ---


def test_show_tells_each_iteration_from_prompt_to_decision(done: Project) -> None:
    shown = done.ralph("show", run_id(done)[-4:], check=0).stdout
    folder = done.root / ".ralph" / "runs" / run_id(done)
    for said in (
        "Iteration 1",
        "Do the work, then output",
        "prompt_001.txt",
        "agent: Bash 1",
        "check failed: tests (exit 1",
        f"log: {folder}",
        "decision: not done yet: the agent said DONE, but still failing: tests",
        "Iteration 2",
        "first time",
        "All good.",
        "check passed: tests (exit 0",
        "claimed: done: tag response",
        "decision: accepted:",
    ):
        assert said in shown, said
    assert "Iteration 1" not in done.ralph("show", "last", "--iteration", "2", check=0).stdout
    assert "has no iteration 5" in done.ralph("show", "last", "--iteration", "5", check=2).stderr


def test_without_a_name_the_newest_run_is_shown(done: Project) -> None:
    assert f"run {run_id(done)}" in done.ralph("show", check=0).stdout
    assert json.loads(done.ralph("show", "--receipt", check=0).stdout)["run"] == run_id(done)


def test_show_as_json(done: Project) -> None:
    record = json.loads(done.ralph("show", "last", "--json", check=0).stdout)
    assert record["run"]["id"] == run_id(done)
    first, second = record["iterations"]
    assert " ".join(first) == (
        "iteration attempt started_at assignment role prompt prompt_chars prompt_file command tools tool_errors"
        " tool_error_count last_words agent version ending exit_code fault checks claims actions decision reason claimed proven"
        " spend seconds"
    )
    assert first["tools"] == {"Bash": 1}
    assert {check["name"]: check["verdict"] for check in first["checks"]} == {
        "tests": "failed",
        "protection": "passed",
    }
    assert (second["decision"], second["claimed"], second["proven"]) == ("accept", True, True)


def test_an_iteration_under_way_is_told_as_such(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        assert "  under way" in busy.ralph("show", "last", check=0).stdout
        process.kill()
        process.wait(timeout=60)
        assert "interrupted: it was never judged" in busy.ralph("show", "last", check=0).stdout
        assert "it is written when the run ends" in busy.ralph("show", "--receipt", check=2).stderr


def test_the_receipt_is_printed_or_said_to_be_missing(done: Project) -> None:
    receipt = done.root / ".ralph" / "runs" / run_id(done) / "receipt.json"
    receipt.write_text(json.dumps({"run": run_id(done), "evil": EVIL}))
    printed = done.ralph("show", "last", "--receipt", check=0).stdout
    assert json.loads(printed)["evil"] == EVIL
    assert harmless(printed)
    receipt.write_text('{"run": ')
    assert "cannot read" in done.ralph("show", "last", "--receipt", check=4).stderr
    receipt.unlink()
    assert "has no receipt" in done.ralph("show", "last", "--receipt", check=2).stderr


# --- runs ---


def test_pruning_shows_what_would_go_and_removes_nothing_without_leave(done: Project) -> None:
    folder = done.root / ".ralph" / "runs" / run_id(done)
    assert run_id(done) in done.ralph("runs", check=0).stdout
    refused = done.ralph("runs", "prune", "--keep", "0", check=2)
    assert f"{run_id(done)}  completed" in refused.stdout
    assert "to remove: 1 run, " in refused.stdout
    assert "--yes" in refused.stderr
    assert folder.is_dir()
    assert done.ralph("runs", "prune", check=0).stdout == "nothing to remove\n"
    assert done.ralph("runs", "prune", "--older-than", "1", check=0).stdout == "nothing to remove\n"

    assert "removed 1 run" in done.ralph("runs", "prune", "--keep", "0", "--yes", check=0).stdout
    assert not folder.exists()
    assert done.rows("SELECT count(*) FROM runs") == [(0,)]
    assert done.rows("SELECT count(*) FROM events") == [(0,)]
    assert done.ralph("runs", check=0).stdout == "no runs here yet\n"


def test_old_runs_go_by_age(done: Project) -> None:
    write(done, "UPDATE runs SET started_at = 1, updated_at = 1")
    write(done, "UPDATE events SET at = 1")
    assert "removed 1 run" in done.ralph("runs", "prune", "--older-than", "30", "-y", check=0).stdout


def test_on_a_terminal_one_is_asked(done: Project) -> None:
    for answer, left in (("n", 1), ("y", 0)):
        terminal = on_terminal(done, "runs", "rm", "last")
        terminal.expect("Remove them")
        terminal.sendline(answer)
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert done.rows("SELECT count(*) FROM runs") == [(left,)]


def test_a_live_run_is_never_removed(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        refused = busy.ralph("runs", "rm", "last", "--yes", check=2)
        assert f"still running: {run_id(busy)}" in refused.stderr
        kept = busy.ralph("runs", "prune", "--keep", "0", "--yes", check=0)
        assert kept.stdout == "nothing to remove\n"
        (busy.root / "go").touch()
        assert process.wait(timeout=90) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove anything")
def test_a_folder_that_cannot_be_removed_is_reported(done: Project) -> None:
    folder = done.root / ".ralph" / "runs" / run_id(done)
    folder.chmod(0o500)
    try:
        refused = done.ralph("runs", "rm", "last", "--yes", check=4)
    finally:
        folder.chmod(0o700)
    assert "cannot remove" in refused.stderr
    assert done.rows("SELECT count(*) FROM runs") == [(1,)]


# --- bad input ---

NEED_A_RUN = [["logs"], ["logs", "x"], ["show", "last"], ["runs", "rm", "x"], ["runs", "prune"]]


@pytest.mark.parametrize("arguments", NEED_A_RUN, ids=" ".join)
def test_where_nothing_ran_there_is_nothing_to_look_at(project: Project, arguments: list[str]) -> None:
    refused = project.ralph(*arguments, check=2)
    assert "no runs here yet" in refused.stderr
    assert list(project.root.iterdir()) == []


@pytest.mark.parametrize("arguments", [["status"], *NEED_A_RUN], ids=" ".join)
def test_a_damaged_record_is_reported_and_left_alone(done: Project, arguments: list[str]) -> None:
    path = done.root / ".ralph" / "ralph.db"
    for name in ("-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    refused = done.ralph(*arguments, check=4)
    assert "is damaged" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert path.read_bytes().startswith(b"not a database")


def test_a_truncated_record_is_reported(done: Project) -> None:
    path = done.root / ".ralph" / "ralph.db"
    path.write_bytes(path.read_bytes()[:5000])
    for arguments in (["status"], ["logs"], ["show", "last"]):
        refused = done.ralph(*arguments, check=4)
        assert "is damaged" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_an_unknown_or_ambiguous_run_is_answered_with_the_candidates(done: Project) -> None:
    second = done.ralph("run", "-p", PROMPT, "--json", check=0)
    assert second.returncode == 0
    for command in (["logs"], ["show"], ["runs", "rm", "--yes"]):
        unknown = done.ralph(*command, "nope", check=2).stderr
        assert "no run 'nope'" in unknown
        assert run_id(done) in unknown
        ambiguous = done.ralph(*command, "2", check=2).stderr
        assert "may mean 2 runs" in ambiguous
        assert run_id(done) in ambiguous
    assert done.rows("SELECT count(*) FROM runs") == [(2,)]


def test_raw_and_json_exclude_each_other(done: Project) -> None:
    assert "exclude" in done.ralph("logs", "--raw", "--json", check=2).stderr


def on_terminal(project: Project, *arguments: str) -> pexpect.spawn[str]:
    return pexpect.spawn(
        sys.executable,
        ["-m", "ralph", *arguments],
        cwd=str(project.root),
        env={**project.env(), "TERM": "xterm"},
        encoding="utf-8",
        timeout=90,
        dimensions=(40, 200),
    )


def write(project: Project, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(project.root / ".ralph" / "ralph.db", timeout=60)) as database:
        database.execute(statement, values)
        database.commit()
