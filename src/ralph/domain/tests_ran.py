"""Whether a test command that succeeded tested anything at all."""

from __future__ import annotations


def nothing_was_tested(command: str, output: str) -> str:
    """Why its success proves nothing; empty if it does, or if it is no test runner that we know."""
    return ""
