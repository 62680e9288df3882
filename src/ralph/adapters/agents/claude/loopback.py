"""claude on a model of this machine: a base address and any key."""

from __future__ import annotations

from typing import Final

from ralph.adapters.agents.loopback import Loopback

LOOPBACK: Final = Loopback(
    variables={
        "ANTHROPIC_BASE_URL": "{model}",
        "ANTHROPIC_API_KEY": "scripted-key",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    },
    subscription={"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "scripted-token"},
)
