"""Agents that a user described in the settings: how they are started, and how they are read."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ralph.adapters.agents.claude.stream import ClaudeStreamParser
from ralph.adapters.agents.codex.stream import CodexStreamParser
from ralph.adapters.agents.copilot.stream import CopilotStreamParser
from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.gemini.stream import GeminiStreamParser
from ralph.adapters.agents.opencode.stream import OpencodeStreamParser
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.qwen.stream import QwenStreamParser
from ralph.adapters.agents.registry import defined_adapter
from ralph.domain.agent.definition import AgentDefinition, PromptWay, speaker_of
from ralph.domain.agent.events import ErrorReported
from ralph.domain.agent.options import SessionOptions
from ralph.domain.loop.session_report import Ending, Fatal, RateLimited, Transient
from ralph.engine.ports import AgentAdapter, AgentRequest, Exit, OutputMode
from ralph.errors import ConfigError

ROOT = Path("/project")
REQUEST = AgentRequest(
    prompt="make x",
    prompt_file=ROOT / "prompt_001.txt",
    log_file=ROOT / "agent_001.ndjson",
    cwd=ROOT,
    environment={"RALPH_RUN_ID": "r-1"},
)


def agent(
    *flags: str,
    prompt: PromptWay = PromptWay.STDIN,
    output: str = "text",
    adapter: str = "",
    model: str = "",
    options: SessionOptions = SessionOptions(),  # noqa: B008 - a constant
) -> AgentAdapter:
    definition = AgentDefinition(
        name="mine",
        command="tools/agent",
        flags=flags,
        adapter=adapter,
        prompt=prompt,
        speaks=speaker_of(output),
        model=model,
        environment={"MINE": "1", "RALPH_RUN_ID": "not-yours"},
    )
    return defined_adapter(definition, flags=("--later",), as_root=False, options=options)


@pytest.mark.parametrize(
    ("prompt", "flags", "argv", "is_on_stdin"),
    [
        (PromptWay.STDIN, (), ["--later"], True),
        (PromptWay.STDIN, ("--now",), ["--now", "--later"], True),
        (PromptWay.ARGUMENT, ("--now",), ["--now", "--later", "make x"], False),
        (PromptWay.ARGUMENT, ("--ask={prompt}",), ["--ask=make x", "--later"], False),
        (PromptWay.FILE, (), ["--later", "/project/prompt_001.txt"], False),
        (PromptWay.FILE, ("-f", "{prompt_file}"), ["-f", "/project/prompt_001.txt", "--later"], False),
    ],
)
def test_the_prompt_goes_where_the_definition_says(
    prompt: PromptWay, flags: tuple[str, ...], argv: list[str], is_on_stdin: bool
) -> None:
    command = agent(*flags, prompt=prompt).command(REQUEST)

    assert list(command.argv) == ["/project/tools/agent", *argv]
    assert command.stdin == (REQUEST.prompt_file if is_on_stdin else None)


def test_it_has_its_own_name_and_environment_but_not_ralphs() -> None:
    mine = agent()

    assert mine.name == "mine"
    assert mine.command(REQUEST).environment == {"MINE": "1", "RALPH_RUN_ID": "r-1"}


def test_its_variables_outrank_those_that_its_adapter_sets_by_itself() -> None:
    definition = AgentDefinition(
        "mine",
        "claude",
        adapter="claude",
        environment={"DISABLE_AUTOUPDATER": "0", "RALPH_RUN_ID": "not-yours"},
    )

    command = defined_adapter(definition, as_root=False).command(REQUEST)

    assert command.environment == {"DISABLE_AUTOUPDATER": "0", "RALPH_RUN_ID": "r-1"}


@pytest.mark.parametrize(
    ("output", "parser"),
    [
        ("text", PlainTextParser),
        ("claude", ClaudeStreamParser),
        ("codex", CodexStreamParser),
        ("gemini", GeminiStreamParser),
        ("opencode", OpencodeStreamParser),
        ("qwen", QwenStreamParser),
        ("copilot", CopilotStreamParser),
        ("amp", ClaudeStreamParser),
        ("claude-stream", ClaudeStreamParser),
        ("codex-json", CodexStreamParser),
        ("gemini-json", GeminiStreamParser),
        ("opencode-json", OpencodeStreamParser),
        ("qwen-stream", QwenStreamParser),
        ("copilot-json", CopilotStreamParser),
    ],
)
def test_its_output_is_read_as_the_definition_says(output: str, parser: type) -> None:
    mine = agent(output=output)

    assert type(mine.parser(REQUEST)) is parser
    if output != "text":
        assert isinstance(mine.parser(dataclasses.replace(REQUEST, mode=OutputMode.TEXT)), FinalWordsParser)


def test_its_faults_are_those_of_the_agent_whose_events_it_prints() -> None:
    exit_ = Exit(Ending.EXITED, 1, 1.0)
    error = ErrorReported("slow down", 429, "", True)

    fault = agent(output="claude").classify(exit_, [error], stderr="", is_empty=True)

    assert fault == RateLimited("slow down")
    assert agent().classify(exit_, [], stderr="oops", is_empty=True) == Transient("exit status 1: oops")


def test_a_program_that_cannot_start_is_named_as_it_was_given() -> None:
    exit_ = Exit(Ending.NOT_STARTED, None, 0.0, error="no such file")

    for mine in (agent(), agent(output="gemini"), agent(adapter="codex")):
        fault = mine.classify(exit_, [], stderr="", is_empty=True)
        assert isinstance(fault, Fatal)
        assert fault.reason == "cannot start tools/agent: no such file"


def test_it_may_be_started_like_an_agent_that_is_known() -> None:
    mine = agent("--effort", "high", adapter="claude", model="opus")

    assert mine.command(REQUEST).argv == (
        "/project/tools/agent",
        "-p",
        "--effort",
        "high",
        "--later",
        "--model=opus",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
    )
    assert mine.notes
    assert mine.linger == 10.0


def test_the_model_goes_where_the_flags_name_it_and_the_runs_choice_comes_first() -> None:
    assert "-m=small" in agent("-m={model}", model="small").command(REQUEST).argv
    wanted = agent("-m={model}", model="small", options=SessionOptions(model="large"))
    assert "-m=large" in wanted.command(REQUEST).argv


def test_a_model_that_nobody_is_told_of_is_refused() -> None:
    with pytest.raises(ConfigError, match="do not use it") as caught:
        agent(model="small")
    assert "{model}" in caught.value.hint

    with pytest.raises(ConfigError, match="no model is set"):
        agent("-m={model}")


def test_an_option_it_does_not_support_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"agent\.maxTurns: mine does not support it"):
        agent(options=SessionOptions(max_turns=3))
    with pytest.raises(ConfigError, match=r"agent\.maxTurns: mine does not support it"):
        agent(adapter="codex", options=SessionOptions(max_turns=3))
    assert (
        "--max-turns=3" in agent(adapter="claude", options=SessionOptions(max_turns=3)).command(REQUEST).argv
    )
