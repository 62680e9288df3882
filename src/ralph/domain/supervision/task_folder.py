"""The task folder of a supervised run: what is in it, and which ids can name one."""

from __future__ import annotations

import re

from ralph.patterns import pattern

DONE = "DONE"
WAIT_MARKER = "WAIT_WITHOUT_RESTART"
TASK_BUS = "TASK-MESSAGE-BUS.md"
PROJECT_BUS = "PROJECT-MESSAGE-BUS.md"
TASKS_FOLDER = "tasks"
OUTBOX = "outbox"
"""Where a sandboxed agent leaves messages for the project's bus, which it cannot write."""

MAX_ID_CHARS = 100
_ID = pattern(r"\w[\w.@+-]*")


def problem_with_id(name: str, *, what: str) -> str | None:
    """Why ``name`` cannot be the id of a task or project, which names a folder; None if it can."""
    if not name:
        return f"the {what} id is empty"
    if "/" in name or "\\" in name:
        return f"the {what} id {name!r} contains a path separator"
    if len(name) > MAX_ID_CHARS or len(name.encode("utf-8", "replace")) > 2 * MAX_ID_CHARS:
        return f"the {what} id is too long ({len(name)} characters, at most {MAX_ID_CHARS})"
    if not _ID.fullmatch(name):
        return f"the {what} id {name!r} is not a plain name"
    return None


ID_HINT = "use letters, digits, '_', '-', '.', '+' and '@', and begin with a letter or digit"


def id_from(name: str, *, otherwise: str) -> str:
    """The id closest to a folder's name."""
    candidate = re.sub(r"[^\w.@+-]+", "-", name).strip("-.@+")[:MAX_ID_CHARS]
    return candidate if problem_with_id(candidate, what="project") is None else otherwise


def rejected_name(taken: set[str]) -> str:
    """The next free ``DONE.rejected-N``, for a DONE that failed its guardrails."""
    number = 1
    while f"{DONE}.rejected-{number}" in taken:
        number += 1
    return f"{DONE}.rejected-{number}"
