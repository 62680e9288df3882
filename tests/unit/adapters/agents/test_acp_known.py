"""The programs that are known to speak ACP: every row says how it is started, installed, and whether it was tried."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from tests.live.install import AGENTS as INSTALLED

from ralph.adapters.agents.acp.agent import AcpAdapter, facts_about
from ralph.adapters.agents.acp.known import KnownProgram, known_programs
from ralph.adapters.agents.registry import acp_programs, facts_of
from ralph.agent_names import known_agents
from ralph.engine.ports import AgentRequest

REQUEST = AgentRequest("make x", Path("/p/prompt"), Path("/p/log"), Path("/p"))


@pytest.mark.parametrize("row", known_programs().values(), ids=lambda row: row.program)
def test_every_row_is_complete_and_honest(row: KnownProgram) -> None:
    assert shlex.split(shlex.join((row.program, *row.arguments))) == [row.program, *row.arguments]
    assert row.title
    assert row.install
    assert row.login
    assert row.install == facts_about(row.program).install
    if row.program in known_agents():
        assert row.install == facts_of(row.program).install
    # Only what the live tests really start counts as tried, in that version.
    assert row.tried in ("", getattr(INSTALLED.get(row.program), "version", ""))


def test_a_dozen_and_more_are_known_and_three_were_tried() -> None:
    assert len(acp_programs()) >= 12
    assert {row.program for row in known_programs().values() if row.tried} == {"gemini", "opencode", "qwen"}


@pytest.mark.parametrize(
    ("command", "flags", "argv"),
    [
        ("goose", (), ("goose", "acp")),
        ("goose", ("acp",), ("goose", "acp")),
        ("goose", ("--verbose",), ("goose", "acp", "--verbose")),
        ("/opt/goose", (), ("/opt/goose", "acp")),
        (
            "droid",
            ("exec", "--output-format", "acp", "-m"),
            ("droid", "exec", "--output-format", "acp", "-m"),
        ),
        ("vibe-acp", (), ("vibe-acp",)),
        ("other", ("--acp",), ("other", "--acp")),
    ],
)
def test_what_makes_it_speak_acp_is_added_once(
    command: str, flags: tuple[str, ...], argv: tuple[str, ...]
) -> None:
    started = AcpAdapter(command=command, flags=flags, as_root=False).command(REQUEST)

    assert started.argv == argv
    assert (started.converses, started.stdin) == (True, None)


def test_an_agent_that_judges_gets_what_keeps_it_from_writing() -> None:
    adapter = AcpAdapter(command="opencode", flags=(), as_root=False)

    assert "OPENCODE_PERMISSION" not in adapter.command(REQUEST).environment
    assert "deny" in adapter.command(replace(REQUEST, read_only=True)).environment["OPENCODE_PERMISSION"]
