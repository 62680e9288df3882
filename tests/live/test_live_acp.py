"""Agents that speak ACP natively, driven through it: the same programs whose own streams ralph reads elsewhere."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from ralph.adapters.agents.acp.known import known_programs
from ralph.adapters.agents.qwen.agent import DEFAULTS
from ralph.testing.model import Step, WriteFile

from .harness import DONE, PROMPT, LiveProject, ended, wait_for
from .test_live_sessions import TASK, VERDICT

TRIED = tuple(name for name, known in known_programs().items() if known.tried)
INTERRUPTED = 130
GUARDRAILS = [{"name": "made", "command": "grep -qx made a.txt", "failAction": "APPEND"}]


@pytest.fixture(autouse=True)
def speaks_acp(project: LiveProject) -> None:
    if project.agent.name not in TRIED:
        pytest.skip(f"{project.agent.name} is not driven through ACP here")


def settings(project: LiveProject, url: str, *, own: dict[str, Any] | None = None, **values: Any) -> None:
    known = known_programs()[project.agent.name]
    definition = {"adapter": "acp", "command": " ".join((known.program, *known.arguments)), **(own or {})}
    quiet = {"QWEN_CODE_SYSTEM_DEFAULTS_PATH": str(DEFAULTS)}  # or it asks the model what to remember
    agent = {"command": "mine", "environment": {**project.agent.loopback.prepare(project.home, url), **quiet}}
    project.settings(url, **{"agent": agent, "agents": {"mine": definition}, **values})


def test_a_turn_with_a_tool_call_is_proved_by_the_guardrail(project: LiveProject) -> None:
    with project.model(
        Step(text=f"Nothing to do. {DONE}"),
        Step(shell="echo made > a.txt"),
        Step(text=f"It is made. {DONE}"),
    ) as model:
        settings(project, model.url, guardrails=GUARDRAILS)
        project.ralph("-p", PROMPT, "-m", "3", check=0)

    assert (project.root / "a.txt").read_text() == "made\n"
    sessions = project.events("agent_ended")
    assert [session["fault"] for session in sessions] == [None] * 2
    assert [session["tools"] for session in sessions] == [0, 1]
    assert project.events("guardrail_failed") or project.events("check_ended")
    project.assert_nothing_left()


def test_what_it_used_is_known_as_far_as_it_says_so(project: LiveProject) -> None:
    with project.model(Step(text=DONE)) as model:
        settings(project, model.url)
        project.ralph("-p", PROMPT, check=0)

    (session,) = project.events("agent_ended")
    used = session["spend"]["usage"]
    assert used["input_tokens"] + used["cache_read_tokens"] > 0
    assert used["output_tokens"] > 0


def test_a_key_that_is_refused_ends_the_run(project: LiveProject) -> None:
    with project.model(*[Step(error=401)] * 4) as model:
        settings(project, model.url)
        err = project.ralph("-p", PROMPT, check=4)

    (session,) = project.events("agent_ended")
    # opencode tells neither the status nor that it is about the login.
    expected = "transient" if project.agent.name == "opencode" else "fatal"
    assert session["fault"]["kind"] == expected, err


@pytest.mark.timeout(400)  # two sessions of an agent that may start slowly
def test_who_judges_can_answer_but_not_write(project: LiveProject) -> None:
    evil, worse = project.home / "evil.txt", project.home / "worse.txt"
    with project.model(
        Step(shell="echo made > a.txt"),
        Step(text="<promise>IMPLEMENTATION_COMPLETE</promise>"),
        Step(shell=f"echo evil > {evil}; echo evil > a.txt"),
        Step(write=WriteFile(str(worse), "worse\n")),
        Step(text=VERDICT, quotes=r"<(verdict-[0-9a-f]+)>"),
    ) as model:
        settings(project, model.url, profiles={"verified": {"stages": ["coder"]}})
        (project.home / "task.json").write_text(json.dumps(TASK))
        project.ralph("add", "-f", str(project.home / "task.json"), command="task", check=0)
        err = project.ralph(command="work", check=0)

    assert not evil.exists()
    assert not worse.exists()
    assert project.git("show", "main:a.txt") == "made\n", err


def test_a_stop_ends_it_and_leaves_nothing(project: LiveProject) -> None:
    with project.model(Step(shell="touch began; sleep 600"), Step(text=DONE)) as model:
        settings(project, model.url)
        with project.running("-p", PROMPT) as process:
            wait_for((project.root / "began").exists, "the tool", process)
            process.send_signal(signal.SIGINT)
            wait_for(lambda: bool(project.events("stop_requested")), "the first request on record", process)
            process.send_signal(signal.SIGINT)
            ended(process, INTERRUPTED)

    (session,) = project.events("agent_ended")
    assert (session["ending"], session["fault"]) == ("stopped", None)
    project.assert_nothing_left()
