"""Patterns that are compiled on first use: most commands need few of them, and hooks start often."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


class LazyPattern:
    """A regular expression with the methods that the guard uses.

    A text in which none of the ``hints`` (words, apart by blanks) occurs cannot match: then nothing is compiled.
    """

    __slots__ = ("_compiled", "_flags", "_hints", "text")

    def __init__(self, text: str, flags: int = 0, *, hints: str = "") -> None:
        self.text = text
        self._flags = flags
        self._hints = hints.split()
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.text, self._flags)
        return self._compiled

    def may_match(self, text: str) -> bool:
        return not self._hints or any(hint in text for hint in self._hints)

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text) if self.may_match(text) else None

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        return self.compiled.match(text, *span) if self.may_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text) if self.may_match(text) else None

    def covers(self, name: str) -> bool:
        """Matches all of a name, which is never long."""
        return len(name) < 1_000 and self.fullmatch(name) is not None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text) if self.may_match(text) else iter(())

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.compiled.sub(replacement, text) if self.may_match(text) else text
