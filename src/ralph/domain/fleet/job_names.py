"""Names that people give on the fleet: a job's becomes that of a branch, a label that of a queue."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph.domain.fleet.address import Refusal
from ralph.domain.fleet.names import MAX_LABELS

LONGEST = 120
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,39})")


def refusal_of_name(name: str) -> Refusal | None:
    """Of a job, or of a schedule."""
    hint = "use letters, digits, and - _ . between them: it becomes the name of a branch"
    if len(name) > LONGEST:
        return Refusal(f"the name of a job is at most {LONGEST} characters long", hint)
    if not _NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        return Refusal(f"a job cannot be called {name!r}", hint)
    return None


def refusal_of_labels(labels: Sequence[str]) -> Refusal | None:
    for label in labels:
        if not _LABEL.fullmatch(label):
            return Refusal(f"{label!r} cannot be a label", "use letters, digits, and - _ . between them")
    if len(set(labels)) > MAX_LABELS:
        return Refusal(f"a job has at most {MAX_LABELS} labels", "workers have no more, either")
    return None
