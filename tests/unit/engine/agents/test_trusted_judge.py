"""A program that was changed in the run works, but does not judge."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from ralph.domain.loop.session_report import Fatal
from ralph.engine.agents.trusted_judge import TrustedJudge
from ralph.engine.ports import AgentRequest
from ralph.testing.scripted_agent import ScriptedAgent, Turn

REQUEST = AgentRequest("do it", Path("prompt_001.txt"), Path("run/agent_001.ndjson"), Path("project"))


def test_a_changed_program_is_asked_to_work_but_not_to_judge() -> None:
    changed: list[str] = []
    own = ScriptedAgent([Turn("fine")])
    agent = TrustedJudge(
        own,
        judges=lambda request: request.role == "reviewer",
        why_not=lambda: Fatal("agent.sh was changed") if changed else None,
    )

    def ask(role: str) -> object:
        return asyncio.run(agent.run(replace(REQUEST, role=role), lambda _: None)).fault

    assert ask("reviewer") is None
    changed.append("agent.sh")
    assert ask("coder") is None
    assert ask("reviewer") == Fatal("agent.sh was changed")
    assert len(own.prompts) == 2
