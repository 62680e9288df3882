"""What a run is called on a screen: a name made of a date says nothing about what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

LONGEST = 200


class RunLabel(NamedTuple):
    """``title`` is what was asked, in one line; ``task`` the task that it works on. Both may be empty."""

    title: str = ""
    task: str = ""

    def __str__(self) -> str:
        return f"{self.task} {self.title}".strip()


def label_of(options: Mapping[str, Any]) -> RunLabel:
    """``options`` is what the run was started with, whatever its profile and its version of ralph."""
    prompt, task, command = (options.get(name) for name in ("prompt", "task", "command"))
    asked = prompt if isinstance(prompt, str) else ""
    if not asked.strip() and isinstance(command, list):
        asked = " ".join(map(str, command))
    title = next((line.strip() for line in asked.splitlines() if line.strip()), "")
    return RunLabel(title[:LONGEST], task[:LONGEST] if isinstance(task, str) else "")
