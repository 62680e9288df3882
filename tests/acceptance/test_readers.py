"""Whoever reads stdout and stderr may not read: a full pipe, a stopped terminal. The run is never held by it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from .conftest import DONE, PROMPT, Project
from .running import kinds, running, wait_for

FLOOD = "while :; do echo 'a line of words that nobody reads, again and again and again and again'; done\n"


def flooded(project: Project, process: subprocess.Popen[str]) -> bool:
    """The pipe is full, so a plain write to it would be held."""
    assert process.stdout is not None
    size = project.rows("SELECT coalesce(sum(length(data)), 0) FROM events") if kinds(project) else [(0,)]
    return bool(size[0][0] > 2_000_000)


def test_a_timeout_ends_a_session_whose_words_nobody_reads(project: Project) -> None:
    project.settings(agent={"command": "flood"})
    project.program("flood", FLOOD)
    with running(project, "-p", PROMPT, "-m", "1", "--agent-timeout", "2"):
        wait_for(lambda: "run_ended" in kinds(project), "the end of the run", seconds=30)
    assert project.rows("SELECT outcome FROM runs") == [("exhausted",)]


@pytest.mark.parametrize("how", ["stop --now", "SIGTERM"])
def test_a_run_that_nobody_reads_is_stopped_at_once_and_exits(project: Project, how: str) -> None:
    project.settings(agent={"command": "flood"})
    project.program("flood", FLOOD)
    with running(project, "-p", PROMPT, "-m", "1") as process:
        wait_for(lambda: flooded(project, process), "a full pipe")
        if how == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: "stop_requested" in kinds(project), "the first request", seconds=20)
            process.send_signal(signal.SIGTERM)
        else:
            project.ralph("stop", "--now", check=0)
        assert process.wait(timeout=30) == 130
    assert project.rows("SELECT outcome FROM runs") == [("cancelled",)]


def test_a_reader_that_is_late_gets_every_line_in_order(project: Project) -> None:
    project.settings(agent={"command": "talk"})
    project.program("talk", f"seq 1 100000\necho '{DONE}'\n")
    with running(project, "-p", PROMPT, "-m", "1") as process:
        wait_for(lambda: "run_ended" in kinds(project), "the end of the run", seconds=60)
        out, err = process.communicate(timeout=60)
    lines = out.split()
    assert lines[:100_000] == [str(number) for number in range(1, 100_001)]
    assert "Completed" in err
    assert process.returncode == 0


def test_stdout_and_stderr_in_one_pipe_keep_their_order(project: Project) -> None:
    project.settings(agent={"command": "talk"}, guardrails=[{"command": "true", "name": "a check"}])
    project.program("talk", f"seq 1 20000\necho '{DONE}'\n")
    ran = subprocess.run(
        [sys.executable, "-m", "ralph", "run", "-p", PROMPT, "-m", "1"],
        cwd=project.root,
        env=project.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=90,
        check=False,
    )
    places = [
        ran.stdout.index(what) for what in ("Iteration 1", "\n1\n", "\n20000\n", "a check", "Completed")
    ]
    assert places == sorted(places)


def test_json_lines_that_nobody_read_are_counted_and_the_end_is_kept(project: Project) -> None:
    project.settings(agent={"command": "flood"})
    project.program("flood", "yes a line of words that nobody reads at all | head -c 60000000\n")
    with running(project, "-p", PROMPT, "-m", "1", "--json") as process:
        wait_for(lambda: "run_ended" in kinds(project), "the end of the run", seconds=90)
        out, _ = process.communicate(timeout=60)
    events = [json.loads(line) for line in out.splitlines()]
    assert events[-1]["type"] == "run_ended"
    assert any("left out" in event["message"] for event in events if event["type"] == "warned")


def test_a_stopped_terminal_holds_nothing(project: Project) -> None:
    project.settings(agent={"command": "flood"})
    project.program("flood", FLOOD)
    terminal, screen = os.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "ralph", "run", "-p", PROMPT, "-m", "1", "--agent-timeout", "2"],
            cwd=project.root,
            env=project.env(),
            stdin=screen,
            stdout=screen,
            stderr=screen,
        )
        os.close(screen)
        try:  # nobody ever reads `terminal`
            wait_for(lambda: "run_ended" in kinds(project), "the end of the run", seconds=30)
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(terminal)
    assert project.rows("SELECT outcome FROM runs") == [("exhausted",)]


def test_a_log_of_its_own_in_the_project_is_no_progress(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git(
        "-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "s", "--allow-empty"
    )
    project.settings(agent={"command": "talk"})
    project.program("talk", "date +%N\n")
    with (project.root / "run.log").open("w") as log:
        ran = subprocess.run(
            [sys.executable, "-m", "ralph", "run", "-p", PROMPT, "-m", "9", "--stuck-after", "2"],
            cwd=project.root,
            env=project.env(),
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=90,
            check=False,
        )
    assert ran.returncode == 1
    assert project.rows("SELECT count(*) FROM iterations")[0][0] < 9
