"""Reads a script. Total: whatever the text, a script comes out or ``TooComplex`` is raised."""

from __future__ import annotations

from ralph.guard.shell.cursor import Cursor
from ralph.guard.shell.redirects import (
    OPERATOR,
    match_redirect,
    read_here_documents,
    read_redirect,
    read_redirects,
    skip_blanks,
    skip_blanks_and_newlines,
)
from ralph.guard.shell.syntax import (
    Assignment,
    Command,
    Function,
    Group,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Text,
    Variable,
    Word,
    plain_text,
)
from ralph.guard.shell.words import is_arithmetic, read_arithmetic, read_word
from ralph.patterns import pattern

_ASSIGNMENT = pattern(r"(\w+)(\[[^]]*\])?(\+?)=")
_PARENTHESES = pattern(r"\s*\(\s*\)")
_IN = pattern(r"in\b")
_SKIPPED_KEYWORDS = frozenset(
    ["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "coproc"]
)


def read_script(text: str, nesting: int = 0) -> tuple[Script, bool]:
    """The script, and whether a quote, substitution or here-document was left open in its text."""
    cursor = Cursor(text, nesting, _read_inner)
    return _read_whole(cursor), cursor.is_torn


def _read_inner(cursor: Cursor, closing: str) -> Script:
    """A script within a word: up to ``closing``, or all of the text."""
    return _read_enclosed(cursor, closing) if closing else _read_whole(cursor)


def _read_whole(cursor: Cursor) -> Script:
    script = _read_pipelines(cursor, "")
    while cursor.at < len(cursor.text):  # skip a stray closing bracket
        cursor.at += 1
        script += _read_pipelines(cursor, "")
    return script


def _read_pipelines(cursor: Cursor, closing: str) -> Script:
    """Pipelines up to ``closing`` (``)`` or ``}`` in command position), which is not consumed."""
    pipelines: list[Pipeline] = []
    while True:
        skip_blanks_and_newlines(cursor)
        if cursor.at >= len(cursor.text):
            read_here_documents(cursor)
            return tuple(pipelines)
        character = cursor.text[cursor.at]
        if character == ")":
            if not cursor.cases:
                return tuple(pipelines)
            cursor.at += 1  # the end of a pattern in `case`
            continue
        if closing == "}" and character == "}" and cursor.ends_word(cursor.at + 1):
            return tuple(pipelines)
        before = cursor.at
        pipeline = _read_pipeline(cursor)
        if cursor.cases and cursor.peek() == ")":
            cursor.at += 1
            continue  # it was a pattern of `case`
        if pipeline:
            pipelines.append(pipeline)
        if cursor.at == before:
            if cursor.text[cursor.at] == ")":
                return tuple(pipelines)
            cursor.at += 1


def _read_pipeline(cursor: Cursor) -> Pipeline:
    commands: list[Command] = []
    while True:
        command = _read_command(cursor)
        if command is not None:
            commands.append(command)
        skip_blanks(cursor)
        operator = OPERATOR.match(cursor.text, cursor.at)
        if operator is None:
            return tuple(commands)
        if operator[0] == "\n":
            return tuple(commands)
        cursor.at = operator.end()
        if operator[0] not in ("|", "|&"):
            return tuple(commands)
        if not commands:
            # What a loop prints goes into the next command: unknown, but not nothing.
            commands.append(Group((), False))
        skip_blanks_and_newlines(cursor)


def _read_command(cursor: Cursor) -> Command | None:
    cursor.count()
    ends_block = False
    while True:
        skip_blanks(cursor)
        if cursor.at >= len(cursor.text):
            return None
        if is_arithmetic(cursor):
            return _read_arithmetic_command(cursor)
        if cursor.text[cursor.at] == "(":
            cursor.at += 1
            return _read_group(cursor, ")", is_subshell=True)
        if ends_block and match_redirect(cursor):  # `done > file`: the loop writes it
            return Group((), False, read_redirects(cursor))
        if match_redirect(cursor) or _ASSIGNMENT.match(cursor.text, cursor.at):
            return _read_simple(cursor, [])
        word = read_word(cursor)
        if word is None:
            return None
        keyword = plain_text(word)
        if keyword == "{":
            return _read_group(cursor, "}", is_subshell=False)
        ends_block = keyword in ("done", "fi", "esac")
        if keyword in _SKIPPED_KEYWORDS:
            continue
        if keyword == "case":
            skip_blanks(cursor)
            read_word(cursor)
            cursor.cases += 1
            skip_blanks_and_newlines(cursor)
            if cursor.text.startswith("in", cursor.at):
                cursor.at += 2
            return None
        if keyword == "esac":
            cursor.cases = max(0, cursor.cases - 1)
            continue
        if keyword in ("for", "select"):
            return _read_loop(cursor)
        if keyword == "function":
            skip_blanks(cursor)
            name = plain_text(read_word(cursor) or ()) or ""
            _skip_parentheses(cursor)
            return _read_function(cursor, name)
        if keyword and _skip_parentheses(cursor):
            return _read_function(cursor, keyword)
        return _read_simple(cursor, [word])


def _skip_parentheses(cursor: Cursor) -> bool:
    found = _PARENTHESES.match(cursor.text, cursor.at)
    if found:
        cursor.at = found.end()
    return found is not None


def _read_function(cursor: Cursor, name: str) -> Function:
    skip_blanks_and_newlines(cursor)
    cursor.deeper()
    if cursor.peek() == "{":  # also without a blank after it: people write fork bombs so
        cursor.at += 1
        body: Command | None = _read_group(cursor, "}", is_subshell=False)
    else:
        body = _read_command(cursor)
    cursor.nesting -= 1
    return Function(name, ((body,),) if body is not None else ())


def _read_enclosed(cursor: Cursor, closing: str) -> Script:
    cursor.deeper()
    cases, cursor.cases = cursor.cases, 0
    script = _read_pipelines(cursor, closing)
    cursor.cases = cases
    cursor.nesting -= 1
    if cursor.peek() == closing:
        cursor.at += 1
    else:
        cursor.is_torn = True
    return script


def _read_group(cursor: Cursor, closing: str, *, is_subshell: bool) -> Group:
    return Group(_read_enclosed(cursor, closing), is_subshell, read_redirects(cursor))


def _read_loop(cursor: Cursor) -> Simple:
    """``for name in words``: an assignment with several values; the body follows as commands of its own."""
    skip_blanks(cursor)
    if is_arithmetic(cursor):
        return _read_arithmetic_command(cursor)
    name = plain_text(read_word(cursor) or ()) or "_"
    skip_blanks_and_newlines(cursor)
    values: list[Word] = []
    if _IN.match(cursor.text, cursor.at):
        cursor.at += 2
        skip_blanks(cursor)
        while (word := read_word(cursor)) is not None:
            values.append(word)
            skip_blanks(cursor)
    else:
        values.append((Variable("@", True),))
    return Simple((Assignment(name, tuple(values)),), (), ())


def _read_arithmetic_command(cursor: Cursor) -> Simple:
    cursor.at += 2
    return Simple((), ((Text(":"),), (read_arithmetic(cursor),)), ())


def _read_simple(cursor: Cursor, words: list[Word]) -> Command | None:
    assignments: list[Assignment] = []
    redirects: list[Redirect] = []
    while True:
        skip_blanks(cursor)
        redirect = read_redirect(cursor)
        if redirect is not None:
            redirects.append(redirect)
            continue
        if not words:
            assignment = _read_assignment(cursor)
            if assignment is not None:
                assignments.append(assignment)
                continue
        word = read_word(cursor)
        if word is None:
            if not (assignments or words or redirects):
                return None
            return Simple(tuple(assignments), tuple(words), tuple(redirects))
        words.append(word)


def _read_assignment(cursor: Cursor) -> Assignment | None:
    found = _ASSIGNMENT.match(cursor.text, cursor.at)
    if found is None:
        return None
    cursor.at = found.end()
    if cursor.peek() != "(":
        return Assignment(found[1], (read_word(cursor) or (),), bool(found[3]))
    cursor.at += 1
    values: list[Word] = []
    skip_blanks_and_newlines(cursor)
    while cursor.at < len(cursor.text) and cursor.peek() != ")":
        word = read_word(cursor)
        if word is None:
            cursor.at += 1  # nothing that a list may hold
        else:
            values.append(word)
        skip_blanks_and_newlines(cursor)
    cursor.is_torn = cursor.is_torn or cursor.at >= len(cursor.text)
    cursor.at += 1
    return Assignment(found[1], tuple(values), bool(found[3]))
