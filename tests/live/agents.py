"""How each real agent is pointed at the scripted model, and kept from trying again and again by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

Variables = dict[str, str]


@dataclass(frozen=True, slots=True)
class LiveAgent:
    """An agent's program, and a function that prepares its home: (home, address of the model) → variables.

    ``subscription``: variables that make it think that it works for an account and not with a key.
    ``persists``: it tries again by itself, whatever it is told.
    """

    name: str
    prepare: Callable[[Path, str], Variables]
    subscription: Mapping[str, str] = field(default_factory=dict)
    persists: bool = False


def _claude(home: Path, model: str) -> Variables:
    return {
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "scripted-key",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def _codex(home: Path, model: str) -> Variables:
    folder = home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        'model = "scripted"\n'
        'model_provider = "scripted"\n'
        "[model_providers.scripted]\n"
        'name = "scripted"\n'
        f'base_url = "{model}/v1"\n'
        'env_key = "SCRIPTED_API_KEY"\n'
        'wire_api = "responses"\n'
        "request_max_retries = 0\n"
        "stream_max_retries = 0\n"
    )
    return {"CODEX_HOME": str(folder), "SCRIPTED_API_KEY": "scripted-key"}


def _gemini(home: Path, model: str) -> Variables:
    folder = home / ".gemini"
    folder.mkdir(exist_ok=True)
    settings = {
        "general": {"maxAttempts": 1, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    return {"GEMINI_API_KEY": "scripted-key", "GOOGLE_GEMINI_BASE_URL": model}


def _opencode(home: Path, model: str) -> Variables:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{model}/v1", "apiKey": "scripted-key"},
        "models": {"scripted": {"name": "scripted"}},
    }
    settings = {"model": "scripted/scripted", "provider": {"scripted": provider}, "autoupdate": False}
    file = home / "opencode.json"
    file.write_text(json.dumps(settings))
    return {"OPENCODE_CONFIG": str(file), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _qwen(home: Path, model: str) -> Variables:
    folder = home / ".qwen"
    folder.mkdir(exist_ok=True)
    settings = {
        "model": {"generationConfig": {"contextWindowSize": 2_000_000}},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    return {
        "OPENAI_API_KEY": "scripted-key",
        "OPENAI_BASE_URL": f"{model}/v1",
        "OPENAI_MODEL": "scripted",
    }


def _copilot(home: Path, model: str) -> Variables:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{model}/v1",
        "COPILOT_PROVIDER_API_KEY": "scripted-key",
        "COPILOT_MODEL": "scripted",
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "2000000",
    }


LIVE_AGENTS: Final[Mapping[str, LiveAgent]] = {
    agent.name: agent
    for agent in (
        LiveAgent("claude", _claude, {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "scripted-token"}),
        LiveAgent("codex", _codex),
        LiveAgent("gemini", _gemini),
        LiveAgent("opencode", _opencode, persists=True),
        LiveAgent("qwen", _qwen, persists=True),
        LiveAgent("copilot", _copilot, persists=True),
    )
}
