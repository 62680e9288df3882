"""Ctrl-C, twice, and the worst case: ralph itself is killed."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ralph.adapters.storage.database import BUSY_TIMEOUT

from .conftest import DONE, PROMPT, Project
from .running import alive, ended, kinds, running, wait_for


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_lets_the_agent_finish_and_exits_130(
    project: Project, number: signal.Signals
) -> None:
    started, go = project.root / "started", project.root / "go"
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "touch judged"}])
    project.agent(
        [{"touch": "started"}, {"run": "while [ ! -f go ]; do sleep 0.05; done"}, {"touch": "finished"}]
    )

    with running(project, "-p", PROMPT) as process:
        wait_for(started.exists, "the agent's start")
        process.send_signal(number)
        wait_for(lambda: "stop_requested" in kinds(project), "the request on record")
        go.touch()
        code, err = ended(process)

    assert code == 130
    assert "Received signal, shutting down..." in err
    assert (project.root / "finished").exists()
    assert not (project.root / "judged").exists()
    assert project.rows("SELECT outcome FROM runs") == [("cancelled",)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_while_the_run_is_being_opened_ends_it_properly(
    project: Project, number: signal.Signals
) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "not yet"}])
    runs = project.root / ".ralph" / "runs"
    with running(project, "-p", PROMPT, "-m", "50") as process:
        wait_for(lambda: runs.exists() and any(runs.iterdir()), "the record")
        process.send_signal(number)
        code, err = ended(process)
    assert code == 130
    assert project.rows("SELECT outcome FROM runs") == [("cancelled",)]
    assert "To continue: `ralph resume`" in err


@pytest.fixture
def holder(project: Project) -> Iterator[sqlite3.Connection]:
    """Holds the record. No agent has begun when it is free again, either."""
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"say": "not yet"}])
    project.ralph("status")
    with closing(sqlite3.connect(project.root / ".ralph" / "ralph.db", isolation_level=None)) as record:
        record.execute("PRAGMA journal_mode = WAL")
        record.execute("BEGIN IMMEDIATE")
        yield record
    assert not (project.root / "started").exists()


def test_a_signal_that_comes_while_the_record_is_waited_for_ends_the_run_as_it_begins(
    project: Project, holder: sqlite3.Connection
) -> None:
    with running(project, "-p", PROMPT, "-m", "50") as process:
        wait_for(lambda: heeds(process.pid, signal.SIGTERM), "the run to heed signals")
        process.send_signal(signal.SIGTERM)
        holder.execute("ROLLBACK")
        code, err = ended(process)
    assert code == 130
    assert "ending the agent" not in err
    assert project.rows("SELECT outcome FROM runs") == [("cancelled",)]


def test_a_second_signal_ends_the_wait_for_the_record(project: Project, holder: sqlite3.Connection) -> None:
    with running(project, "-p", PROMPT, "-m", "50") as process:
        wait_for(lambda: heeds(process.pid, signal.SIGTERM), "the run to heed signals")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=BUSY_TIMEOUT * 0.8)
    assert process.returncode == 130
    assert "locked" not in err


def test_a_signal_after_the_record_could_not_be_written_prints_no_traceback(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    lasts = "sleep 1; touch started; while [ ! -f go ]; do sleep 0.05; done"
    project.agent([{"run": ": > .ralph/ralph.db-wal"}, {"say": "late"}, {"run": lasts}])
    with running(project, "-p", PROMPT, "-m", "50") as process:
        wait_for((project.root / "started").exists, "the agent")
        process.send_signal(signal.SIGINT)
        (project.root / "go").touch()
        code, err = ended(process)
    assert code == 4
    assert "Traceback" not in err
    assert "ralph.db" in err


def test_an_interrupt_that_was_dealt_with_changes_no_exit_code(project: Project, tmp_path: Path) -> None:
    """Python remembers one that ended an ``exec``, as dataclasses use it, and may end itself by it after all."""
    (tmp_path / "sitecustomize.py").write_text("""
