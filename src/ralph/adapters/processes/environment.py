"""The environment of a child: the user's, without the marks of an outer agent session.

``ralph`` may itself have been started from an agent's shell. An agent that sees the marks of an outer session refuses
to start, joins that session, or thinks that it is sandboxed. What users configure stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph.agent_names import named_agents

_MARKS = frozenset({
    "AGENT_THREAD_ID", "AI_AGENT", "AMP_CURRENT_THREAD_ID", "AMP_THREAD_ID", "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT", "CLAUDECODE", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_IS_COWORK", "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_PARENT_SESSION_ID", "CLAUDE_CODE_REMOTE_SESSION_ID", "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR",
    "CLAUDE_SESSION_ID", "CLINE_ACTIVE", "CODEX_CI", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_BY_BUN", "CODEX_MANAGED_BY_NPM", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID", "COPILOT_CLI", "CRUSH", "CURSOR_AGENT", "CURSOR_TRACE_ID", "GEMINI_CLI",
    "GOOSE_TERMINAL", "OPENCODE", "OPENCODE_CALLER", "OPENCODE_CLIENT", "OPENCODE_PID", "OPENCODE_RUN_ID",
    "OPENCODE_SESSION_ID", "QWEN_CODE",
})  # fmt: skip
_FAMILIES = ("CURSOR_", *(f"{name.upper().replace('-', '_')}_" for name in named_agents()))
_SESSION_ENDINGS = ("_CONVERSATION_ID", "_SESSION_ID", "_SSE_PORT", "_THREAD_ID")
_AGENT_NAMES = frozenset({"crush", "goose", *named_agents()})


def clean_environment(base: Mapping[str, str]) -> dict[str, str]:
    """``base`` without an outer agent's marks; keys, addresses, homes and other settings stay."""
    return {name: value for name, value in base.items() if not _is_mark(name, value)}


def _is_mark(name: str, value: str) -> bool:
    if name in _MARKS or name.startswith("CODEX_SANDBOX"):
        return True
    if name == "AGENT":  # a common name: only an agent's own name makes it a mark
        return value in _AGENT_NAMES
    return name.startswith(_FAMILIES) and name.endswith(_SESSION_ENDINGS)
