"""copilot on a model of this machine: a provider by variables, and no network."""

from __future__ import annotations

from typing import Final

from ralph.adapters.agents.loopback import Loopback

LOOPBACK: Final = Loopback(
    variables={
        "COPILOT_PROVIDER_BASE_URL": "{model}/v1",
        "COPILOT_PROVIDER_API_KEY": "scripted-key",
        "COPILOT_MODEL": "scripted",
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "2000000",
    },
    persists=True,
)
