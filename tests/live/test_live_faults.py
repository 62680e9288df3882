"""What a model can do to an agent, and what ralph makes of it."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import pytest

from ralph.testing.model import Step

from .harness import DONE, PROMPT, LiveProject

LIMIT_REACHED = 1
CANNOT_RUN = 4
WAITS = 5


@dataclass(frozen=True, slots=True)
class Case:
    """What the model does, and the fault and exit code that follow; no fault: the session's time was over."""

    step: Step
    fault: str | None
    code: int


CASES = {
    "401": Case(Step(error=401), "fatal", CANNOT_RUN),
    "429": Case(Step(error=429), "rate_limited", WAITS),
    "429 with a reset": Case(Step(error=429, headers={"retry-after": "7200"}), "rate_limited", WAITS),
    "500": Case(Step(error=500), "transient", CANNOT_RUN),
    "529": Case(Step(error=529), "transient", CANNOT_RUN),
    "cut": Case(Step(text="half of it, then the line breaks", cut=True), "transient", CANNOT_RUN),
}

SILENT = {("qwen", "429 with a reset"), ("opencode", "429 with a reset"), ("opencode", "cut")}
"""Here the agent tries again for ever and says nothing about it: all that ralph can do is to end the session."""

PATIENCE = {"500": "200", "529": "200"}
"""Seconds that a session is given; agents that persist give up on a broken server after a minute and a half."""


@pytest.mark.parametrize("name", CASES)
def test_an_error_of_the_model_is_told_by_its_kind(project: LiveProject, name: str) -> None:
    case = CASES[name]
    if (project.agent.name, name) in SILENT:
        case = Case(case.step, None, LIMIT_REACHED)
    patience = ["--agent-timeout", PATIENCE.get(name, "60")]
    with project.model(case.step) as model:
        project.settings(model.url)
        err = project.ralph("-p", PROMPT, "-m", "1", "--no-wait", *patience, check=case.code)

    (session,) = project.events("agent_ended")
    fault = session["fault"]
    assert (fault and fault["kind"]) == case.fault, err
    project.assert_nothing_left()


def test_a_model_that_cannot_be_reached_is_a_passing_fault(project: LiveProject) -> None:
    patience = ["--agent-timeout", "200" if project.agent.loopback.persists else "30"]
    with socket.socket() as closed:  # bound and not listening: nobody else gets the port, and nobody answers
        closed.bind(("127.0.0.1", 0))
        project.settings(f"http://127.0.0.1:{closed.getsockname()[1]}")
        # codex waits for its network for ever; the time limit ends it, and the fault is still the right one
        err = project.ralph("-p", PROMPT, "-m", "1", "--no-wait", *patience, check=CANNOT_RUN)

    (session,) = project.events("agent_ended")
    assert session["fault"]["kind"] == "transient", err


def test_after_a_passing_fault_the_same_iteration_is_tried_again(project: LiveProject) -> None:
    with project.model(Step(error=500), Step(text=DONE)) as model:
        project.settings(model.url, limits={"maxAttempts": 2})
        project.ralph("-p", PROMPT, check=0)

    rows = project.rows("SELECT iteration, attempt, decision FROM iterations")
    tried = [(1, 1, "accept")] if project.agent.loopback.persists else [(1, 1, "retry"), (1, 2, "accept")]
    assert rows == tried
