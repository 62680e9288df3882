"""A place in the text of a command line, and what has been noticed on the way there."""

from __future__ import annotations

from collections.abc import Callable

from ralph.guard.limits import MAX_NESTING, MAX_NODES, TOO_DEEP, TOO_MANY_PARTS, TooComplex
from ralph.guard.shell.syntax import Redirect, Script


class Cursor:
    """Reads ``text`` from ``at`` on. What is open is closed at the end of the text, and ``is_torn`` says so."""

    __slots__ = ("at", "awaited", "cases", "is_torn", "nesting", "nodes", "read_inner", "text")

    def __init__(self, text: str, nesting: int, read_inner: Callable[[Cursor, str], Script]) -> None:
        if nesting > MAX_NESTING:
            raise TooComplex(TOO_DEEP)
        self.text = text
        self.at = 0
        self.nesting = nesting
        self.is_torn = False
        self.nodes = 0
        self.cases = 0
        """How many ``case`` are open here."""
        self.awaited: list[tuple[Redirect, str, bool, bool]] = []
        """Here-documents whose body comes after this line: delimiter, is it quoted, are tabs stripped?"""
        self.read_inner = read_inner
        """Reads the script within a word, up to the bracket that closes it: ``scripts.read_inner``, which needs the words."""

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def find(self, sign: str, start: int) -> int:
        end = self.text.find(sign, start)
        if end < 0:
            self.is_torn = True
            return len(self.text)
        return end

    def find_unescaped(self, sign: str, start: int) -> int:
        """As ``find``, but a backslash hides the character after it."""
        text, end = self.text, start
        while end < len(text) and text[end] != sign:
            end += 2 if text[end] == "\\" else 1
        if end >= len(text):
            self.is_torn = True
        return end

    def ends_word(self, at: int) -> bool:
        return at >= len(self.text) or self.text[at].isspace() or self.text[at] in ";&|)<>"

    def deeper(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise TooComplex(TOO_DEEP)

    def count(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise TooComplex(TOO_MANY_PARTS)
