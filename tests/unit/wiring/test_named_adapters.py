"""From settings to adapters: a known agent, an agent of one's own, or any command."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ralph.config.agent_definitions import DefinedAgentSettings
from ralph.config.schema import AgentSettings, Settings
from ralph.domain.agent.facts import AgentNeeds
from ralph.engine.ports import AgentRequest
from ralph.errors import ConfigError
from ralph.wiring.agents import adapters_of, chosen_agents, definition_of, named_adapter, needs_of, program_of

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
    fallback = dataclasses.replace(SETTINGS.agent, fallbacks=("codex",))
    first, stand_in = adapters_of(dataclasses.replace(SETTINGS, agent=fallback), as_root=False)

    argv = first.command(dataclasses.replace(REQUEST, continues="s-1")).argv
    assert {"--model=sonnet", "--max-turns=4", "--resume=s-1"} <= set(argv)
    assert not any("sonnet" in argument for argument in stand_in.command(REQUEST).argv)


def test_bad_quoting_in_a_definition_names_it() -> None:
    broken = dataclasses.replace(OPUS, flags=("'half",))

    with pytest.raises(ConfigError, match=r"agents\.broken\.flags: cannot split"):
        named_adapter(Settings(agents={"broken": broken}), "broken", as_root=False)


def test_a_sandbox_has_what_every_agent_of_the_run_needs() -> None:
    both = needs_of(Settings(), ("/usr/bin/claude", "codex"))

    assert {"ANTHROPIC_*", "OPENAI_*"} <= set(both.env)
    assert both.state == (".claude", ".codex")
    assert needs_of(Settings(), ("own-agent",)) == AgentNeeds()


def test_a_program_with_another_name_needs_what_its_adapter_says() -> None:
    mine = DefinedAgentSettings(command="my-codex", adapter="codex")
    settings = Settings(agent=AgentSettings(command="my-claude", adapter="claude"), agents={"mine": mine})

    assert needs_of(settings, ("my-claude",)).state == (".claude",)
    assert needs_of(settings, ("my-codex", "my-claude")).state == (".codex", ".claude")


def test_a_sandbox_is_told_the_program_behind_a_name(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    chosen = chosen_agents(SETTINGS, tmp_path, environ={"PATH": str(tmp_path)})

    assert chosen.programs == ("claude",)
    assert needs_of(SETTINGS, chosen.programs).state == (".claude",)
