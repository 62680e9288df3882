"""Verification methods of the user's own: an entry point of the group ``ralph.verification``, or a dotted path."""

from __future__ import annotations

from importlib.metadata import entry_points

GROUP = "ralph.verification"


def is_custom_method(name: str) -> bool:
    """Whether some installed package offers a method of this name."""
    return any(point.name == name for point in entry_points(group=GROUP))
