"""Who works on a ticket: a label with the name of one machine. Whoever finds another one there as well stands back.

No tracker can test and set. But whoever puts up their name first and looks afterwards cannot miss another who did the same:
of two at least one sees both names. So nobody goes on who sees another name, and no ticket is ever worked on twice; at
worst both stand back, and one of them is sooner next time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PREFIX = "ralph:"
DONE = f"{PREFIX}done"
"""Its work is merged: nobody takes it again unless this label is removed."""
LONGEST = 40
"""A label may have 50 characters."""


def holder_name(host: str, chance: str) -> str:
    """Of one project on one machine. ``chance``: a few random letters, for machines with the same name."""
    name = re.sub(r"[^a-z0-9]+", "-", host.partition(".")[0].lower()).strip("-")
    return f"{name[: LONGEST - len(chance) - 1].rstrip('-') or 'machine'}-{chance}"


def label_of(holder: str) -> str:
    return f"{PREFIX}{holder}"


def is_done(label: str) -> bool:
    """Trackers do not tell labels apart by case, and keep the spelling of whoever made one first."""
    return label.lower() == DONE


def holders(labels: Sequence[str]) -> tuple[str, ...]:
    """The machines whose names are on a ticket."""
    marked = (label for label in labels if label[: len(PREFIX)].lower() == PREFIX and not is_done(label))
    return tuple(dict.fromkeys(filter(None, (label[len(PREFIX) :] for label in marked))))


def others(labels: Sequence[str], holder: str) -> tuple[str, ...]:
    """Those that are not this one."""
    return tuple(name for name in holders(labels) if name.lower() != holder.lower())


def is_held_by(holder: str, labels: Sequence[str]) -> bool:
    return any(name.lower() == holder.lower() for name in holders(labels))
