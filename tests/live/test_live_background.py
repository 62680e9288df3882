"""Work that claude leaves running beside its turn: awaited like claude alone would, and never cut off unsaid."""

from __future__ import annotations

import pytest

from ralph.testing.model import Step, ToolCall

from .harness import DONE, PROMPT, LiveProject


def in_background(command: str) -> Step:
    call = {"command": command, "run_in_background": True, "description": "the slow part"}
    return Step(tool=ToolCall("Bash", call))


@pytest.fixture
def claude(project: LiveProject) -> LiveProject:
    if project.agent.name != "claude":
        pytest.skip(f"{project.agent.name} has no work beside its turns")
    return project


def test_a_session_ends_when_its_background_work_does_and_gets_its_second_turn(claude: LiveProject) -> None:
    slow = in_background("sleep 15; touch late.txt")  # longer than an agent may stay after its turn
    with claude.model(slow, Step(text="I wait for it."), Step(text=f"It is over. {DONE}")) as model:
        claude.settings(model.url)
        err = claude.ralph("-p", PROMPT, "-m", "1", check=0)

    (session,) = claude.events("agent_ended")
    assert (claude.root / "late.txt").exists(), err
    assert (session["ending"], session["fault"], session["unknown_events"]) == ("exited", None, 0)
    assert "cut off" not in err
    claude.assert_nothing_left()


def test_background_work_that_is_silent_for_too_long_is_cut_off_and_everyone_is_told(
    claude: LiveProject,
) -> None:
    with claude.model(in_background("sleep 600"), Step(text="I wait for it."), Step(text=DONE)) as model:
        claude.settings(model.url)
        err = claude.ralph("-p", PROMPT, "-m", "2", "--idle-timeout", "15", check=0)

    assert "background work was cut off when the session ended: the slow part" in err
    assert "cut off: the slow part" in claude.prompt(2)
    assert [session["ending"] for session in claude.events("agent_ended")] == ["exited", "exited"]
    claude.assert_nothing_left()
