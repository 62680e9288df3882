"""The command lines: exactly what is started, with which prompt, environment and notes."""

from __future__ import annotations

import dataclasses
import json
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
from ralph.adapters.agents.registry import adapter_for
from ralph.agent_names import known_agents
from ralph.domain.agent.options import NO_OPTIONS, Isolation, SessionOptions
from ralph.engine.ports import AgentAdapter, AgentRequest, OutputMode
from ralph.errors import ConfigError

ROOT = Path("/project")
PROMPT_FILE = ROOT / ".ralph" / "prompt_001.txt"
REQUEST = AgentRequest(
    prompt="make x",
    prompt_file=PROMPT_FILE,
    log_file=ROOT / ".ralph" / "agent_001.ndjson",
    cwd=ROOT,
    environment={"RALPH_RUN_ID": "r-1"},
)
TEXT = dataclasses.replace(REQUEST, mode=OutputMode.TEXT)

SKIP = "--dangerously-skip-permissions"
BYPASS = "--dangerously-bypass-approvals-and-sandbox"


def adapter(
    name: str,
    *flags: str,
    command: str = "",
    as_root: bool = False,
    options: SessionOptions = NO_OPTIONS,
) -> AgentAdapter:
    return adapter_for(name, command=command or name, flags=flags, as_root=as_root, options=options)


@pytest.mark.parametrize(
    ("name", "flags", "request_", "argv"),
    [
        ("claude", (), REQUEST, f"claude -p --output-format stream-json --verbose {SKIP}"),
        ("claude", (), TEXT, f"claude -p --output-format text {SKIP}"),
        (
            "claude",
            ("--model", "opus"),
            REQUEST,
            f"claude -p --model opus --output-format stream-json --verbose {SKIP}",
        ),
        (
            "claude",
            ("--print", "--verbose", "--output-format=json"),
            REQUEST,
            f"claude --print --verbose --output-format=json {SKIP}",
        ),
        (
            "claude",
            ("--permission-mode=plan",),
            REQUEST,
            "claude -p --permission-mode=plan --output-format stream-json --verbose",
        ),
        (
            "claude",
            ("--allowedTools", "Bash"),
            REQUEST,
            "claude -p --allowedTools Bash --output-format stream-json --verbose",
        ),
        ("claude", (SKIP,), REQUEST, f"claude -p {SKIP} --output-format stream-json --verbose"),
        ("codex", (), REQUEST, f"codex e --json {BYPASS} -"),
        ("codex", ("-m", "gpt-5.5"), REQUEST, f"codex e --json {BYPASS} -m gpt-5.5 -"),
        ("codex", (), TEXT, f"codex e {BYPASS} -"),
        ("codex", ("--json",), REQUEST, f"codex e {BYPASS} --json -"),
        (
            "codex",
            ("-s", "workspace-write"),
            REQUEST,
            "codex e --json -s workspace-write -",
        ),
        ("codex", ("-sread-only",), REQUEST, "codex e --json -sread-only -"),
        ("codex", ("--yolo",), REQUEST, "codex e --json --yolo -"),
        (
            "codex",
            ("-c", "sandbox_mode=read-only"),
            REQUEST,
            "codex e --json -c sandbox_mode=read-only -",
        ),
        ("gemini", (), REQUEST, "gemini --output-format stream-json --yolo --skip-trust"),
        ("gemini", (), TEXT, "gemini --output-format stream-json --yolo --skip-trust"),
        (
            "gemini",
            ("-o", "text", "--approval-mode=auto_edit", "--skip-trust"),
            REQUEST,
            "gemini -o text --approval-mode=auto_edit --skip-trust",
        ),
        ("opencode", (), REQUEST, "opencode run --format json --auto"),
        ("opencode", ("-m", "a/b", "--auto"), REQUEST, "opencode run -m a/b --auto --format json"),
        ("qwen", (), REQUEST, "qwen --output-format stream-json --yolo"),
        (
            "qwen",
            ("--approval-mode", "auto-edit"),
            REQUEST,
            "qwen --approval-mode auto-edit --output-format stream-json",
        ),
        (
            "copilot",
            (),
            REQUEST,
            "copilot --output-format json --allow-all --no-ask-user --no-auto-update",
        ),
        (
            "copilot",
            ("--allow-tool=write",),
            REQUEST,
            "copilot --allow-tool=write --output-format json --no-ask-user --no-auto-update",
        ),
    ],
)
def test_an_agent_with_its_prompt_on_stdin_is_started_like_this(
    name: str, flags: tuple[str, ...], request_: AgentRequest, argv: str
) -> None:
    command = adapter(name, *flags).command(request_)

    assert command.argv == tuple(argv.split())
    assert command.stdin == PROMPT_FILE
    assert command.cwd == ROOT
    assert command.environment["RALPH_RUN_ID"] == "r-1"


