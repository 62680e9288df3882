from __future__ import annotations

import subprocess
import sys

import pytest

from ralph.adapters.agents.registry import adapter_for, facts_of, infer, split_flags
from ralph.agent_names import known_agents
from ralph.domain.agent.options import Option, SessionOptions
from ralph.errors import ConfigError


@pytest.mark.parametrize(
    ("command", "agent"),
    [
        ("claude", "claude"),
        ("/usr/bin/claude", "claude"),
        ("claude.cmd", "claude"),
        (r"C:\tools\Claude.EXE", "claude"),
        ("./node_modules/.bin/codex", "codex"),
        ("amp", "amp"),
        ("claude-wrapper", "plain"),
        ("my/claude/agent.sh", "plain"),
        ("gemini", "gemini"),
        ("/opt/bin/opencode", "opencode"),
        ("qwen.cmd", "qwen"),
        ("copilot", "copilot"),
        ("goose", "acp"),
        ("/opt/bin/cursor-agent", "acp"),
        ("acp", "acp"),
        ("plain", "plain"),
        ("", "plain"),
    ],
)
def test_the_agent_is_inferred_from_the_file_name_of_the_command(command: str, agent: str) -> None:
    assert infer(command) == agent


def test_a_program_that_speaks_acp_stays_any_command_if_flags_say_how_to_start_it() -> None:
    assert infer("goose", ("run", "-i", "-")) == "plain"
    assert infer("claude", ("-p",)) == "claude"


@pytest.mark.parametrize("name", known_agents())
def test_every_known_agent_has_an_adapter_of_that_name_and_says_how_to_install_it(name: str) -> None:
    adapter = adapter_for(name, command=name, flags=[], as_root=False)

    assert adapter.name == name
    assert facts_of(name).install


def test_an_unknown_agent_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown agent 'cloude'") as caught:
        adapter_for("cloude", command="cloude", flags=[], as_root=False)

    assert (
        caught.value.hint == "known agents: acp, amp, claude, codex, copilot, gemini, opencode, plain, qwen"
    )


def test_only_the_module_of_the_chosen_agent_is_imported() -> None:
    code = (
        "import sys\n"
        "from ralph.adapters.agents.registry import adapter_for\n"
        "adapter_for('plain', command='x', flags=[], as_root=False)\n"
        "print([name for name in ('msgspec', 'ralph.adapters.agents.claude.agent') if name in sys.modules])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=90
    )

    assert done.stdout.strip() == "[]"


def test_what_few_sessions_need_is_not_loaded_at_the_start() -> None:
    rare = ("ralph.adapters.agents.wording", "ralph.adapters.processes.conversation_input")
    code = (
        "import sys\n"
        "import ralph.adapters.processes.runner\n"
        "from ralph.adapters.agents.registry import adapter_for\n"
        "adapter_for('claude', command='claude', flags=[], as_root=False)\n"
        f"print([name for name in {rare} if name in sys.modules])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=90
    )

    assert done.stdout.strip() == "[]"


def test_flags_are_split_like_a_shell_would() -> None:
    entries = ["--model opus", "--verbose", "--append-system-prompt 'be brief'", "", r"a\ b"]

    assert split_flags(entries) == (
        "--model",
        "opus",
        "--verbose",
        "--append-system-prompt",
        "be brief",
        "a b",
    )


def test_bad_quoting_names_the_entry() -> None:
    with pytest.raises(ConfigError, match=r"agent\.flags: cannot split \"--note 'half\" into arguments"):
        split_flags(["--model opus", "--note 'half"])


def test_bad_quoting_names_the_setting_it_stands_in() -> None:
    with pytest.raises(ConfigError, match=r"agents\.mine\.flags: cannot split"):
        split_flags(["'half"], key="agents.mine.flags")


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        ("codex", SessionOptions(max_turns=3), "agent.maxTurns: codex does not support it"),
        ("gemini", SessionOptions(max_turns=3), "agent.maxTurns: gemini does not support it"),
        ("amp", SessionOptions(model="x"), "agent.model: amp does not support it"),
        ("amp", SessionOptions(continue_session=True), "agent.continueSession: amp does not support it"),
        ("plain", SessionOptions(continue_session=True), "agent.continueSession: plain does not support it"),
    ],
)
def test_an_option_that_a_program_does_not_have_is_refused(
    agent: str, options: SessionOptions, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        adapter_for(agent, command=agent, flags=(), as_root=False, options=options)

    assert caught.value.message == message
    assert "claude" in caught.value.hint


def test_which_agents_can_be_kept_from_writing_is_known() -> None:
    able = {name for name in known_agents() if Option.READ_ONLY in facts_of(name).options}

    assert able >= {"claude", "codex", "gemini", "opencode", "qwen", "copilot"}
    assert not able & {"amp", "plain"}
