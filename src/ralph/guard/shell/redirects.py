"""Redirections, here-documents and blanks: what stands between the words of a command."""

from __future__ import annotations

import re

from ralph.guard.shell.cursor import Cursor
from ralph.guard.shell.syntax import Redirect, Text
from ralph.guard.shell.words import read_double_quoted, read_word
from ralph.patterns import pattern

_REDIRECT = pattern(r"(\d*|\{\w+\})(<<<|<<-|<<|<>|>>|>\||>&|<&|&>>|&>|<|>)")
OPERATOR = pattern(r";;&|;;|;&|&&|\|\||\|&|[;&|\n]")
_BLANKS = pattern(r"(?:[^\S\n]|\\\n)*(?:(?<![^ \t\n;&|(])#[^\n]*)?")
"""Blanks, continued lines, a comment."""


def read_redirects(cursor: Cursor) -> tuple[Redirect, ...]:
    redirects: list[Redirect] = []
    while True:
        skip_blanks(cursor)
        redirect = read_redirect(cursor)
        if redirect is None:
            return tuple(redirects)
        redirects.append(redirect)


def match_redirect(cursor: Cursor) -> re.Match[str] | None:
    found = _REDIRECT.match(cursor.text, cursor.at)
    is_process_file = found and found[2] in ("<", ">") and cursor.text.startswith("(", found.end())
    return None if is_process_file else found


def read_redirect(cursor: Cursor) -> Redirect | None:
    found = match_redirect(cursor)
    if found is None:
        return None
    cursor.at = found.end()
    skip_blanks(cursor)
    redirect = Redirect(found[2], (), found[1])
    start = cursor.at
    target = read_word(cursor) or ()
    if found[2] in ("<<", "<<-"):
        redirect.operator = "<<"
        is_quoted = any(sign in cursor.text[start : cursor.at] for sign in "'\"\\")
        delimiter = "".join(part.text for part in target if isinstance(part, Text))
        cursor.awaited.append((redirect, delimiter, is_quoted, found[2] == "<<-"))
    else:
        redirect.target = target
    return redirect


def read_here_documents(cursor: Cursor) -> None:
    """``at`` is at the beginning of a line."""
    awaited, cursor.awaited = cursor.awaited, []
    for redirect, delimiter, is_quoted, strips_tabs in awaited:
        lines: list[str] = []
        while cursor.at < len(cursor.text):
            end = cursor.text.find("\n", cursor.at)
            end = len(cursor.text) if end < 0 else end
            line = cursor.text[cursor.at : end]
            cursor.at = min(end + 1, len(cursor.text))
            if strips_tabs:
                line = line.lstrip("\t")
            if line == delimiter:
                break
            lines.append(line + "\n")
        else:
            cursor.is_torn = True
        body = "".join(lines)
        if is_quoted:
            redirect.target = (Text(body, True),)
        else:  # substitutions count, quotes do not
            redirect.target = read_double_quoted(Cursor(body, cursor.nesting + 1, cursor.read_inner), end="")


def skip_blanks(cursor: Cursor) -> None:
    found = _BLANKS.match(cursor.text, cursor.at)
    cursor.at = found.end() if found else cursor.at


def skip_blanks_and_newlines(cursor: Cursor) -> None:
    while True:
        skip_blanks(cursor)
        if cursor.peek() != "\n":
            operator = OPERATOR.match(cursor.text, cursor.at)
            if operator is None:
                return
            cursor.at = operator.end()  # `; ;`, a leading `|`: nothing runs here
            continue
        cursor.at += 1
        read_here_documents(cursor)
