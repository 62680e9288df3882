"""Names that people give on the fleet: a job's becomes that of a branch, a label that of a queue."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.fleet.address import Refusal
from ralph.domain.fleet.queues import MAX_LABELS
from ralph.domain.views.runs import LAST
from ralph.patterns import pattern

LONGEST = 120
_NAME = pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?")
_LABEL = pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,39})")


def refusal_of_name(name: str) -> Refusal | None:
    """Of a job, or of a schedule."""
    hint = "use letters, digits, and - _ . between them: it becomes the name of a branch"
    if len(name) > LONGEST:
        return Refusal(f"the name of a job is at most {LONGEST} characters long", hint)
    if not _NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        return Refusal(f"a job cannot be called {name!r}", hint)
    return None


def jobs_meant(given: str, known: Sequence[str]) -> list[str]:
    """``known``: the newest first. As with runs: a name, its beginning or its end, or the newest."""
    if given in known:
        return [given]
    if given == LAST:
        return list(known[:1])
    begin = [name for name in known if name.startswith(given)]
    return begin or [name for name in known if name.endswith(given)]


def refusal_of_labels(labels: Sequence[str]) -> Refusal | None:
    for label in labels:
        if not _LABEL.fullmatch(label):
            return Refusal(f"{label!r} cannot be a label", "use letters, digits, and - _ . between them")
    if len(set(labels)) > MAX_LABELS:
        return Refusal(f"a job has at most {MAX_LABELS} labels", "workers have no more, either")
    return None
