"""Open a file in the user's browser."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.browser import show_in_browser


def open_file(file: Path, *, state_folder: Path) -> str:
    """Empty if it is being opened; otherwise why not."""
    own = OwnPrograms(os.environ, (state_folder.absolute().parent,))
    return show_in_browser(file, own, os.environ)
