"""Git's configuration as git itself reads it: what it takes for a setting may not escape us.

Where git finds a mistake it gives up, and so does this: what was before it counts. Whatever git could understand otherwise than
we do, or one git otherwise than another, makes all of it unclear: nobody may take it for examined.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph.values import dataclass

_MARK = b"\xef\xbb\xbf"  # of an editor, at the beginning
_VISIBLE = bytes(byte for byte in range(0x20, 0x100) if byte != 0x7F)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}
_SPACE = " \t\n\r"  # neither \v nor \f is one for git


@dataclass(frozen=True, slots=True)
class GitConfig:
    """Each ``section.name`` or ``section.subsection.name``, section and name in lower case, with its value ("" if none)."""

    entries: tuple[tuple[str, str], ...] = ()
    is_clear: bool = True


class _Mistake(Exception):
    """Never leaves this module."""


def parse_git_config(data: bytes) -> GitConfig:
    data = data.removeprefix(_MARK).replace(b"\r\n", b"\n")
    text = data.decode(errors="surrogateescape")
    reader = _Reader(text)
    found: list[tuple[str, str]] = []
    try:
        found.extend(reader.entries())
    except _Mistake:
        reader.is_clear = False
    is_clear = reader.is_clear and has_no_control(data, but=b"\t\n") and _is_valid(text)
    return GitConfig(tuple(found), is_clear)


def has_no_control(data: bytes, *, but: bytes = b"") -> bool:
    """No character that one program takes for a space or an end, and another one for a part of a name."""
    return not data.translate(None, but).translate(None, _VISIBLE)


def _is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def without_subsection(key: str) -> str:
    section, _, rest = key.partition(".")
    return f"{section}.{rest.rpartition('.')[2]}"


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self.is_clear = True

    def entries(self) -> Iterator[tuple[str, str]]:
        section = ""
        while (char := self._take()) is not None:
            if char in "#;":
                self._skip_line()
            elif char == "[":
                section = self._section()
            elif char not in _SPACE:
                yield f"{section}{self._name(char)}", self._value()
                self.is_clear = self.is_clear and bool(section)

    def _take(self) -> str | None:
        if self._place >= len(self._text):
            return None
        self._place += 1
        return self._text[self._place - 1]

    def _skip_line(self) -> None:
        end = self._text.find("\n", self._place)
        self._place = len(self._text) if end < 0 else end + 1

    def _section(self) -> str:
        name = ""
        while (char := self._take()) != "]":
            if name and char is not None and char in _SPACE:
                return f"{name}.{self._subsection(char)}."
            if char is None or not (_is_key_char(char) or char == "."):
                raise _Mistake
            name += char.lower()
        if not name:
            raise _Mistake
        return f"{name}."

    def _subsection(self, char: str | None) -> str:
        while char is not None and char in _SPACE:
            if char == "\n":
                raise _Mistake
            char = self._take()
        if char != '"':
            raise _Mistake
        name = ""
        while (char := self._take()) != '"':
            if char == "\\":
                char = self._take()
            if char is None or char == "\n":
                raise _Mistake
            name += char
        if self._take() != "]":
            raise _Mistake
        return name

    def _name(self, first: str) -> str:
        if not (first.isascii() and first.isalpha()):
            raise _Mistake
        name = first
        while (char := self._take()) is not None and _is_key_char(char):
            name += char
        while char is not None and char in " \t":
            char = self._take()
        if char is None or char == "\n":
            self._place -= char is not None
        elif char == "=":
            self._place -= 1
        else:
            raise _Mistake
        return name.lower()

    def _value(self) -> str:
        if self._take() != "=":
            return ""
        value, space = "", ""  # space: counts if anything but a comment or the end comes after it
        is_quoted = False
        while (char := self._take()) is not None and (char != "\n" or is_quoted):
            if char == "\n":
                raise _Mistake
            if not is_quoted and char in _SPACE:
                space += char if value else ""
                continue
            if not is_quoted and char in "#;":
                self._skip_line()
                break
            if space.strip(" "):  # a tab is a tab for git since 2.45, and was a space before
                self.is_clear = False
            value, space = value + " " * len(space), ""
            if char == "\\":
                char = self._take()
                if char is None or char == "\n":
                    continue
                if char not in _ESCAPES:
                    raise _Mistake
                value += _ESCAPES[char]
            elif char == '"':
                is_quoted = not is_quoted
            else:
                value += char
        if is_quoted:
            raise _Mistake
        return value


def _is_key_char(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "-")
