"""Ctrl-C, a kill and a timeout in the middle of a real agent's tool call: nothing may be left running."""

from __future__ import annotations

import signal

from ralph.testing.model import Step

from .harness import DONE, PROMPT, LiveProject, ended, wait_for

INTERRUPTED = 130
LIMIT_REACHED = 1

# Deaf to INT and TERM, with a child that left the session: the worst that a tool can be.
STUBBORN = (
    "trap '' INT TERM; setsid sleep 600 & touch started; while [ ! -f released ]; do sleep 0.1; done; wait"
)


def test_the_first_ctrl_c_lets_the_tool_call_and_the_session_finish(project: LiveProject) -> None:
    tool = "touch started; while [ ! -f released ]; do sleep 0.1; done; touch finished"
    with project.model(Step(shell=tool), Step(text="not yet")) as model:
        project.settings(model.url)
        with project.running("-p", PROMPT) as process:
            wait_for((project.root / "started").exists, "the tool's start", process)
            process.send_signal(signal.SIGINT)
            wait_for(lambda: bool(project.events("stop_requested")), "the request on record", process)
            (project.root / "released").touch()
            err = ended(process, INTERRUPTED)

    assert "Received signal, shutting down..." in err
    assert (project.root / "finished").exists()
    project.assert_nothing_left()


def test_the_second_ctrl_c_ends_a_stubborn_tool_and_all_around_it(project: LiveProject) -> None:
    with project.model(Step(shell=STUBBORN), Step(text=DONE)) as model:
        project.settings(model.url)
        with project.running("-p", PROMPT) as process:
            wait_for((project.root / "started").exists, "the tool's start", process)
            process.send_signal(signal.SIGINT)
            wait_for(lambda: bool(project.events("stop_requested")), "the first request on record", process)
            process.send_signal(signal.SIGINT)
            ended(process, INTERRUPTED)

    assert project.rows("SELECT outcome FROM runs") == [("cancelled",)]
    project.assert_nothing_left()


def test_when_ralph_is_killed_nothing_survives_it(project: LiveProject) -> None:
    with project.model(Step(shell=STUBBORN), Step(text=DONE)) as model:
        project.settings(model.url)
        with project.running("-p", PROMPT) as process:
            wait_for((project.root / "started").exists, "the tool's start", process)
            assert len(project.processes()) > 1
            process.kill()
            ended(process, -signal.SIGKILL)
        project.assert_nothing_left()

    assert project.rows("SELECT outcome FROM runs") == [(None,)]


def test_a_session_that_takes_too_long_is_ended_with_its_tools(project: LiveProject) -> None:
    with project.model(Step(shell=STUBBORN)) as model:
        project.settings(model.url)
        err = project.ralph("-p", PROMPT, "-m", "1", "--agent-timeout", "10", check=LIMIT_REACHED)

    assert [session["ending"] for session in project.events("agent_ended")] == ["timed_out"], err
    project.assert_nothing_left()


def test_a_model_that_falls_silent_is_noticed(project: LiveProject) -> None:
    with project.model(Step(text="half of it, and then nothing", hang=True)) as model:
        project.settings(model.url)
        err = project.ralph("-p", PROMPT, "-m", "1", "--idle-timeout", "10", check=LIMIT_REACHED)

    assert [session["ending"] for session in project.events("agent_ended")] == ["idle"], err
    project.assert_nothing_left()
