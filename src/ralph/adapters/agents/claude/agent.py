"""Claude Code: ``claude -p``, prompt on stdin, events as JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program, value_of, without
from ralph.adapters.agents.claude.stream import CONTEXT_FULL, ClaudeStreamParser
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.agent.facts import AgentFacts, AgentNeeds, Clean, Examination, KnownGood, by_exit_status
from ralph.domain.agent.options import ALL_OPTIONS
from ralph.domain.loop.session_report import Exhausted, Fatal, Fault, RateLimited, Transient
from ralph.engine.ports import AgentRequest, Command, OutputMode, StreamParser

FACTS: Final = AgentFacts(
    name="claude",
    install="npm install -g @anthropic-ai/claude-code",
    login="start `claude` once and use /login, or set ANTHROPIC_API_KEY",
    options=ALL_OPTIONS,
    needs=AgentNeeds(
        state=(".claude",),
        login=(".claude/.credentials.json",),
        sessions=(
            ".claude/projects",  # transcripts; memories too, which the user's sessions would obey
            ".claude/tasks",
            ".claude/todos",
        ),
        scratch=(
            ".claude/.*lock",
            ".claude/backups",
            ".claude/cache",
            ".claude/debug",
            ".claude/downloads",
            ".claude/file-history",
            ".claude/history.jsonl",
            ".claude/ide",
            ".claude/image-cache",
            ".claude/jobs",
            ".claude/logs",
            ".claude/paste-cache",
            ".claude/plans",
            ".claude/session-env",
            ".claude/sessions",
            ".claude/shell-snapshots",  # sourced before every command
            ".claude/statsig",
            ".claude/teams",
            ".claude/telemetry",
            ".claude/uploads",
            ".claude/usage-data",
        ),
        copied=(".claude.json",),
        env=(
            "ANTHROPIC_*",
            "CLAUDE_*",
            "DISABLE_*",
            "API_TIMEOUT_MS",
            "MAX_THINKING_TOKENS",
            "BASH_*_TIMEOUT_MS",
        ),
        named=(
            ("CLAUDE_CONFIG_DIR", ".claude"),
            ("CLAUDE_CODE_CLIENT_CERT", ""),
            ("CLAUDE_CODE_CLIENT_KEY", ""),
        ),
        hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"),
    ),
    examination=Examination(
        KnownGood("2.1", "2.1.325"),
        flags=("--output-format", "--verbose", "--dangerously-skip-permissions"),
        login=("auth", "status"),
        is_logged_in=by_exit_status,
        variables=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        silent_seconds=190,
    ),
    tells_quota=True,
    clean=Clean(
        # Strict: no servers but those of --mcp-config. Sources: nothing of ~/.claude but the login.
        ("--strict-mcp-config", "--setting-sources=project,local"),
        (("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),),
        drops="your MCP servers, plugins, hooks, skills, settings and memory files",
    ),
)

USERS_LIMITS: Final = {"error_max_turns": faults.TURNS, "error_max_budget_usd": faults.BUDGET}
"""The user set these; a session that reached one is judged as it is."""

_NOT_LOGGED_IN: Final = frozenset(
    ("authentication_failed", "authentication_error", "permission_error", "oauth_org_not_allowed")
)
_LIMITED: Final = frozenset(("rate_limit", "rate_limit_error", "usage_limit_reached"))
_TOO_LARGE: Final = CONTEXT_FULL | {"request_too_large"}
_SERVER: Final = frozenset(
    ("server_error", "overloaded", "overloaded_error", "api_error", "connection_failed")
)

_BY_CODE: Final[Mapping[str, type[Transient] | type[RateLimited]]] = {
    **dict.fromkeys(_LIMITED, RateLimited),
    **dict.fromkeys(_SERVER, Transient),
}

READING_TOOLS: Final = "Read,Grep,Glob"
"""Without a shell and without editors nothing can be changed."""


class ClaudeAdapter(StructuredAdapter):
    facts = FACTS
    grants = ("--dangerously-skip-permissions",)
    chooses = (
        "--allow-dangerously-skip-permissions",
        "--permission-mode",
        "--permission-prompt-tool",
        "--allowedTools",
        "--allowed-tools",
        "--disallowedTools",
        "--disallowed-tools",
        "--tools",
    )
    model_flags = ("--model",)
    turns_flag = "--max-turns"

    def command(self, request: AgentRequest) -> Command:
        argv = [program(self._command, request.cwd)]
        if not self._gives("-p", "--print"):
            argv.append("-p")
        flags = without(self._flags, valued=("--tools",)) if request.read_only else self._flags
        argv += [*flags, *self._model(), *self._max_turns()]
        if request.continues:
            argv.append(f"--resume={request.continues}")
        if request.read_only:
            argv.append(f"--tools={READING_TOOLS}")
        wants_events = request.mode is OutputMode.STREAM
        if not self._gives("--output-format"):
            argv += ["--output-format", "stream-json" if wants_events else "text"]
        if wants_events and not self._gives("--verbose"):
            argv.append("--verbose")  # claude refuses stream-json without it
        if self._adds_grant:
            argv.append(self.grants[0])
        environment = {"DISABLE_AUTOUPDATER": "1", **self._environment}
        if self._as_root:
            environment["IS_SANDBOX"] = "1"  # as root claude refuses to skip permissions without it
        environment |= request.environment
        return Command(tuple(argv), request.cwd, environment, request.prompt_file)

    def parser(self, request: AgentRequest) -> StreamParser:
        chosen = value_of(self._flags, "--output-format")
        prints_text = request.mode is OutputMode.TEXT if chosen is None else chosen == "text"
        return PlainTextParser() if prints_text else ClaudeStreamParser()

    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        code = failure.code
        if code in USERS_LIMITS:
            return USERS_LIMITS[code]
        if code in _NOT_LOGGED_IN:
            return Fatal(failure.message, FACTS.login_hint)
        if code == "billing_error":
            return Fatal(failure.message, faults.CREDIT_HINT)
        if code in _TOO_LARGE:
            return faults.too_long(failure)
        if code == "error_during_execution" and not failure.turns and failure.is_empty:
            # It never began: a session to resume that is not there, and the like.
            return Fatal(failure.message, "check the flags of the agent")
        if code in _BY_CODE:
            return _BY_CODE[code](failure.message)
        return faults.by_status(failure, FACTS)

    def explain_silence(self, stderr: str, code: int) -> Fault | Exhausted | None:
        return faults.startup_error(stderr)


ADAPTER: Final = ClaudeAdapter
