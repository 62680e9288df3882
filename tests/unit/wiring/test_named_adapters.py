"""From settings to adapters: a known agent, an agent of one's own, or any command."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ralph.adapters.agents.options import SessionOptions
from ralph.config.agent_definitions import DefinedAgentSettings
from ralph.config.schema import AgentSettings, Settings
from ralph.engine.ports import AgentRequest
from ralph.errors import ConfigError
from ralph.wiring.agent_definitions import definition_of, named_adapter, options_of, program_of

OPUS = DefinedAgentSettings(command="claude", adapter="claude", flags=("--effort high",), model="opus")
SETTINGS = Settings(
    agent=AgentSettings(command="opus", model="sonnet", max_turns=4, continue_session=True),
    agents={"opus": OPUS, "mine": DefinedAgentSettings(command="tools/x")},
)
REQUEST = AgentRequest(
    prompt="make x",
    prompt_file=Path("/project/prompt.txt"),
    log_file=Path("/project/agent.ndjson"),
    cwd=Path("/project"),
)


@pytest.mark.parametrize(
    ("command", "name", "first"),
    [
        ("opus", "opus", "claude"),
        ("mine", "mine", "/project/tools/x"),
        ("gemini", "gemini", "gemini"),
        ("/opt/qwen", "qwen", "/opt/qwen"),
        ("aider", "plain", "aider"),
    ],
)
def test_a_name_or_a_command_is_found(command: str, name: str, first: str) -> None:
    adapter = named_adapter(SETTINGS, command, as_root=False)

    assert adapter.name == name
    assert adapter.command(REQUEST).argv[0] == first


def test_flags_of_the_run_come_behind_those_of_the_definition() -> None:
    adapter = named_adapter(SETTINGS, "opus", as_root=False, flags=("--debug",))

    argv = adapter.command(REQUEST).argv
    assert argv[1:6] == ("-p", "--effort", "high", "--debug", "--model=opus")


def test_a_program_with_another_name_is_told_which_agent_it_is() -> None:
    assert named_adapter(SETTINGS, "my-claude", as_root=False, adapter="claude").name == "claude"


def test_the_program_behind_a_name_is_known() -> None:
    assert program_of(SETTINGS, "opus") == "claude"
    assert program_of(SETTINGS, "aider") == "aider"
    assert definition_of(SETTINGS, "aider") is None


def test_options_are_those_of_the_run() -> None:
    options = options_of(SETTINGS)

    assert options == SessionOptions("sonnet", 4, True)
    argv = named_adapter(SETTINGS, "opus", as_root=False, options=options).command(REQUEST).argv
    assert "--model=sonnet" in argv
    assert "--max-turns=4" in argv


def test_bad_quoting_in_a_definition_names_it() -> None:
    broken = dataclasses.replace(OPUS, flags=("'half",))

    with pytest.raises(ConfigError, match=r"agents\.broken\.flags: cannot split"):
        named_adapter(Settings(agents={"broken": broken}), "broken", as_root=False)
