"""A real program under watch is ended when it has used too much, and may say its last words; or when it does not answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.agents.acp import conversation
from ralph.adapters.agents.acp.agent import AcpAdapter
from ralph.adapters.agents.claude.agent import ClaudeAdapter
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.agent.events import Usage
from ralph.domain.loop.session_report import Ending, Fatal
from ralph.engine.ports import AgentRequest, Command, Timeouts
from ralph.engine.session import AgentSession


def test_a_program_that_used_too_much_is_interrupted(
    runner: PosixProcessRunner, child: Callable[..., Command], tmp_path: Path
) -> None:
    class Adapter(ClaudeAdapter):
        def command(self, request: AgentRequest) -> Command:
            return child("spends_tokens")

    session = AgentSession(
        Adapter(command="claude", flags=(), as_root=False),
        runner,
        tags=("response",),
        show=" ".join,
        watch=lambda transcript: "enough" if transcript.usage.total >= 1000 else None,
    )
    request = AgentRequest("x", tmp_path / "prompt.txt", tmp_path / "agent.ndjson", tmp_path)

    report = asyncio.run(session.run(request, lambda event: None))

    assert (report.ending, report.reason, report.fault) == (Ending.LIMITED, "enough", None)
    assert (report.exit_code, report.text) == (0, "on it")
    assert (report.spend.usage, report.spend.cost_usd) == (Usage(1000), 0.25)
    assert (tmp_path / "agent.ndjson").read_bytes().count(b"\n") == 3


READS_ITS_PROMPT = "import sys; sys.stdin.read(); print('done')"


def test_a_program_that_does_not_answer_is_not_waited_for(
    runner: PosixProcessRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "ANSWER_SECONDS", 0.2)
    adapter = AcpAdapter(command=sys.executable, flags=("-c", READS_ITS_PROMPT), as_root=False)
    session = AgentSession(adapter, runner, tags=(), show=" ".join, timeouts=Timeouts(total=90))
    request = AgentRequest("x", tmp_path / "prompt.txt", tmp_path / "agent.ndjson", tmp_path)

    report = asyncio.run(session.run(request, lambda event: None))

    assert report.ending is Ending.EXITED
    assert isinstance(report.fault, Fatal)
    assert report.fault.reason.endswith(conversation.NO_ANSWER)
