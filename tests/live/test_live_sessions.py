"""Sessions that go on with the one before, and sessions that only judge."""

from __future__ import annotations

import json

import pytest

from ralph.testing.model import Step, Usage, WriteFile

from .harness import DONE, PROMPT, LiveProject

SECRET = "the heron stands in the reeds"


def test_a_session_that_is_continued_knows_what_was_said_before(project: LiveProject) -> None:
    with project.model(Step(text=f"I noticed that {SECRET}."), Step(text=DONE)) as model:
        project.settings(model.url)
        project.ralph("-p", PROMPT, "-m", "2", "--continue-session", check=0)
        first, second = (request.text for request in model.main_requests)

    assert SECRET not in first
    assert SECRET in second
    assert [session["fault"] for session in project.events("agent_ended")] == [None] * 2


def test_a_session_that_is_continued_counts_what_it_used_itself(project: LiveProject) -> None:
    with project.model(Step(text="not yet", times=2), Step(text=DONE)) as model:
        project.settings(model.url)
        project.ralph("-p", PROMPT, "-m", "3", "--continue-session", check=0)

    first, second, third = (session["spend"]["usage"] for session in project.events("agent_ended"))
    assert first == second == third
    assert (
        Usage().output <= first["output_tokens"] < 2 * Usage().output
    )  # one answer, and perhaps one beside the work


def test_without_being_asked_for_it_every_session_is_fresh(project: LiveProject) -> None:
    with project.model(Step(text=f"I noticed that {SECRET}."), Step(text=DONE)) as model:
        project.settings(model.url)
        project.ralph("-p", PROMPT, "-m", "2", check=0)
        asked = [request.text for request in model.main_requests]

    assert len(asked) == 2  # nobody asks the model anything else in between
    assert SECRET not in asked[1]


TASK = {
    "id": "T-1",
    "title": "a file",
    "completion": {
        "outcome": "a.txt is there",
        "acceptance_criteria": ["a.txt is there"],
        "coder": {
            "verification_method": "semantic",
            "verification_config": {"check_for": ["a.txt is there"]},
        },
    },
}
GRANTS_ALL = {
    "claude": ("--dangerously-skip-permissions", "--tools=default"),
    "codex": ("--yolo", "-c sandbox_mode=danger-full-access"),
    "gemini": ("--approval-mode=yolo", "--allowed-tools=run_shell_command"),
    "opencode": ("--auto", "--agent build"),
    "qwen": ("--yolo", "--allowed-tools run_shell_command"),
    "copilot": ("--allow-all",),
}
VERDICT = "<{quoted}>\nVERIFIED\n1. VERIFIED: seen\n</{quoted}>"


def test_who_judges_can_answer_but_not_write(project: LiveProject) -> None:
    evil, worse = project.home / "evil.txt", project.home / "worse.txt"
    with project.model(
        Step(shell="echo made > a.txt"),
        Step(text="<promise>IMPLEMENTATION_COMPLETE</promise>"),
        Step(shell=f"echo evil > {evil}; echo evil > a.txt"),
        Step(write=WriteFile(str(worse), "worse\n")),
        Step(text=VERDICT, quotes=r"<(verdict-[0-9a-f]+)>"),
    ) as model:
        flags = GRANTS_ALL[project.agent.name]  # meant for those who work
        project.settings(model.url, flags=flags, profiles={"verified": {"stages": ["coder"]}})
        (project.home / "task.json").write_text(json.dumps(TASK))
        project.ralph("add", "-f", str(project.home / "task.json"), command="task", check=0)
        err = project.ralph(command="work", check=0)

    assert not evil.exists()
    assert not worse.exists()
    assert project.git("show", "main:a.txt") == "made\n", err
    sessions = project.events("agent_ended")
    assert [session["purpose"] for session in sessions] == ["iteration", "verification"]
    assert [session["fault"] for session in sessions] == [None] * 2
    project.assert_nothing_left()


LIMITS_TURNS = {"claude": "--max-turns=1", "qwen": "--max-session-turns=1"}


def test_a_session_that_reaches_its_limit_of_turns_is_judged_and_said_to_have(project: LiveProject) -> None:
    flag = LIMITS_TURNS.get(project.agent.name)
    if flag is None:
        pytest.skip(f"{project.agent.name} has no limit of turns")
    with project.model(Step(shell="echo made > a.txt"), Step(shell="cat a.txt"), Step(text=DONE)) as model:
        project.settings(model.url, flags=[flag], guardrails=["test -f a.txt"])
        err = project.ralph("-p", PROMPT, "-m", "1", check=1)

    (session,) = project.events("agent_ended")
    assert session["fault"] is None
    assert "the session was cut short (it reached its limit of turns): what it said does not count" in err
    assert project.rows("SELECT decision FROM iterations") == [("continue",)]
