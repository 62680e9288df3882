"""What every agent must be able to do, whichever program it is: one table, real processes, one set of expectations.

A shell script stands in for the program and prints a recorded session. Which recording is which says ``cases.json``
beside them: ``good``, ``notLoggedIn``, and ``limited`` where somebody has seen a limit.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.agents.registry import adapter_for, facts_of
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.agent_names import named_agents
from ralph.domain.agent.events import AgentEvent, SessionStarted, ToolStarted, Usage
from ralph.domain.loop.events import AgentActed, LoopEvent
from ralph.domain.loop.session_report import AgentReport, Ending, Fatal, RateLimited, Transient
from ralph.engine.ports import AgentRequest, OutputMode
from ralph.engine.session import AgentSession

STREAMS = Path(__file__).parents[3] / "data" / "streams"
FINAL_WORDS = "All done. <promise>DONE</promise>"
AGENTS = named_agents()
CASES = {agent: json.loads((STREAMS / agent / "cases.json").read_text(encoding="utf-8")) for agent in AGENTS}


def expected(agent: str, case: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((STREAMS / agent / f"{case}.expected.json").read_text(encoding="utf-8"))
    return read


class Played:
    """One session of an agent whose program is a script."""

    def __init__(self, agent: str, folder: Path) -> None:
        self._agent = agent
        self._folder = folder
        self.events: list[AgentEvent] = []

    def _publish(self, event: LoopEvent) -> None:
        if isinstance(event, AgentActed):
            self.events += event.events

    def recorded(self, case: str, *, mode: OutputMode = OutputMode.STREAM) -> AgentReport:
        stream = STREAMS / self._agent / f"{case}.ndjson"
        given = expected(self._agent, case)
        lines = [f"cat {shlex.quote(str(stream))}", f"printf %s {shlex.quote(given.get('stderr', ''))} >&2"]
        return self.script("\n".join([*lines, f"exit {given['exit']}"]), mode=mode)

    def script(self, body: str, *, mode: OutputMode = OutputMode.STREAM) -> AgentReport:
        program = self._folder / "agent.sh"
        # Arguments and prompt are kept: what the program was really given.
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > arguments\ncat > prompt\n{body}\n')
        program.chmod(0o755)
        return self.command(str(program), mode=mode)

    def command(self, command: str, *, mode: OutputMode = OutputMode.STREAM) -> AgentReport:
        prompt_file = self._folder / "prompt_001.txt"
        prompt_file.write_text("make <promise>x</promise>")
        session = AgentSession(
            adapter_for(self._agent, command=command, flags=("--extra",), as_root=False),
            PosixProcessRunner(run_id="conformance", base_environment=os.environ),
            tags=("promise", "response"),
            show=" ".join,
        )
        request = AgentRequest(
            prompt=prompt_file.read_text(),
            prompt_file=prompt_file,
            log_file=self._folder / "agent_001.ndjson",
            cwd=self._folder,
            mode=mode,
        )
        return asyncio.run(session.run(request, self._publish))


@pytest.fixture
def played(agent: str, tmp_path: Path) -> Played:
    return Played(agent, tmp_path)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_good_session_is_reported_whole(agent: str, played: Played) -> None:
    known = expected(agent, CASES[agent]["good"])

    report = played.recorded(CASES[agent]["good"])

    assert (report.ending, report.exit_code, report.is_orderly) == (Ending.EXITED, 0, True)
    assert report.fault is None
    assert report.text.splitlines()[-1] == known["text"].splitlines()[-1]
    assert [tag.content for tag in report.tags] == ["DONE"]
    assert report.spend.usage == Usage(**known["usage"])
    assert report.spend.cost_usd == (None if known["cost"] is None else pytest.approx(known["cost"]))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_good_session_says_its_name_and_what_it_did(agent: str, played: Played) -> None:
    played.recorded(CASES[agent]["good"])

    names = [event.session_id for event in played.events if isinstance(event, SessionStarted)]
    assert names
    assert names[-1]
    calls = [event for event in played.events if isinstance(event, ToolStarted)]
    assert [bool(call.id and call.name and call.summary) for call in calls] == [True]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_program_gets_the_users_flags_and_the_prompt(agent: str, played: Played, tmp_path: Path) -> None:
    played.recorded(CASES[agent]["good"])

    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert "--extra" in arguments
    assert "make <promise>x</promise>" in (arguments[-1], (tmp_path / "prompt").read_text())


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_that_is_not_logged_in_is_fatal_and_says_how_to(agent: str, played: Played) -> None:
    fault = played.recorded(CASES[agent]["notLoggedIn"]).fault

    assert isinstance(fault, Fatal)
    assert "log in" in fault.hint


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if "limited" in CASES[agent]])
def test_a_limit_is_a_limit(agent: str, played: Played) -> None:
    assert isinstance(played.recorded(CASES[agent]["limited"]).fault, RateLimited)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_program_that_prints_nothing_is_tried_again(agent: str, played: Played) -> None:
    report = played.script("exit 0")

    assert report.fault == Transient("empty response")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_program_that_crashes_is_tried_again(agent: str, played: Played) -> None:
    report = played.script("kill -9 $$")

    assert report.fault == Transient("ended by SIGKILL before it was done")
    assert not report.is_orderly


@pytest.mark.parametrize("agent", AGENTS)
def test_a_program_that_prints_rubbish_is_no_claim(agent: str, played: Played) -> None:
    report = played.script("echo '<promise>DONE</promise>'; echo '{\"type\":'; echo '[]'; exit 0")

    assert report.tags == ()
    assert report.text == ""


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("what", ["missing", "folder", "not_executable"])
def test_a_program_that_cannot_be_started_is_fatal(
    agent: str, what: str, played: Played, tmp_path: Path
) -> None:
    place = tmp_path / what
    if what == "folder":
        place.mkdir()
    elif what == "not_executable":
        place.write_text("#!/bin/sh\n")

    report = played.command(str(place))

    assert report.ending is Ending.NOT_STARTED
    assert isinstance(report.fault, Fatal)
    assert facts_of(agent).install in report.fault.hint


@pytest.mark.parametrize("agent", ["gemini", "opencode", "qwen", "copilot"])
def test_a_short_answer_is_the_final_words_alone(agent: str, played: Played) -> None:
    report = played.recorded(CASES[agent]["good"], mode=OutputMode.TEXT)

    assert report.text == FINAL_WORDS
    assert report.fault is None
