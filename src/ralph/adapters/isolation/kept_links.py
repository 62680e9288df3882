"""Settings of the agent that are links, as those have who keep all their settings in one place.

Nothing can be mounted over a link, so in a sandbox an agent could put a file of its own there: what the user's own sessions
run. What a link leads to is read-only; the link itself is put back after every process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path


class KeptLinks:
    """Those of ``paths`` that are links now. ``report`` is told about what was put back."""

    def __init__(self, paths: Iterable[Path], report: Callable[[str], None]) -> None:
        self._targets = {path: path.readlink() for path in paths if path.is_symlink()}
        self._report = report

    def restore(self) -> None:
        for path, target in self._targets.items():
            if _leads_to(path) == target:
                continue
            with contextlib.suppress(OSError):
                if os.path.lexists(path):
                    path.rename(_free(path))
                path.symlink_to(target)
                self._report(f"the agent had replaced {path}, a link to {target}: it was put back")


def _leads_to(path: Path) -> Path | None:
    try:
        return path.readlink()
    except OSError:
        return None


def _free(path: Path) -> Path:
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}.replaced-{number}")):
        number += 1
    return aside