import sys

def leave(code, leave=sys.exit):
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        leave(code)

sys.exit = leave
""")
    project.ralph("--help", check=0, PYTHONPATH=str(tmp_path))


def heeds(pid: int, number: signal.Signals) -> bool:
    """Whether it has a handler of its own for it."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def test_a_terminal_that_is_closed_ends_the_run_and_is_the_reason(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"run": "while :; do sleep 0.05; done"}], [{"say": DONE}])
    with running(project, "-p", PROMPT) as process:
        wait_for((project.root / "started").exists, "the agent's start")
        process.send_signal(signal.SIGHUP)
        code, err = ended(process)
    assert code == 130
    assert "the terminal was closed: the run ends, and `ralph resume` continues it" in err
    assert project.rows("SELECT outcome, reason FROM runs") == [("cancelled", "the terminal was closed")]
    assert "the terminal was closed" in project.ralph("status").stdout
    again = project.ralph("resume", check=0)
    assert "(cancelled: the terminal was closed)" in again.stderr


def test_the_second_signal_ends_the_whole_tree_now(project: Project, tmp_path: Path) -> None:
    stubborn = tmp_path / "stubborn.pid"
    project.settings(agent={"command": "claude"})
    tool = f"setsid sh -c 'trap \"\" INT TERM; echo $$ > {stubborn}; while :; do sleep 0.1; done' & wait"
    project.agent([{"run": tool}])

    with running(project, "-p", PROMPT) as process:
        wait_for(lambda: stubborn.exists() and bool(stubborn.read_text().strip()), "the tool's start")
        process.send_signal(signal.SIGINT)
        wait_for(lambda: "stop_requested" in kinds(project), "the first request on record")
        process.send_signal(signal.SIGINT)
        code, err = ended(process)

    assert code == 130
    assert "Second signal" in err
    assert not alive(stubborn)


def test_a_guardrail_under_way_is_allowed_to_finish(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        guardrails=[
            {"command": "touch started; while [ ! -f go ]; do sleep 0.05; done; touch finished"},
            {"command": "touch second"},
        ],
    )
    project.agent([{"say": DONE}])

    with running(project, "-p", PROMPT) as process:
        wait_for((project.root / "started").exists, "the guardrail's start")
        process.send_signal(signal.SIGINT)
        wait_for(lambda: "stop_requested" in kinds(project), "the request on record")
        (project.root / "go").touch()
        code, _ = ended(process)

    assert code == 130
    assert (project.root / "finished").exists()
    assert not (project.root / "second").exists()


def test_when_ralph_is_killed_the_agent_and_all_its_tools_die_too(project: Project, tmp_path: Path) -> None:
    agent_pid, tool_pid, daemon_pid = (tmp_path / name for name in ("agent", "tool", "daemon"))
    project.settings(agent={"command": "./agent.sh"})
    agent = project.root / "agent.sh"
    agent.write_text(
        "#!/bin/sh\n"
        f"setsid sh -c 'echo $$ > {tool_pid}; exec sleep 300' &\n"
        f"(setsid sh -c 'echo $$ > {daemon_pid}; exec sleep 300' &)\n"
        f"echo $$ > {agent_pid}\n"
        "exec sleep 300\n"
    )
    agent.chmod(0o755)
    pids = (agent_pid, tool_pid, daemon_pid)

    with running(project, "-p", PROMPT) as process:
        wait_for(lambda: all(pid.exists() and pid.read_text().strip() for pid in pids), "all three to start")
        assert all(alive(pid) for pid in pids)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)

    wait_for(lambda: not any(alive(pid) for pid in pids), "their end")
    assert project.rows("SELECT outcome FROM runs") == [(None,)]
    assert project.rows("SELECT iteration, ended_at FROM iterations") == [(1, None)]
