"""Values from elsewhere, held within what ralph can bear."""

from __future__ import annotations

from typing import TypeVar

N = TypeVar("N", int, float)


def between(least: N, value: N, most: N) -> N:
    """What is no number at all is the least."""
    if not value >= least:
        return least
    return value if value <= most else most


def first_of(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
