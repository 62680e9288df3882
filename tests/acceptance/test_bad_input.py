"""Bad input gets one clear line, the documented exit code, and nothing is touched."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys
from typing import Any

import pytest

from ralph.adapters.storage.database import APPLICATION_ID

from .conftest import DONE, PROMPT, Project


def refused(project: Project, *arguments: str, code: int) -> str:
    ran = project.ralph(*arguments)
    assert ran.returncode == code, ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""
    return ran.stderr


@pytest.fixture
def ready(project: Project) -> Project:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    return project


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "a prompt is needed"),
        (["run", "Fix", "it"], "the prompt must be one argument, not 2"),
        (["run", "Fix it", "-p", "a"], "given twice: as 'Fix it' and with --prompt"),
        (["run", "Fix it", "-f", "b"], "given twice: as 'Fix it' and with --prompt-file"),
        (["run", ".ralph"], ".ralph is the name of a file, not a prompt"),
        (["run", "-p", "a", "-f", "b"], "only one of --prompt and --prompt-file"),
        (["run", "-p", "  "], "the prompt is empty"),
        (["run", "-f", "absent.md"], "prompt file not found"),
        (["run", "-f", "."], "prompt file is a directory"),
        (["run", "-f", "empty.md"], "prompt file is empty"),
        (["run", "-f", "latin1.md"], "not UTF-8"),
        (["run", "-p", "x", "-m", "0"], "--max-iterations"),
        (["run", "-p", "x", "-m", "-3"], "--maximum-iterations"),
        (["run", "-p", "x", "-m", "many"], "many"),
        (["run", "-p", "x", "-c", ""], "--completion-response"),
        (["run", "-p", "x", "--agent-timeout", "0"], "--agent-timeout"),
        (["run", "-p", "x", "--idle-timeout", "-1"], "--idle-timeout"),
        (["run", "-p", "x", "--guardrail-timeout", "soon"], "--guardrail-timeout"),
        (["run", "-p", "x", "--project-dir", "absent"], "--project-dir"),
        (["run", "-p", "x", "--profile", "imaginary"], "unknown profile 'imaginary'"),
        (
            ["run", "-p", "x", "-m", "3", "--profile", "promis"],
            "`ralph run` takes basic and promise; draft is",
        ),
        (["run", "-p", "x", "--profile", "reviewed"], "its command is `ralph plan run`"),
        (["run", "-p", "x", "--agent-flag", "'open"], "open"),
        (["run", "-p", "x", "--no-such-flag"], "--no-such-flag"),
        (["no-such-command"], "no-such-command"),
        (["log"], "No such command 'log'. Did you mean `logs`?"),
        (["help"], "No such command 'help'. Did you mean `--help`?"),
        (["Fix the tests"], "To give it as a prompt: ralph run 'Fix the tests'"),
        (["task", "lst"], "No such command 'lst'. Did you mean `list`?"),
        (["statu"], "Did you mean `status`?"),
        (["rn", "-p", "x"], "Did you mean `run`?"),
        (["Doctor"], "Did you mean `doctor`?"),
    ],
)
def test_wrong_flags_are_a_usage_error(ready: Project, arguments: list[str], said: str) -> None:
    (ready.root / "empty.md").write_text(" \n")
    (ready.root / "latin1.md").write_bytes(b"caf\xe9")
    assert said in refused(ready, *arguments, code=2)
    assert not (ready.root / ".ralph" / "ralph.db").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"agent": {"command": ""}}, "agent.command"),
        ({}, "agent.command"),
        ({"agent": {"command": "claude"}, "maximumIterations": "ten"}, "maximumIterations"),
        ({"agent": {"command": "claude"}, "maximumIterations": True}, "maximumIterations"),
        ({"agent": {"command": "claude"}, "guardrails": [{"command": ""}]}, "guardrails[0].command"),
        ({"agent": {"command": "claude"}, "guardrails": [{"command": "x", "failAction": "SHOUT"}]}, "SHOUT"),
        ({"agent": {"command": "claude", "adapter": "skynet"}}, "skynet"),
        ({"agent": ["claude"]}, "agent"),
        (
            {"agent": {"command": "claude"}, "scm": {"command": "git", "tasks": ["commit"]}},
            "not a git repository",
        ),
        ({"agent": {"command": "claude"}, "scm": {"command": "nogit", "tasks": ["commit"]}}, "nogit"),
    ],
)
def test_wrong_settings_name_the_key(ready: Project, settings: dict[str, Any], said: str) -> None:
    ready.settings(**settings)
    assert said in refused(ready, "run", "-p", "x", code=2)


def test_a_folder_of_nobodys_home_is_reported(ready: Project) -> None:
    (ready.root / "PROMPT.md").write_text("Do it, then say <response>DONE</response>.")
    ready.settings(agent={"command": "claude"}, sandbox={"kind": "auto", "writable": ["~no-such-user/x"]})
    ran = ready.ralph("run", "-f", "PROMPT.md", "-m", "1")
    assert "internal error" not in ran.stderr


def test_bad_json_names_file_line_and_column(ready: Project) -> None:
    (ready.root / ".ralph" / "settings.json").write_text('{\n  "agent": {"command": "claude",}\n}')
    said = refused(ready, "run", "-p", "x", code=2)
    assert ".ralph/settings.json" in said
    assert "line 2" in said


def test_an_unknown_key_is_a_warning_with_the_nearest_one(ready: Project) -> None:
    ready.settings(agent={"command": "claude"}, maximumIteration=3)
    ran = ready.ralph("run", "-p", PROMPT, check=0)
    assert "maximumIteration" in ran.stderr
    assert "maximumIterations" in ran.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-agent", "agent not found: no-such-agent"),
        ("codex", "npm install -g @openai/codex"),
        ("./folder", "is a directory"),
        ("./plain.txt", "is not executable"),
        ("./absent", "agent not found"),
    ],
)
def test_an_agent_that_cannot_run_is_exit_4_and_says_what_to_do(
    project: Project, command: str, said: str
) -> None:
    (project.root / "folder").mkdir()
    (project.root / "plain.txt").write_text("text")
    project.settings(agent={"command": command})
    ran = project.ralph("run", "-p", "x", PATH="/usr/bin:/bin")
    assert ran.returncode == 4, ran.stderr
    assert said in ran.stderr


def test_a_file_that_is_no_program_is_a_fatal_fault(project: Project) -> None:
    broken = project.programs / "broken"
    broken.write_bytes(b"\x7fELF but not really")
    broken.chmod(0o755)
    project.settings(agent={"command": "broken"})
    ran = project.ralph("run", "-p", "x")
    assert ran.returncode == 4
    assert "Traceback" not in ran.stderr


def test_a_prompt_file_that_vanishes_midway_ends_the_run_with_a_clear_word(ready: Project) -> None:
    (ready.root / "PROMPT.md").write_text("x")
    ready.agent([{"run": "rm PROMPT.md"}, {"say": "hm"}])
    ran = ready.ralph("run", "-f", "PROMPT.md")
    assert ran.returncode == 2
    assert "prompt file not found" in ran.stderr
    assert ready.rows("SELECT outcome FROM runs") == [("failed",)]


def test_a_state_folder_that_is_a_file_is_reported(project: Project) -> None:
    project.agent([{"say": DONE}])
    (project.root / ".ralph").write_text("mine")
    ran = project.ralph("run", "-p", "x", "--agent", "claude", "--project-dir", ".")
    assert ran.returncode in (2, 4)
    assert ".ralph" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert (project.root / ".ralph").read_text() == "mine"


def test_an_unwritable_place_is_exit_4(ready: Project) -> None:
    # Not even root can make a folder there.
    said = refused(ready, "run", "-p", PROMPT, "--agent", "claude", "--project-dir", "/sys", code=4)
    assert "cannot write /sys/.ralph" in said


def test_a_plan_that_cannot_be_written_is_exit_4(ready: Project) -> None:
    said = refused(ready, "plan", "new", "--project-dir", "/sys", code=4)
    assert "cannot write the plan in /sys/ralph" in said


def test_settings_that_cannot_be_written_are_exit_2(ready: Project) -> None:
    said = refused(ready, "init", "--yes", "--agent", "claude", "--project-dir", "/sys", code=2)
    assert "/sys/.ralph/settings.json cannot be written" in said


def test_a_database_that_cannot_be_opened_is_exit_4(ready: Project) -> None:
    (ready.root / ".ralph" / "ralph.db").mkdir()
    assert "ralph.db" in refused(ready, "run", "-p", PROMPT, code=4)


def test_a_damaged_database_is_reported_and_kept(ready: Project) -> None:
    database = ready.root / ".ralph" / "ralph.db"
    database.write_bytes(b"this is not a database " * 500)
    before = database.read_bytes()
    said = refused(ready, "run", "-p", PROMPT, code=4)
    assert "damaged" in said
    assert database.read_bytes() == before


def test_a_newer_database_is_left_alone(ready: Project) -> None:
    database = ready.root / ".ralph" / "ralph.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE future (x)")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert "newer ralph" in refused(ready, "run", "-p", PROMPT, code=4)


def test_somebody_elses_database_is_left_alone(ready: Project) -> None:
    database = ready.root / ".ralph" / "ralph.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    assert "not one of ralph's" in refused(ready, "run", "-p", PROMPT, code=4)


def test_output_into_a_closed_pipe_ends_quietly(ready: Project) -> None:
    ready.agent([{"say": "word " * 200}] * 50 + [{"say": DONE}])
    ran = subprocess.run(
        [f"{shlex.quote(sys.executable)} -m ralph run -p x 2>err.txt | head -c 10; echo ${{PIPESTATUS[0]}}"],
        cwd=ready.root,
        env=ready.env(),
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert "Traceback" not in (ready.root / "err.txt").read_text()
    assert ran.stdout.endswith("0\n"), "the run itself goes on to its end"


def test_a_disk_that_takes_no_more_ends_the_run_with_a_clear_word(ready: Project) -> None:
    ready.agent([{"run": "echo work > made"}, {"say": "x" * 3_000_000}])
    ran = subprocess.run(
        ["sh", "-c", 'ulimit -f 2000; exec "$0" -m ralph run -p x', sys.executable],
        cwd=ready.root,
        env=ready.env(),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 4, ran.stderr
    assert "cannot write" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert (ready.root / "made").read_text() == "work\n"
