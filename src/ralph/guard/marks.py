"""Placeholders in words for unknown text."""

from __future__ import annotations

UNKNOWN = "\ue000"
"""Text that only the running shell knows."""
INPUT = "\ue001"
"""What xargs or parallel inserts: anything at all."""
EVERYTHING = "\ue002"
"""Before what a listing names: ``docker ps`` all containers, ``pgrep NAME`` all processes of that name."""

TEMPORARY_FOLDER = "/tmp"  # noqa: S108 (what commands say, not a file of ours)


def is_opaque(word: str) -> bool:
    """Only the running shell knows any of it."""
    return bool(word) and not word.strip(UNKNOWN + INPUT + " \n;")


def is_partly_opaque(word: str) -> bool:
    return UNKNOWN in word or INPUT in word
