"""Characters that stand in words for what is not known."""

from __future__ import annotations

UNKNOWN = "\ue000"
"""Stands in a word for text that only the running shell knows."""
INPUT = "\ue001"
"""Stands in a word for what xargs or parallel puts there: anything at all."""

TEMPORARY_FOLDER = "/tmp"  # noqa: S108 (what commands say, not a file of ours)


def is_opaque(word: str) -> bool:
    """Only the running shell knows any of it."""
    return bool(word) and not word.strip(UNKNOWN + INPUT + " \n;")


def is_partly_opaque(word: str) -> bool:
    return UNKNOWN in word or INPUT in word