def test_claude_does_not_update_itself_and_as_root_is_told_that_it_is_sandboxed() -> None:
    assert adapter("claude").command(REQUEST).environment == {
        "DISABLE_AUTOUPDATER": "1",
        "RALPH_RUN_ID": "r-1",
    }
    assert adapter("claude", as_root=True).command(REQUEST).environment["IS_SANDBOX"] == "1"


@pytest.mark.parametrize(
    ("name", "flags", "said"),
    [
        ("claude", (), True),
        ("claude", (SKIP,), True),
        ("claude", ("--permission-mode", "acceptEdits"), False),
        ("codex", (), True),
        ("codex", ("--yolo",), True),
        ("codex", ("--sandbox", "workspace-write"), False),
        ("amp", (), True),
        ("gemini", (), True),
        ("gemini", ("--approval-mode", "auto_edit"), False),
        ("opencode", (), True),
        ("qwen", (), True),
        ("qwen", ("--approval-mode", "default"), False),
        ("copilot", (), True),
        ("copilot", ("--deny-tool", "shell"), False),
    ],
)
def test_notes_say_when_the_agent_may_do_anything(name: str, flags: tuple[str, ...], said: bool) -> None:
    notes = adapter(name, *flags).notes

    assert any("may run any command" in note for note in notes) is said


def test_amp_is_marked_as_unproven() -> None:
    assert any("unproven" in note for note in adapter("amp").notes)


@pytest.mark.parametrize(
    ("flags", "request_", "argv"),
    [
        ((), REQUEST, ["amp", "--stream-json", "--dangerously-allow-all", "-x", "make x"]),
        ((), TEXT, ["amp", "--dangerously-allow-all", "-x", "make x"]),
        (
            ("--dangerously-allow-all", "--mode", "rush"),
            REQUEST,
            ["amp", "--dangerously-allow-all", "--mode", "rush", "--stream-json", "-x", "make x"],
        ),
    ],
)
def test_amp_gets_its_prompt_as_the_last_argument(
    flags: tuple[str, ...], request_: AgentRequest, argv: list[str]
) -> None:
    command = adapter("amp", *flags).command(request_)

    assert list(command.argv) == argv
    assert command.stdin is None


@pytest.mark.parametrize("prompt", ["x" * 100_001, "ü" * 50_001, "- do this\n- do that", "nul\0byte"])
def test_amp_gets_a_prompt_that_is_no_good_argument_on_stdin(prompt: str) -> None:
    command = adapter("amp").command(dataclasses.replace(REQUEST, prompt=prompt))

    assert command.argv[-1] == "-x"
    assert command.stdin == PROMPT_FILE


@pytest.mark.parametrize("name", known_agents())
def test_a_relative_command_resolves_from_the_project(name: str) -> None:
    assert adapter(name, command="tools/agent").command(REQUEST).argv[0] == "/project/tools/agent"
    assert adapter(name, command="./agent").command(REQUEST).argv[0] == "/project/agent"
    assert adapter(name, command="/opt/agent").command(REQUEST).argv[0] == "/opt/agent"
    assert adapter(name, command="agent").command(REQUEST).argv[0] == "agent"


def test_a_nul_in_a_prompt_does_not_keep_it_off_the_command_line() -> None:
    request = dataclasses.replace(REQUEST, prompt="nul\0byte")
    assert adapter("plain", "{prompt}", command="my-agent").command(request).argv[-1] == "nul\\0byte"


