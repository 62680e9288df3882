"""opencode on a model of this machine: a provider in a configuration file that a variable names."""

from __future__ import annotations

import json
from typing import Final

from ralph.adapters.agents.loopback import Loopback

_PROVIDER: Final = {
    "npm": "@ai-sdk/openai-compatible",
    "name": "scripted",
    "options": {"baseURL": "{model}/v1", "apiKey": "scripted-key"},
    "models": {"scripted": {"name": "scripted"}, "probe-model": {"name": "probe-model"}},
}

LOOPBACK: Final = Loopback(
    variables={"OPENCODE_CONFIG": "{home}/opencode.json", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
    files={
        "opencode.json": json.dumps(
            {"model": "scripted/scripted", "provider": {"scripted": _PROVIDER}, "autoupdate": False}
        )
    },
    persists=True,
    other_model="scripted/probe-model",
)
