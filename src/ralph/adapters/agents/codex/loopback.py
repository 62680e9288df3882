"""codex on a model of this machine: a provider in its configuration."""

from __future__ import annotations

from typing import Final

from ralph.adapters.agents.loopback import Loopback

LOOPBACK: Final = Loopback(
    variables={"CODEX_HOME": "{home}/.codex", "SCRIPTED_API_KEY": "scripted-key"},
    files={
        ".codex/config.toml": """\
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{model}/v1"
env_key = "SCRIPTED_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""
    },
)
