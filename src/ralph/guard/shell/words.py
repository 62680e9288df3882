"""Reads one word of a command line: quotes, variables, substitutions."""

from __future__ import annotations

import re

from ralph.guard.shell.cursor import Cursor
from ralph.guard.shell.escapes import decode_escapes
from ralph.guard.shell.syntax import Arithmetic, Part, ProcessFile, Substitution, Text, Variable, Word
from ralph.patterns import pattern

_PLAIN = pattern(r"[^\s\\'\"`$|&;()<>#@!?+*]+")
_PLAIN_QUOTED = pattern(r"[^\\\"`$]+")
_NAME = pattern(r"[A-Za-z_]\w*")
_BRACED_NAME = pattern(r"[A-Za-z_]\w*|\d+|[@*#?$!-]")
_PARENTHESIS = pattern(r"[()]")
_SPECIAL_NAMES = "@*#?$!-0123456789"
_VALUE_OPERATOR = pattern(r":?[-=+?]|\^\^?|,,?|##?|%%?|//?|:|@")


def read_word(cursor: Cursor) -> Word | None:
    """The word at ``at``, or None if there is none."""
    parts: list[Part] = []
    text = cursor.text
    start = cursor.at
    while cursor.at < len(text):
        cursor.count()
        character = text[cursor.at]
        if character.isspace():
            break
        plain = _PLAIN.match(text, cursor.at)
        if plain:
            parts.append(Text(plain[0]))
            cursor.at = plain.end()
        elif character in "@!?+*":
            parts.append(Text(_read_glob(cursor)))
        elif character == "#":
            if cursor.at == start:
                break
            parts.append(Text("#"))
            cursor.at += 1
        elif character in "<>" and text.startswith("(", cursor.at + 1):
            cursor.at += 2
            parts.append(ProcessFile(cursor.read_inner(cursor, ")")))
        elif character in "|&;()<>":
            break
        else:
            parts.extend(_read_special(cursor, quoted=False))
    if cursor.at == start:
        return None
    return tuple(parts)


def _read_glob(cursor: Cursor) -> str:
    """``*``, or ``!(keep|that)`` as one piece."""
    start = cursor.at
    cursor.at += 1
    if cursor.peek() == "(":
        end = _after_bracket(cursor.text, cursor.at, len(cursor.text))
        cursor.at = len(cursor.text) if end is None else end
    return cursor.text[start : cursor.at]


def _after_bracket(text: str, start: int, limit: int) -> int | None:
    """After the bracket that closes the one at ``start``."""
    depth = 0
    for found in _PARENTHESIS.finditer(text, start, limit):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.end()
    return None


def _read_special(cursor: Cursor, *, quoted: bool) -> list[Part]:
    """What begins with a backslash, quote, dollar or backtick."""
    text, character = cursor.text, cursor.text[cursor.at]
    if character == "\\":
        following = text[cursor.at + 1 : cursor.at + 2]
        cursor.at += 2
        if following == "\n":
            return []
        if quoted and following not in '"\\$`':
            return [Text("\\" + following, True)]
        return [Text(following, True)]
    if character == "'":
        end = cursor.find("'", cursor.at + 1)
        content = text[cursor.at + 1 : end]
        cursor.at = end + 1
        return [Text(content, True)]
    if character == '"':
        cursor.at += 1
        return [Text("", True), *read_double_quoted(cursor, end='"')]
    if character == "`":
        return [_read_backticks(cursor, quoted)]
    return [_read_dollar(cursor, quoted)]


def read_double_quoted(cursor: Cursor, end: str) -> Word:
    parts: list[Part] = []
    while cursor.at < len(cursor.text):
        cursor.count()
        character = cursor.text[cursor.at]
        if character == end:
            cursor.at += 1
            return tuple(parts)
        plain = _PLAIN_QUOTED.match(cursor.text, cursor.at)
        if plain:
            parts.append(Text(plain[0], True))
            cursor.at = plain.end()
        elif character == '"':
            parts.append(Text('"', True))
            cursor.at += 1
        else:
            parts.extend(_read_special(cursor, quoted=True))
    cursor.is_torn = cursor.is_torn or bool(end)
    return tuple(parts)


