"""Where the sessions of sandboxed agents are kept: in the project's state folder, apart from the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SESSIONS: Final = "sessions"


def kept_sessions(state_folder: Path, name: str) -> Path:
    """Not nested: what one agent may write is not above what another one may. ``name``: below the user's home."""
    return state_folder / SESSIONS / name.replace("/", "+")
