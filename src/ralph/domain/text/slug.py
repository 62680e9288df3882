"""File names made from commands."""

from __future__ import annotations

import re
from collections.abc import Iterable

SLUG_CHARS = 50


def slug(command: str) -> str:
    """Runs of non-alphanumerics become one ``_``, trimmed, cut to 50: ``./mvnw clean`` → ``mvnw_clean``."""
    return re.sub(r"[^A-Za-z0-9]+", "_", command).strip("_")[:SLUG_CHARS] or "command"


def unique_slugs(commands: Iterable[str]) -> tuple[str, ...]:
    """A slug per command, in order; one that is taken already gets ``_1``, ``_2`` …

    Taken means taken on any file system, so ``Make`` and ``make`` collide.
    """
    taken: set[str] = set()
    slugs: list[str] = []
    for command in commands:
        base = candidate = slug(command)
        number = 0
        while candidate.lower() in taken:
            number += 1
            candidate = f"{base}_{number}"
        taken.add(candidate.lower())
        slugs.append(candidate)
    return tuple(slugs)
