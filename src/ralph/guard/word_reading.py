"""Reads one word of a shell command line: quotes, variables, substitutions.

What a substitution holds is a script again, so the reader of scripts is a subclass of this one (``reading``).
"""

from __future__ import annotations

import re

from ralph.guard.ansi_quotes import decode_escapes
from ralph.guard.syntax import (
    Arithmetic,
    Part,
    ProcessFile,
    Script,
    Substitution,
    Text,
    Variable,
    Word,
)

MAX_NESTING = 25
MAX_NODES = 30_000


TOO_DEEP = "the command is nested too deep"
TOO_LONG = "a word of the command is too long"
TOO_MANY_PARTS = "the command has too many parts"
TOO_MANY_PROGRAMS = "the command starts too many programs"
TOO_MANY_WORDS = "the command expands to too many words"


class TooComplex(Exception):
    """The text is nested too deep, too long, or expands to too much to be judged."""


_PLAIN = re.compile(r"[^\s\\'\"`$|&;()<>#@!?+*]+")
_PLAIN_QUOTED = re.compile(r"[^\\\"`$]+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_BRACED_NAME = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?$!-]")
_PARENTHESIS = re.compile(r"[()]")
_SPECIAL_NAMES = "@*#?$!-0123456789"
_VALUE_OPERATOR = re.compile(r":?[-=+?]|\^\^?|,,?|##?|%%?|//?|:|@")


