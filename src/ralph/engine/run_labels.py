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


def label_of(options: Mapping[str, Any], first_prompt: str = "") -> RunLabel:
    """``options`` is what the run was started with, whatever its profile and its version of ralph.

    One that was given a file has its words only in the ``first_prompt``.
    """
    prompt, task, command = (options.get(name) for name in ("prompt", "task", "command"))
    asked = prompt if isinstance(prompt, str) and prompt.strip() else first_prompt
    if not asked.strip() and isinstance(command, list):
        asked = " ".join(map(str, command))
    lines = (line.strip().lstrip("#").strip() for line in asked.splitlines())
    title = next((line for line in lines if line), "")
    return RunLabel(title[:LONGEST], task[:LONGEST] if isinstance(task, str) else "")