def test_a_plain_agent_gets_the_prompt_on_stdin() -> None:
    command = adapter("plain", "--fast", command="my-agent").command(REQUEST)

    assert command.argv == ("my-agent", "--fast")
    assert command.stdin == PROMPT_FILE


def test_placeholders_are_replaced_inside_arguments_and_stdin_is_empty_then() -> None:
    command = adapter("plain", "--ask={prompt}", "{prompt_file}", "{other}", command="my-agent").command(
        dataclasses.replace(REQUEST, prompt="say $(hi) {prompt_file}; rm -rf x")
    )

    assert command.argv == (
        "my-agent",
        "--ask=say $(hi) {prompt_file}; rm -rf x",
        str(PROMPT_FILE),
        "{other}",
    )
    assert command.stdin is None


def test_a_prompt_too_long_for_a_command_line_is_refused_with_the_way_out() -> None:
    long = dataclasses.replace(REQUEST, prompt="ü" * 50_001)

    with pytest.raises(ConfigError, match="does not fit on a command line") as caught:
        adapter("plain", "{prompt}", command="my-agent").command(long)
    assert "{prompt_file}" in caught.value.hint

    assert adapter("plain", "{prompt_file}", command="my-agent").command(long).argv[1] == str(PROMPT_FILE)


@pytest.mark.parametrize(
    ("name", "flags", "request_", "parser"),
    [
        ("claude", (), REQUEST, ClaudeStreamParser),
        ("claude", (), TEXT, PlainTextParser),
        ("claude", ("--output-format", "text"), REQUEST, PlainTextParser),
        ("claude", ("--output-format=json",), TEXT, ClaudeStreamParser),
        ("codex", (), REQUEST, CodexStreamParser),
        ("codex", (), TEXT, PlainTextParser),
        ("amp", (), REQUEST, ClaudeStreamParser),
        ("amp", (), TEXT, PlainTextParser),
        ("gemini", (), REQUEST, GeminiStreamParser),
        ("gemini", (), TEXT, FinalWordsParser),
        ("gemini", ("--output-format=text",), REQUEST, PlainTextParser),
        ("gemini", ("-o", "json"), REQUEST, PlainTextParser),
        ("opencode", (), REQUEST, OpencodeStreamParser),
        ("opencode", (), TEXT, FinalWordsParser),
        ("opencode", ("--format", "default"), REQUEST, PlainTextParser),
        ("qwen", (), REQUEST, QwenStreamParser),
        ("qwen", (), TEXT, FinalWordsParser),
        ("qwen", ("-o", "text"), REQUEST, PlainTextParser),
        ("copilot", (), REQUEST, CopilotStreamParser),
        ("copilot", (), TEXT, FinalWordsParser),
        ("copilot", ("--output-format", "text"), REQUEST, PlainTextParser),
        ("plain", (), REQUEST, PlainTextParser),
        ("plain", (), TEXT, PlainTextParser),
    ],
)
def test_the_parser_reads_what_the_command_line_makes_the_agent_print(
    name: str, flags: tuple[str, ...], request_: AgentRequest, parser: type
) -> None:
    assert type(adapter(name, *flags).parser(request_)) is parser


def test_only_a_plain_agent_may_stay_as_long_as_it_likes() -> None:
    lingers = {name: adapter(name).linger for name in known_agents()}

    assert lingers.pop("plain") is None
    assert set(lingers.values()) == {10.0}


@pytest.mark.parametrize(
    ("name", "variable"),
    [("gemini", "GEMINI_CLI_NO_RELAUNCH"), ("qwen", "QWEN_CODE_NO_RELAUNCH")],
)
def test_an_agent_that_starts_itself_again_is_told_not_to(name: str, variable: str) -> None:
    environment = adapter(name).command(REQUEST).environment

    assert environment[variable] == "true"
    assert environment["RALPH_RUN_ID"] == "r-1"


