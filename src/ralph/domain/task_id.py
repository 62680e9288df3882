"""Names of tasks. They become names of branches and folders, so not every text will do."""

from __future__ import annotations

import re
from collections.abc import Collection

LONGEST = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def id_problem(text: str) -> str | None:
    """What is wrong with it as a task's id, or None."""
    if not text:
        return "is missing"
    if len(text) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if not _NAME.fullmatch(text):
        return "may hold letters, digits, '.', '_' and '-' only, and begins with a letter or digit"
    if ".." in text or text.endswith((".", ".lock")):
        return "cannot be a branch's name: no '..', and no '.' or '.lock' at its end"
    return None


def same_id(one: str, other: str) -> bool:
    """Branches and folders do not tell upper from lower case everywhere."""
    return one.lower() == other.lower()


def followup_id(parent: str, taken: Collection[str]) -> str:
    """``TASK-1`` → ``TASK-1-F1``, ``TASK-1-F2`` …; the follow-up of a follow-up counts on."""
    stem = re.sub(r"-F\d+$", "", parent)[: LONGEST - 8]
    known = {name.lower() for name in taken}
    number = 1
    while f"{stem}-F{number}".lower() in known:
        number += 1
    return f"{stem}-F{number}"
