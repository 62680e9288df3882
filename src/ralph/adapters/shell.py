"""Passes a command line that the user wrote to a shell."""

from __future__ import annotations

import sys


def shell_argv(command: str, platform: str = sys.platform) -> tuple[str, ...]:
    return ("cmd", "/c", command) if platform == "win32" else ("sh", "-c", command)
