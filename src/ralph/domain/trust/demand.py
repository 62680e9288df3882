"""What a repository asks of its user: a command that it wants to run, or something that it wants to open."""

from __future__ import annotations

import json
import re
from typing import NamedTuple


class Demand(NamedTuple):
    """``means`` says what it does with ``value``, ``key`` in ``source`` says so.

    ``whole``: what it is a part of. Values that are read together are trusted together. ``place``: what to leave out of
    the settings if it is not trusted. ``says``: all of it in words, where ``means`` and the value would make no sentence.
    """

    means: str
    value: object
    key: str
    source: str
    whole: object = None
    place: tuple[str | int, ...] = ()
    says: str = ""


VARIABLE = "RALPH_TRUST"
"""``1``: the user agrees to everything; or the digests of what was agreed to, which an agent's ralph inherits."""
AGREED_RECORDS = Demand("", "", ".ralph", "")
"""The records of runs and tasks that ralph cannot tell from a stranger's, and that were agreed to."""


def digest_of(project: str, demand: Demand) -> str:
    """What is remembered of a demand that was agreed to, in this project."""
    from ralph.domain.trust.digest import blake2b

    # Wherever it is in a list.
    known = [project, re.sub(r"\[[0-9]+\]", "[]", demand.key), demand.value, demand.whole]
    data = json.dumps(known, sort_keys=True, separators=(",", ":"))
    return blake2b(data.encode(), digest_size=16).hexdigest()
