"""gemini on a model of this machine: a base address, any key, and one attempt."""

from __future__ import annotations

import json
from typing import Final

from ralph.adapters.agents.loopback import Loopback

_SETTINGS: Final = {
    "general": {"maxAttempts": 1, "disableAutoUpdate": True},
    "privacy": {"usageStatisticsEnabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}},
}

LOOPBACK: Final = Loopback(
    variables={"GEMINI_API_KEY": "scripted-key", "GOOGLE_GEMINI_BASE_URL": "{model}"},
    files={".gemini/settings.json": json.dumps(_SETTINGS)},
)
