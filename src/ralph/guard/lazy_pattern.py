"""Patterns that are compiled on first use: most commands need few of them, and hooks start often."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


class LazyPattern:
    """A regular expression with the methods that the guard uses."""

    __slots__ = ("_compiled", "_flags", "text")

    def __init__(self, text: str, flags: int = 0) -> None:
        self.text = text
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.text, self._flags)
        return self._compiled

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text)

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        return self.compiled.match(text, *span)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.compiled.sub(replacement, text)