class WordReader:
    """Reads ``text`` from ``at`` on. An open quote is closed at the end of the text, and ``is_torn`` says so."""

    def __init__(self, text: str, nesting: int) -> None:
        if nesting > MAX_NESTING:
            raise TooComplex(TOO_DEEP)
        self.text = text
        self.at = 0
        self.nesting = nesting
        self.is_torn = False
        self._nodes = 0

    def substituted(self) -> Script:
        """The script behind ``$(``, with its closing sign."""
        raise NotImplementedError

    def whole_script(self) -> Script:
        raise NotImplementedError

    def word(self) -> Word | None:
        """The word at ``at``, or None if there is none."""
        parts: list[Part] = []
        text = self.text
        start = self.at
        while self.at < len(text):
            self.count()
            character = text[self.at]
            if character.isspace():
                break
            plain = _PLAIN.match(text, self.at)
            if plain:
                parts.append(Text(plain[0]))
                self.at = plain.end()
            elif character in "@!?+*":
                parts.append(Text(self._extended_glob()))
            elif character == "#":
                if self.at == start:
                    break
                parts.append(Text("#"))
                self.at += 1
            elif character in "<>" and text.startswith("(", self.at + 1):
                self.at += 2
                parts.append(ProcessFile(self.substituted()))
            elif character in "|&;()<>":
                break
            else:
                parts.extend(self._special(quoted=False))
        if self.at == start:
            return None
        return tuple(parts)

    def _extended_glob(self) -> str:
        """``*``, or ``!(keep|that)`` as one piece."""
        start = self.at
        self.at += 1
        if self.peek() != "(":
            return self.text[start : self.at]
        depth = 0
        for found in _PARENTHESIS.finditer(self.text, self.at):
            depth += 1 if found[0] == "(" else -1
            if depth == 0:
                self.at = found.end()
                return self.text[start : self.at]
        self.at = len(self.text)
        return self.text[start:]

    def _special(self, *, quoted: bool) -> list[Part]:
        """What begins with a backslash, quote, dollar or backtick."""
        text, character = self.text, self.text[self.at]
        if character == "\\":
            following = text[self.at + 1 : self.at + 2]
            self.at += 2
            if following == "\n":
                return []
            if quoted and following not in '"\\$`':
                return [Text("\\" + following, True)]
            return [Text(following, True)]
        if character == "'":
            end = self._find("'", self.at + 1)
            content = text[self.at + 1 : end]
            self.at = end + 1
            return [Text(content, True)]
        if character == '"':
            self.at += 1
            return [Text("", True), *self.double_quoted(end='"')]
        if character == "`":
            return [self._backticks(quoted)]
        return [self._dollar(quoted)]

    def double_quoted(self, end: str) -> Word:
        parts: list[Part] = []
        while self.at < len(self.text):
            self.count()
            character = self.text[self.at]
            if character == end:
                self.at += 1
                return tuple(parts)
            plain = _PLAIN_QUOTED.match(self.text, self.at)
            if plain:
                parts.append(Text(plain[0], True))
                self.at = plain.end()
            elif character == '"':
                parts.append(Text('"', True))
                self.at += 1
            else:
                parts.extend(self._special(quoted=True))
        self.is_torn = self.is_torn or bool(end)
        return tuple(parts)

    def _backticks(self, quoted: bool) -> Part:
        start = self.at + 1
        end = start
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.is_torn = True
        inner = re.sub(r"\\([`\\$])", r"\1", self.text[start:end])
        self.at = min(end + 1, len(self.text))
        return Substitution(type(self)(inner, self.nesting + 1).whole_script(), quoted)

    def _dollar(self, quoted: bool) -> Part:
        text, start = self.text, self.at
        self.at += 1
        following = self.peek()
        if following == "'" and not quoted:
            end = self.at + 1
            while end < len(text) and text[end] != "'":
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                self.is_torn = True
            content = text[self.at + 1 : end]
            self.at = min(end + 1, len(text))
            return Text(decode_escapes(content), True)
        if following == '"' and not quoted:
            return Text("", True)  # a translated string: the quote is read next
        if self.is_arithmetic():
            self.at += 2
            return self.arithmetic()
        if following == "(":
            self.at += 1
            return Substitution(self.substituted(), quoted)
        if following == "{":
            self.at += 1
            return self._braced(quoted)
        name = _NAME.match(text, self.at)
        if name:
            self.at = name.end()
            return Variable(name[0], quoted)
        if following and following in _SPECIAL_NAMES:
            self.at += 1
            return Variable(following, quoted)
        return Text(text[start : self.at], quoted)

    def is_arithmetic(self) -> bool:
        """``((`` that a ``))`` closes; ``((a) ; b)`` is a subshell in a subshell."""
        if not self.text.startswith("((", self.at):
            return False
        depth = 2
        self._nodes += 20
        for found in _PARENTHESIS.finditer(self.text, self.at + 2, self.at + 2_000):
            depth += 1 if found[0] == "(" else -1
            if depth == 1:
                return self.text.startswith(")", found.end())
        return False

    def arithmetic(self) -> Arithmetic:
        """Behind ``((``, up to ``))``; only what it substitutes matters."""
        parts: list[Part] = []
        depth = 2
        while self.at < len(self.text):
            self.count()
            character = self.text[self.at]
            if character in "()":
                depth += 1 if character == "(" else -1
                self.at += 1
                if depth == 0:
                    return Arithmetic(tuple(parts))
            elif character in "$`":
                parts.extend(self._special(quoted=True))
            else:
                self.at += 1
        self.is_torn = True
        return Arithmetic(tuple(parts))

    def _braced(self, quoted: bool) -> Part:
        """Behind ``${``."""
        text = self.text
        is_indirect = text.startswith("!", self.at)
        is_length = bool(re.compile(r"#[\w@*]").match(text, self.at))
        if is_indirect or is_length:
            self.at += 1
        found = _BRACED_NAME.match(text, self.at)
        name = found[0] if found else ""
        self.at = found.end() if found else self.at
        if text.startswith("[", self.at):
            self.at = self._find("]", self.at) + 1
        operator_found = _VALUE_OPERATOR.match(text, self.at)
        operator = operator_found[0] if operator_found else ""
        self.at += len(operator)
        operand: list[Part] = []
        while self.at < len(text) and text[self.at] != "}":
            self.count()
            if text[self.at] in "\\'\"`$":
                operand.extend(self._special(quoted=quoted))
            else:
                operand.append(Text(text[self.at], quoted))
                self.at += 1
        if self.at >= len(text):
            self.is_torn = True
        self.at += 1
        if is_indirect or is_length:
            operator = "!" if is_indirect else "#len"
        return Variable(name, quoted, operator, tuple(operand))

    def _find(self, sign: str, start: int) -> int:
        end = self.text.find(sign, start)
        if end < 0:
            self.is_torn = True
            return len(self.text)
        return end

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def ends_word(self, at: int) -> bool:
        return at >= len(self.text) or self.text[at].isspace() or self.text[at] in ";&|)<>"

    def deeper(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise TooComplex(TOO_DEEP)

    def count(self) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TooComplex(TOO_MANY_PARTS)
