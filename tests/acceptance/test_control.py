"""Steering a run from another terminal."""

from __future__ import annotations

import json
import time

import pytest

from .conftest import DONE, PROMPT, Project
from .running import ended, kinds, running, wait_for

WAIT_FOR_GO = "touch started; while [ ! -f go ]; do sleep 0.05; done"


@pytest.fixture
def busy(project: Project) -> Project:
    """An agent that works until told to go on, then is done."""
    project.settings(agent={"command": "claude"})
    project.agent([{"run": WAIT_FOR_GO}, {"say": "not yet"}], [{"say": DONE}])
    return project


def test_stop_lets_the_session_finish_and_the_run_exits_130(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        said = busy.ralph("stop", check=0)
        wait_for(lambda: "stop_requested" in kinds(busy), "the request to be heard")
        (busy.root / "go").touch()
        code, err = ended(process)
    assert "stopping after the current step" in said.stderr
    assert code == 130
    assert "Stopping, as asked from elsewhere..." in err
    assert busy.rows("SELECT outcome FROM runs") == [("cancelled",)]


def test_stop_now_ends_the_agent(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        busy.ralph("stop", "--now", check=0)
        code, _ = ended(process)
    assert code == 130


def test_a_run_that_waits_for_a_limit_can_be_stopped_at_once(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    limit = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": time.time() + 3600},
    }
    result = {"type": "result", "subtype": "success", "is_error": True, "result": "limit"}
    project.agent([{"print": json.dumps(limit)}, {"print": json.dumps(result)}, {"exit": 1}])
    with running(project, "-p", PROMPT) as process:
        wait_for(lambda: "pause_began" in kinds(project), "the wait")
        project.ralph("stop", check=0)
        code, _ = ended(process)
    assert code == 130


@pytest.mark.parametrize("command", [("run",), ("supervise", "--task", "t", "--no-sandbox")])
def test_no_wait_ends_with_5(project: Project, command: tuple[str, ...]) -> None:
    project.settings(agent={"command": "claude"})
    limit = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": time.time() + 3600},
    }
    result = {"type": "result", "subtype": "success", "is_error": True, "result": "limit"}
    project.agent([{"print": json.dumps(limit)}, {"print": json.dumps(result)}, {"exit": 1}])
    project.ralph(*command, "-p", PROMPT, "--no-wait", check=5)
    project.ralph("stop", check=0)
    assert project.rows("SELECT outcome FROM runs") == [("cancelled",)]


def test_pause_holds_the_run_between_sessions_until_it_is_taken_back(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        busy.ralph("pause", check=0)
        (busy.root / "go").touch()
        wait_for(lambda: "iteration_ended" in kinds(busy), "the end of the session")
        assert kinds(busy).count("iteration_started") == 1
        busy.ralph("unpause", check=0)
        code, err = ended(process)
    assert code == 0
    assert "Pausing after the current session" in err
    assert [kind for kind in kinds(busy) if "pause" in kind] == ["run_paused", "run_unpaused"]


def test_a_paused_run_can_be_stopped(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        busy.ralph("pause", check=0)
        (busy.root / "go").touch()
        wait_for(lambda: "iteration_ended" in kinds(busy), "the end of the session")
        busy.ralph("stop", check=0)
        code, _ = ended(process)
    assert code == 130


def test_a_word_of_the_users_goes_into_the_next_prompt_once(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"run": WAIT_FOR_GO}, {"say": "no"}], [{"say": "no"}], [{"say": DONE}])
    with running(project, "-p", PROMPT) as process:
        wait_for((project.root / "started").exists, "the agent's start")
        project.ralph("steer", "Use tabs.", check=0)
        (project.root / "go").touch()
        code, err = ended(process)
    assert code == 0
    assert project.prompt(2) == f"A word from the user:\nUse tabs.\n\n{PROMPT}"
    assert project.prompt(3) == PROMPT
    assert "Note from the user: Use tabs." in err


@pytest.mark.parametrize("command", [["stop"], ["pause"], ["unpause"], ["steer", "x"], ["resume"]])
def test_without_a_run_there_is_nothing_to_ask(project: Project, command: list[str]) -> None:
    ran = project.ralph(*command, check=2)
    assert "no run is under way" in ran.stderr or "no interrupted run" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_second_run_in_the_same_place_is_refused_and_names_the_holder(busy: Project) -> None:
    with running(busy, "-p", PROMPT) as process:
        wait_for((busy.root / "started").exists, "the agent's start")
        ran = busy.ralph("run", "-p", PROMPT, check=2)
        (busy.root / "go").touch()
        code, _ = ended(process)
    assert code == 0
    assert str(process.pid) in ran.stderr
    busy.ralph("run", "-p", PROMPT, check=0)
