"""Versions of programs, as they print them."""

from __future__ import annotations

from ralph.patterns import pattern

Version = tuple[int, ...]

_VERSION = pattern(r"(?<![\w.])v?(\d{1,9}(?:\.\d{1,15}){1,3})\b")


def version_in(text: str) -> str:
    """The first thing in a program's output that looks like a version, if any."""
    found = _VERSION.search(text)
    return found[1] if found else ""


def version_key(version: str) -> Version:
    """For comparing: 1.10 is newer than 1.9, and 1.9.0 is 1.9."""
    numbers = [int(number) for number in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