def _read_backticks(cursor: Cursor, quoted: bool) -> Part:
    start = cursor.at + 1
    end = cursor.find_unescaped("`", start)
    inner = re.sub(r"\\([`\\$])", r"\1", cursor.text[start:end])
    cursor.at = min(end + 1, len(cursor.text))
    inside = Cursor(inner, cursor.nesting + 1, cursor.read_inner)
    return Substitution(cursor.read_inner(inside, ""), quoted)


def _read_dollar(cursor: Cursor, quoted: bool) -> Part:
    text, start = cursor.text, cursor.at
    cursor.at += 1
    following = cursor.peek()
    if following == "'" and not quoted:
        end = cursor.find_unescaped("'", cursor.at + 1)
        content = text[cursor.at + 1 : end]
        cursor.at = min(end + 1, len(text))
        return Text(decode_escapes(content), True)
    if following == '"' and not quoted:
        return Text("", True)  # a translated string: the quote is read next
    if is_arithmetic(cursor):
        cursor.at += 2
        return read_arithmetic(cursor)
    if following == "(":
        cursor.at += 1
        return Substitution(cursor.read_inner(cursor, ")"), quoted)
    if following == "{":
        cursor.at += 1
        return _read_braced(cursor, quoted)
    name = _NAME.match(text, cursor.at)
    if name:
        cursor.at = name.end()
        return Variable(name[0], quoted)
    if following and following in _SPECIAL_NAMES:
        cursor.at += 1
        return Variable(following, quoted)
    return Text(text[start : cursor.at], quoted)


def is_arithmetic(cursor: Cursor) -> bool:
    """``((`` that a ``))`` closes; ``((a) ; b)`` is a subshell in a subshell."""
    if not cursor.text.startswith("((", cursor.at):
        return False
    cursor.nodes += 20
    end = _after_bracket(cursor.text, cursor.at + 1, cursor.at + 2_000)
    return end is not None and cursor.text.startswith(")", end)


def read_arithmetic(cursor: Cursor) -> Arithmetic:
    """After ``((``, up to ``))``; only what it substitutes matters."""
    parts: list[Part] = []
    depth = 2
    while cursor.at < len(cursor.text):
        cursor.count()
        character = cursor.text[cursor.at]
        if character in "()":
            depth += 1 if character == "(" else -1
            cursor.at += 1
            if depth == 0:
                return Arithmetic(tuple(parts))
        elif character in "$`":
            parts.extend(_read_special(cursor, quoted=True))
        else:
            cursor.at += 1
    cursor.is_torn = True
    return Arithmetic(tuple(parts))


def _read_braced(cursor: Cursor, quoted: bool) -> Part:
    """After ``${``."""
    text = cursor.text
    is_indirect = text.startswith("!", cursor.at)
    is_length = bool(re.compile(r"#[\w@*]").match(text, cursor.at))
    if is_indirect or is_length:
        cursor.at += 1
    found = _BRACED_NAME.match(text, cursor.at)
    name = found[0] if found else ""
    cursor.at = found.end() if found else cursor.at
    if text.startswith("[", cursor.at):
        cursor.at = cursor.find("]", cursor.at) + 1
    operator_found = _VALUE_OPERATOR.match(text, cursor.at)
    operator = operator_found[0] if operator_found else ""
    cursor.at += len(operator)
    operand: list[Part] = []
    while cursor.at < len(text) and text[cursor.at] != "}":
        cursor.count()
        if text[cursor.at] in "\\'\"`$":
            operand.extend(_read_special(cursor, quoted=quoted))
        else:
            operand.append(Text(text[cursor.at], quoted))
            cursor.at += 1
    if cursor.at >= len(text):
        cursor.is_torn = True
    cursor.at += 1
    if is_indirect or is_length:
        operator = "!" if is_indirect else "#len"
    return Variable(name, quoted, operator, tuple(operand))