def test_qwen_is_told_to_remember_nothing_of_one_session_for_the_next() -> None:
    environment = adapter("qwen").command(REQUEST).environment

    defaults = json.loads(Path(environment["QWEN_CODE_SYSTEM_DEFAULTS_PATH"]).read_text())
    assert defaults["memory"] == {"enableManagedAutoMemory": False, "enableManagedAutoDream": False}


# --- session options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "added"),
    [
        ("claude", SessionOptions(model="opus"), "--model=opus"),
        ("claude", SessionOptions(max_turns=7), "--max-turns=7"),
        ("codex", SessionOptions(model="gpt-5.5"), "--model=gpt-5.5"),
        ("gemini", SessionOptions(model="gemini-2.5-pro"), "--model=gemini-2.5-pro"),
        ("opencode", SessionOptions(model="lab/model"), "--model=lab/model"),
        ("qwen", SessionOptions(model="qwen3-coder-plus"), "--model=qwen3-coder-plus"),
        ("qwen", SessionOptions(max_turns=7), "--max-session-turns=7"),
        ("copilot", SessionOptions(model="auto"), "--model=auto"),
    ],
)
def test_a_session_option_becomes_a_flag(name: str, options: SessionOptions, added: str) -> None:
    plain = adapter(name).command(REQUEST).argv
    with_option = adapter(name, options=options).command(REQUEST).argv

    assert [argument for argument in with_option if argument not in plain] == [added]


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("claude", ("--model", "haiku")),
        ("codex", ("-c", 'model="gpt-5.4"')),
        ("gemini", ("-m", "gemini-2.5-flash")),
        ("opencode", ("--model=a/b",)),
        ("qwen", ("-mcoder",)),
        ("copilot", ("--model=auto",)),
    ],
)
def test_the_users_own_flag_outranks_the_option(name: str, flags: tuple[str, ...]) -> None:
    argv = adapter(name, *flags, options=SessionOptions(model="another")).command(REQUEST).argv

    assert not any("another" in argument for argument in argv)


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("claude", ["--resume=s-1"]),
        ("codex", ["resume", "s-1"]),
        ("gemini", ["--resume=s-1"]),
        ("opencode", ["--session=s-1"]),
        ("qwen", ["--resume=s-1"]),
        ("copilot", ["--resume=s-1"]),
    ],
)
def test_a_session_goes_on_with_another(name: str, added: list[str]) -> None:
    fresh = adapter(name).command(REQUEST).argv
    argv = adapter(name).command(dataclasses.replace(REQUEST, continues="s-1")).argv

    assert [argument for argument in argv if argument not in fresh] == added


@pytest.mark.parametrize(
    ("name", "added", "removed"),
    [
        ("claude", ["--tools=Read,Grep,Glob"], []),
        ("codex", ["--sandbox", "read-only"], [BYPASS]),
        ("gemini", ["--approval-mode", "plan"], ["--yolo"]),
        ("opencode", ["--agent", "plan"], ["--auto"]),
        ("qwen", ["--approval-mode", "plan"], ["--yolo"]),
        ("copilot", ["--deny-tool=write", "--deny-tool=shell"], []),
        ("amp", [], []),
        ("plain", [], []),
    ],
)
def test_a_session_that_only_judges_is_kept_from_writing(
    name: str, added: list[str], removed: list[str]
) -> None:
    usual = adapter(name).command(REQUEST).argv
    argv = adapter(name).command(dataclasses.replace(REQUEST, read_only=True)).argv

    assert [argument for argument in argv if argument not in usual] == added
    assert [argument for argument in usual if argument not in argv] == removed


