"""The user's browser: a file is shown in it where somebody can see it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ralph.adapters.own_programs import OwnPrograms

_OPENERS = ("open",) if sys.platform == "darwin" else ("xdg-open", "wslview")


def show_in_browser(file: Path, own: OwnPrograms, environ: Mapping[str, str]) -> str:
    """Empty if it is being opened; otherwise why not. The browser outlives ralph."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return "over ssh there is no browser of yours"
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    if sys.platform != "darwin" and not any(environ.get(name) for name in displays):
        return "there is no screen here"
    program = next((found for name in _OPENERS if (found := own.find(name))), None)
    if program is None:
        return f"{' or '.join(_OPENERS)} is not installed"
    nowhere = subprocess.DEVNULL
    try:
        subprocess.Popen(
            [program, str(file.absolute())],
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            start_new_session=True,
            env={**environ, "PATH": own.environment["PATH"]},
        )
    except OSError as error:
        return f"{program} cannot be started: {error.strerror or error}"
    return ""
