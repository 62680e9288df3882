"""qwen on a model of this machine: variables of an OpenAI-compatible service."""

from __future__ import annotations

import json
from typing import Final

from ralph.adapters.agents.loopback import Loopback

_SETTINGS: Final = {
    "model": {"generationConfig": {"contextWindowSize": 2_000_000}},
    "privacy": {"usageStatisticsEnabled": False},
}

LOOPBACK: Final = Loopback(
    variables={
        "OPENAI_API_KEY": "scripted-key",
        "OPENAI_BASE_URL": "{model}/v1",
        "OPENAI_MODEL": "scripted",
    },
    files={".qwen/settings.json": json.dumps(_SETTINGS)},
    persists=True,
)
