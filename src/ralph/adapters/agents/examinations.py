"""How to find out, without spending a token, whether an agent's program is fit for work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ralph.domain.views.health import KnownGood

IsLoggedIn = Callable[[int, str], bool | None]
"""(exit status, output) of asking the program itself; None: it does not know."""


@dataclass(frozen=True, slots=True)
class OwnProvider:
    """A setting in a file of the agent's that names a model service of the user's own."""

    variable: str  # names the folder
    folder: str  # else it is this one, below the home directory
    file: str
    setting: str


@dataclass(frozen=True, slots=True)
class Examination:
    """``flags`` are those that ralph cannot do without, as ``help`` must name them. ``variables`` and ``files`` (below the
    home directory) are signs of a login where the program has no way to be asked."""

    known_good: KnownGood | None
    help: tuple[str, ...] = ("--help",)
    flags: tuple[str, ...] = ()
    login: tuple[str, ...] = ()
    is_logged_in: IsLoggedIn | None = None
    own_provider: OwnProvider | None = None
    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    how_to_log_in: str = ""
    silent_seconds: float = 0.0  # it may try a failed request again so long without a word


def _by_exit_status(code: int, output: str) -> bool | None:
    return code == 0


_CREDENTIALS = re.compile(r"\b(\d+) (?:credentials?|environment variables?)\b")


def _by_credentials(code: int, output: str) -> bool | None:
    """opencode lists what it has; a provider in its configuration may bring its own key."""
    counts = [int(count) for count in _CREDENTIALS.findall(output)]
    return True if any(counts) else None


EXAMINATIONS: Final[Mapping[str, Examination]] = {
    "claude": Examination(
        KnownGood("2.1", "2.1.325"),
        flags=("--output-format", "--verbose", "--dangerously-skip-permissions"),
        login=("auth", "status"),
        is_logged_in=_by_exit_status,
        variables=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        how_to_log_in="start `claude` once and use /login, or set ANTHROPIC_API_KEY",
        silent_seconds=190,
    ),
    "codex": Examination(
        KnownGood("0.160", "0.166.0"),
        help=("exec", "--help"),
        flags=("--json", "--dangerously-bypass-approvals-and-sandbox"),
        login=("login", "status"),
        is_logged_in=_by_exit_status,
        own_provider=OwnProvider("CODEX_HOME", ".codex", "config.toml", "model_provider"),
        variables=("CODEX_API_KEY",),
        how_to_log_in="`codex login`, or set CODEX_API_KEY",
    ),
    "gemini": Examination(
        KnownGood("0.60", "0.61.0"),
        flags=("--output-format", "--yolo", "--skip-trust"),
        variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
        files=(".gemini/oauth_creds.json",),
        how_to_log_in="start `gemini` once and choose how to sign in, or set GEMINI_API_KEY",
        silent_seconds=290,
    ),
    "opencode": Examination(
        KnownGood("1.18", "1.18.33"),
        help=("run", "--help"),
        flags=("--format", "--auto"),
        login=("auth", "list"),
        is_logged_in=_by_credentials,
        how_to_log_in="`opencode auth login`, or configure a provider in opencode.json",
        silent_seconds=100,
    ),
    "qwen": Examination(
        KnownGood("0.24", "0.24.4"),
        flags=("--output-format", "--yolo"),
        variables=("OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
        files=(".qwen/oauth_creds.json",),
        how_to_log_in="start `qwen` once and use /auth, or set OPENAI_API_KEY",
        silent_seconds=110,
    ),
    "copilot": Examination(
        KnownGood("1.0.100", "1.0.102"),
        flags=("--output-format", "--allow-all", "--no-ask-user", "--no-auto-update"),
        variables=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"),
        how_to_log_in="`copilot login`, or set COPILOT_GITHUB_TOKEN",
        silent_seconds=60,
    ),
    "amp": Examination(
        None,
        variables=("AMP_API_KEY",),
        files=(".local/share/amp/secrets.json",),
        how_to_log_in="`amp login`, or set AMP_API_KEY",
    ),
}
"""Versions are those that were really run; agents that need their own service have none."""
