from __future__ import annotations

import pytest

from ralph.adapters.processes.environment import clean_environment


@pytest.mark.parametrize(
    "name",
    [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SOME_NEW_SESSION_ID",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "CODEX_THREAD_ID",
        "AMP_CURRENT_THREAD_ID",
        "GEMINI_CLI",
        "OPENCODE",
        "AI_AGENT",
    ],
)
def test_the_marks_of_an_outer_session_are_removed(name: str) -> None:
    assert clean_environment({name: "1", "HOME": "/h"}) == {"HOME": "/h"}


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "AMP_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_MAX_RETRIES",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CODEX_HOME",
        "COLUMNS",
        "GEMINI_API_KEY",
        "GEMINI_CLI_NO_RELAUNCH",
        "OPENCODE_CONFIG",
        "PATH",
        "TERM_SESSION_ID",
    ],
)
def test_what_users_configure_stays(name: str) -> None:
    assert clean_environment({name: "1"}) == {name: "1"}


def test_the_common_name_agent_is_a_mark_only_with_an_agents_name() -> None:
    assert clean_environment({"AGENT": "amp"}) == {}
    assert clean_environment({"AGENT": "build-7"}) == {"AGENT": "build-7"}
