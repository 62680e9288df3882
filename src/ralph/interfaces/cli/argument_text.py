"""Text that came as an argument: the shell hands over bytes, and not all of them are text."""

from __future__ import annotations


def is_text(argument: str) -> bool:
    """Python stands half characters in for bytes that are not UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in argument)
