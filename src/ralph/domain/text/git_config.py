"""Git's configuration as git itself reads it: what it takes for a setting may not escape us.

Where git finds a mistake it gives up, and so does this: what was before it counts.
"""

from __future__ import annotations

from collections.abc import Iterator

_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}
_SPACE = " \t\n\v\f\r"


class _Mistake(Exception):
    """Never leaves this module."""


def parse_git_config(text: str) -> Iterator[tuple[str, str]]:
    """Each ``section.name`` or ``section.subsection.name``, section and name in lower case, with its value ("" if none)."""
    reader = _Reader(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    section = ""
    try:
        while (char := reader.take()) is not None:
            if char in "#;":
                reader.skip_line()
            elif char == "[":
                section = reader.section()
            elif char not in _SPACE:
                name = reader.name(char)
                yield f"{section}{name}", reader.value()
    except _Mistake:
        return


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def take(self) -> str | None:
        if self._place >= len(self._text):
            return None
        self._place += 1
        return self._text[self._place - 1]

    def skip_line(self) -> None:
        end = self._text.find("\n", self._place)
        self._place = len(self._text) if end < 0 else end + 1

    def section(self) -> str:
        name = ""
        while (char := self.take()) != "]":
            if char is None or char == "\n":
                raise _Mistake
            if char in _SPACE:
                return f"{name}.{self._subsection(char)}."
            if not _is_key_char(char) and char != ".":
                raise _Mistake
            name += char.lower()
        return f"{name}."

    def _subsection(self, char: str | None) -> str:
        while char is not None and char in _SPACE:
            if char == "\n":
                raise _Mistake
            char = self.take()
        if char != '"':
            raise _Mistake
        name = ""
        while (char := self.take()) != '"':
            if char == "\\":
                char = self.take()
            if char is None or char == "\n":
                raise _Mistake
            name += char
        if self.take() != "]":
            raise _Mistake
        return name

    def name(self, first: str) -> str:
        if not (first.isascii() and first.isalpha()):
            raise _Mistake
        name = first
        while (char := self.take()) is not None and _is_key_char(char):
            name += char
        while char is not None and char in " \t":
            char = self.take()
        if char is None or char == "\n":
            self._place -= char is not None
        elif char == "=":
            self._place -= 1
        else:
            raise _Mistake
        return name.lower()

    def value(self) -> str:
        if self.take() != "=":
            return ""
        value, kept = "", 0  # kept: so much of it ends with no space outside of quotes
        is_quoted = False
        while (char := self.take()) is not None and (char != "\n" or is_quoted):
            if char == "\n":
                raise _Mistake
            if not is_quoted and char in _SPACE:
                value += " " if value else ""
                continue
            if not is_quoted and char in "#;":
                self.skip_line()
                break
            if char == "\\":
                char = self.take()
                if char is None or char == "\n":
                    continue
                if char not in _ESCAPES:
                    raise _Mistake
                value += _ESCAPES[char]
            elif char == '"':
                is_quoted = not is_quoted
                continue
            else:
                value += char
            kept = len(value)
        if is_quoted:
            raise _Mistake
        return value[:kept]


def _is_key_char(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "-")