@pytest.mark.parametrize(
    ("name", "flags", "argv"),
    [
        (
            "claude",
            ("--tools", "Bash", "Edit", "--model", "opus"),
            "claude -p --model opus --tools=Read,Grep,Glob",
        ),
        ("codex", ("--yolo", "-m", "x"), "codex e --json --sandbox read-only -m x -"),
        ("codex", ("-s", "workspace-write", "-anever"), "codex e --json --sandbox read-only -"),
        ("codex", (BYPASS, "--sandbox=danger-full-access"), "codex e --json --sandbox read-only -"),
        (
            "gemini",
            ("-y", "--allowed-tools", "a", "b"),
            "gemini --output-format stream-json --approval-mode plan",
        ),
        ("gemini", ("--approval-mode=yolo",), "gemini --output-format stream-json --approval-mode plan"),
        ("qwen", ("--yolo", "-m", "x"), "qwen -m x --output-format stream-json --approval-mode plan"),
        (
            "copilot",
            ("--allow-all",),
            "copilot --allow-all --output-format json --deny-tool=write --deny-tool=shell",
        ),
    ],
)
def test_flags_that_permit_writing_are_not_for_those_who_judge(
    name: str, flags: tuple[str, ...], argv: str
) -> None:
    command = adapter(name, *flags).command(dataclasses.replace(REQUEST, read_only=True))

    assert " ".join(command.argv).startswith(argv)


# --- a prompt that is too long for codex -------------------------------------------------------------------


def test_codex_gets_a_prompt_up_to_its_limit_on_stdin() -> None:
    command = adapter("codex").command(dataclasses.replace(REQUEST, prompt="ü" * 1_048_576))

    assert command.argv[-1] == "-"
    assert command.stdin == PROMPT_FILE


def test_codex_is_pointed_to_the_file_of_a_longer_prompt() -> None:
    command = adapter("codex").command(dataclasses.replace(REQUEST, prompt="x" * 1_048_577))

    assert str(PROMPT_FILE) in command.argv[-1]
    assert len(command.argv[-1]) < 1_000
    assert command.stdin is None


def test_opencode_is_kept_from_its_shell_too_when_it_only_judges() -> None:
    usual = adapter("opencode").command(REQUEST).environment
    asked = dataclasses.replace(REQUEST, read_only=True, environment={"OPENCODE_PERMISSION": '{"*":"allow"}'})
    judging = adapter("opencode").command(asked).environment

    assert "OPENCODE_PERMISSION" not in usual
    assert judging["OPENCODE_PERMISSION"] == '{"edit":"deny","bash":"deny"}'


CLEAN = SessionOptions(isolation=Isolation.CLEAN)


@pytest.mark.parametrize(
    ("name", "added", "note"),
    [
        (
            "claude",
            ("--strict-mcp-config", "--setting-sources=project,local"),
            "claude starts clean, without your MCP servers, plugins, hooks, skills, settings and memory files",
        ),
        ("codex", ("--ignore-user-config",), "it still has your AGENTS.md and skills"),
        ("gemini", ("--extensions=none",), "it still has your GEMINI.md and skills"),
        ("qwen", ("--allowed-mcp-server-names=none",), "it still has your QWEN.md and skills"),
        ("opencode", ("--pure",), "it still has your MCP servers"),
        ("copilot", (), "copilot cannot start clean"),
        ("amp", (), "amp cannot start clean"),
        ("plain", (), "plain cannot start clean"),
    ],
)
def test_a_clean_start_has_its_flags_and_says_what_it_cannot_leave_out(
    name: str, added: tuple[str, ...], note: str
) -> None:
    usual, clean = adapter(name), adapter(name, options=CLEAN)
    assert set(added) <= set(clean.command(REQUEST).argv)
    assert not set(added) & set(usual.command(REQUEST).argv)
    assert note in " ".join(clean.notes)
    assert "clean" not in " ".join(usual.notes)


def test_the_users_flags_outrank_those_of_a_clean_start() -> None:
    argv = adapter("claude", "--setting-sources", "user", options=CLEAN).command(REQUEST).argv
    assert "--setting-sources=project,local" not in argv
    assert adapter("claude", options=CLEAN).command(REQUEST).environment["CLAUDE_CODE_DISABLE_AUTO_MEMORY"]


def test_a_folder_whose_name_is_not_text_cannot_be_told_by_acp() -> None:
    adapter = adapter_for("acp", command="kimi", flags=(), as_root=False)

    with pytest.raises(ConfigError, match="its name is not UTF-8"):
        adapter.command(dataclasses.replace(REQUEST, cwd=Path("/work/caf\udce9")))
