"""What each agent needs of the world outside: its own folders, variables and hosts. Data, one row per program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import PurePath
from urllib.parse import urlsplit

from ralph.domain.sandbox.allow_list import HostRule, parse_rule


@dataclass(frozen=True, slots=True)
class AgentNeeds:
    """Paths are relative to the home folder.

    ``state`` is shared with the user's own sessions, so that a renewed log-in is not lost; ``protected`` lies in it
    and holds what those sessions would *run*: settings with hooks, plugins. ``copied`` files are private to each
    process: the agent may change them, and the changes are gone afterwards.
    """

    state: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


_AGENTS = {
    "claude": AgentNeeds(
        state=(".claude",),
        protected=(
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/CLAUDE.md",
            ".claude/agents/",
            ".claude/commands/",
            ".claude/hooks/",
            ".claude/output-styles/",
            ".claude/plugins/",
            ".claude/rules/",
            ".claude/skills/",
        ),
        copied=(".claude.json",),
        env=("ANTHROPIC_*", "CLAUDE_*", "DISABLE_*", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS", "BASH_*_TIMEOUT_MS"),
        hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"),
    ),
    "codex": AgentNeeds(
        state=(".codex",),
        protected=(
            ".codex/config.toml",
            ".codex/hooks.json",
            ".codex/AGENTS.md",
            ".codex/prompts/",
            ".codex/rules/",
            ".codex/skills/",
        ),
        env=("OPENAI_*", "CODEX_*"),
        hosts=("api.openai.com", "auth.openai.com", "chatgpt.com"),
    ),
    "amp": AgentNeeds(
        state=(".local/share/amp", ".cache/amp"),
        readonly=(".config/amp",),
        env=("AMP_*",),
        hosts=("ampcode.com", "*.ampcode.com"),
    ),
    "gemini": AgentNeeds(
        state=(".gemini",),
        protected=(".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/commands/", ".gemini/extensions/"),
        env=("GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_GENAI_*"),
        hosts=(
            "generativelanguage.googleapis.com",
            "cloudcode-pa.googleapis.com",
            "oauth2.googleapis.com",
            "aiplatform.googleapis.com",
        ),
    ),
    "opencode": AgentNeeds(
        state=(".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
        readonly=(".config/opencode",),
        env=("OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "OPENROUTER_*"),
        hosts=("opencode.ai", "models.dev", "api.anthropic.com", "api.openai.com", "openrouter.ai"),
    ),
    "qwen": AgentNeeds(
        state=(".qwen",),
        protected=(".qwen/settings.json", ".qwen/QWEN.md", ".qwen/extensions/"),
        env=("QWEN_*", "OPENAI_*", "DASHSCOPE_*"),
        hosts=("chat.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
    ),
    "copilot": AgentNeeds(
        state=(".copilot",),
        protected=(".copilot/config.json", ".copilot/mcp-config.json"),
        env=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"),
        hosts=("api.github.com", "api.githubcopilot.com", "*.githubcopilot.com"),
    ),
}  # fmt: skip


def needs_of(programs: Iterable[str]) -> AgentNeeds:
    """Of all of them. Nothing for a program that nobody knows: its user lists what it needs in the settings."""
    known = [_AGENTS.get(PurePath(program).name, AgentNeeds()) for program in programs]
    return AgentNeeds(
        *(
            tuple(dict.fromkeys(entry for needs in known for entry in getattr(needs, field.name)))
            for field in fields(AgentNeeds)
        )
    )


def host_rules(needs: AgentNeeds, environ: Mapping[str, str]) -> tuple[HostRule, ...]:
    """The agent's own hosts, and those that the user's environment sends it to instead (``…_BASE_URL``)."""
    rules = [parse_rule(host) for host in needs.hosts]
    for name in sorted(environ):
        if name.endswith("_BASE_URL") and (rule := _rule_of_url(environ[name])) is not None:
            rules.append(rule)
    return tuple(dict.fromkeys(rules))


def _rule_of_url(url: str) -> HostRule | None:
    try:
        parts = urlsplit(url)
        port = parts.port
        rule = parse_rule(parts.hostname or "")
    except ValueError:
        return None
    return HostRule(rule.host, rule.is_wildcard, port) if parts.scheme in ("http", "https") else None
