"""Reads a shell command line. Total: whatever the text, a script comes out or ``TooComplex`` is raised.

An open quote, substitution or here-document is closed at the end of the text, and ``is_torn`` says so.
"""

from __future__ import annotations

import re

from ralph.guard.syntax import (
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
from ralph.guard.word_reading import WordReader


class ReadScript:
    """A script and whether something was left open in its text."""

    __slots__ = ("is_torn", "script")

    def __init__(self, script: Script, is_torn: bool) -> None:
        self.script = script
        self.is_torn = is_torn


def read_script(text: str, nesting: int = 0) -> ReadScript:
    reader = _Reader(text, nesting)
    return ReadScript(reader.whole_script(), reader.is_torn)


def read_double_quoted(text: str, nesting: int = 0) -> Word:
    """The body of an unquoted here-document: substitutions count, quotes do not."""
    return _Reader(text, nesting).double_quoted(end="")


_ASSIGNMENT = re.compile(r"(\w+)(\[[^]]*\])?(\+?)=")
_REDIRECT = re.compile(r"(\d*|\{\w+\})(<<<|<<-|<<|<>|>>|>\||>&|<&|&>>|&>|<|>)")
_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|\n]")
_PARENTHESES = re.compile(r"\s*\(\s*\)")
_IN = re.compile(r"in\b")
_SKIPPED_KEYWORDS = frozenset(
    ["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "coproc"]
)


class _Reader(WordReader):
    def __init__(self, text: str, nesting: int) -> None:
        super().__init__(text, nesting)
        self._cases = 0
        self._awaited: list[tuple[Redirect, str, bool, bool]] = []

    def whole_script(self) -> Script:
        script = self.script("")
        while self.at < len(self.text):  # a stray closing sign: go on behind it
            self.at += 1
            script += self.script("")
        return script

    def script(self, closing: str) -> Script:
        """Pipelines up to ``closing`` (``)`` or ``}`` in command position), which is not consumed."""
        pipelines: list[Pipeline] = []
        while True:
            self._skip_blanks_and_newlines()
            if self.at >= len(self.text):
                self._read_here_documents()
                return tuple(pipelines)
            character = self.text[self.at]
            if character == ")":
                if not self._cases:
                    return tuple(pipelines)
                self.at += 1  # the end of a pattern in `case`
                continue
            if closing == "}" and character == "}" and self.ends_word(self.at + 1):
                return tuple(pipelines)
            before = self.at
            pipeline = self._pipeline()
            if self._cases and self.peek() == ")":
                self.at += 1
                continue  # it was a pattern of `case`
            if pipeline:
                pipelines.append(pipeline)
            if self.at == before:
                if self.text[self.at] == ")":
                    return tuple(pipelines)
                self.at += 1

    def _pipeline(self) -> Pipeline:
        commands: list[Command] = []
        while True:
            command = self._command()
            if command is not None:
                commands.append(command)
            self._skip_blanks()
            operator = _OPERATOR.match(self.text, self.at)
            if operator is None:
                return tuple(commands)
            if operator[0] == "\n":
                return tuple(commands)
            self.at = operator.end()
            if operator[0] not in ("|", "|&"):
                return tuple(commands)
            if not commands:
                # What a loop prints goes into the next command: unknown, but not nothing.
                commands.append(Group((), False))
            self._skip_blanks_and_newlines()

    def _command(self) -> Command | None:
        self.count()
        while True:
            self._skip_blanks()
            if self.at >= len(self.text):
                return None
            if self.is_arithmetic():
                return self._arithmetic_command()
            if self.text[self.at] == "(":
                self.at += 1
                return self._group(")", is_subshell=True)
            if self._is_redirect() or _ASSIGNMENT.match(self.text, self.at):
                return self._simple([])
            word = self.word()
            if word is None:
                return None
            keyword = plain_text(word)
            if keyword == "{":
                return self._group("}", is_subshell=False)
            if keyword in _SKIPPED_KEYWORDS:
                continue
            if keyword == "case":
                self._skip_blanks()
                self.word()
                self._cases += 1
                self._skip_blanks_and_newlines()
                if self.text.startswith("in", self.at):
                    self.at += 2
                return None
            if keyword == "esac":
                self._cases = max(0, self._cases - 1)
                continue
            if keyword in ("for", "select"):
                return self._loop()
            if keyword == "function":
                self._skip_blanks()
                name = plain_text(self.word() or ()) or ""
                self._skip_parentheses()
                return self._function(name)
            if keyword and self._skip_parentheses():
                return self._function(keyword)
            return self._simple([word])

    def _skip_parentheses(self) -> bool:
        found = _PARENTHESES.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found is not None

    def _function(self, name: str) -> Function:
        self._skip_blanks_and_newlines()
        self.deeper()
        if self.peek() == "{":  # also without a blank behind it: people write fork bombs so
            self.at += 1
            body: Command | None = self._group("}", is_subshell=False)
        else:
            body = self._command()
        self.nesting -= 1
        return Function(name, ((body,),) if body is not None else ())

    def _group(self, closing: str, *, is_subshell: bool) -> Group:
        self.deeper()
        cases, self._cases = self._cases, 0
        body = self.script(closing)
        self._cases = cases
        self.nesting -= 1
        if self.peek() == closing:
            self.at += 1
        else:
            self.is_torn = True
        redirects: list[Redirect] = []
        while True:
            self._skip_blanks()
            redirect = self._redirect()
            if redirect is None:
                return Group(body, is_subshell, tuple(redirects))
            redirects.append(redirect)

    def _loop(self) -> Simple:
        """``for name in words``: an assignment with several values; the body follows as commands of its own."""
        self._skip_blanks()
        if self.is_arithmetic():
            return self._arithmetic_command()
        name = plain_text(self.word() or ()) or "_"
        self._skip_blanks_and_newlines()
        values: list[Word] = []
        if _IN.match(self.text, self.at):
            self.at += 2
            while True:
                self._skip_blanks()
                word = self.word()
                if word is None:
                    break
                values.append(word)
        else:
            values.append((Variable("@", True),))
        return Simple((Assignment(name, tuple(values)),), (), ())

    def _arithmetic_command(self) -> Simple:
        self.at += 2
        return Simple((), ((Text(":"),), (self.arithmetic(),)), ())

    def _simple(self, words: list[Word]) -> Command | None:
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        while True:
            self._skip_blanks()
            redirect = self._redirect()
            if redirect is not None:
                redirects.append(redirect)
                continue
            if not words:
                assignment = self._assignment()
                if assignment is not None:
                    assignments.append(assignment)
                    continue
            word = self.word()
            if word is None:
                if not (assignments or words or redirects):
                    return None
                return Simple(tuple(assignments), tuple(words), tuple(redirects))
            words.append(word)

    def _assignment(self) -> Assignment | None:
        found = _ASSIGNMENT.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        if self.peek() != "(":
            return Assignment(found[1], (self.word() or (),), bool(found[3]))
        self.at += 1
        values: list[Word] = []
        while True:
            self._skip_blanks_and_newlines()
            word = self.word()
            if word is None:
                if self.peek() == ")":
                    self.at += 1
                    return Assignment(found[1], tuple(values), bool(found[3]))
                if self.at >= len(self.text):
                    self.is_torn = True
                    return Assignment(found[1], tuple(values), bool(found[3]))
                self.at += 1
                continue
            values.append(word)

    def _is_redirect(self) -> re.Match[str] | None:
        found = _REDIRECT.match(self.text, self.at)
        is_process_file = found and found[2] in ("<", ">") and self.text.startswith("(", found.end())
        return None if is_process_file else found

    def _redirect(self) -> Redirect | None:
        found = self._is_redirect()
        if found is None:
            return None
        self.at = found.end()
        self._skip_blanks()
        redirect = Redirect(found[2], (), found[1])
        start = self.at
        target = self.word() or ()
        if found[2] in ("<<", "<<-"):
            redirect.operator = "<<"
            is_quoted = any(sign in self.text[start : self.at] for sign in "'\"\\")
            delimiter = "".join(part.text for part in target if isinstance(part, Text))
            self._awaited.append((redirect, delimiter, is_quoted, found[2] == "<<-"))
        else:
            redirect.target = target
        return redirect

    def _read_here_documents(self) -> None:
        """``at`` is at the beginning of a line."""
        awaited, self._awaited = self._awaited, []
        for redirect, delimiter, is_quoted, strips_tabs in awaited:
            lines: list[str] = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if strips_tabs:
                    line = line.lstrip("\t")
                if line == delimiter:
                    break
                lines.append(line + "\n")
            else:
                self.is_torn = True
            body = "".join(lines)
            redirect.target = (Text(body, True),) if is_quoted else read_double_quoted(body, self.nesting + 1)

    def substituted(self) -> Script:
        self.deeper()
        cases, self._cases = self._cases, 0
        script = self.script(")")
        self._cases = cases
        self.nesting -= 1
        if self.peek() == ")":
            self.at += 1
        else:
            self.is_torn = True
        return script

    def _skip_blanks(self) -> None:
        text = self.text
        while self.at < len(text):
            character = text[self.at]
            if character == "#" and (self.at == 0 or text[self.at - 1] in " \t\n;&|("):
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
                return
            if text.startswith("\\\n", self.at):
                self.at += 2
            elif character != "\n" and character.isspace():
                self.at += 1
            else:
                return

    def _skip_blanks_and_newlines(self) -> None:
        while True:
            self._skip_blanks()
            if self.peek() != "\n":
                operator = _OPERATOR.match(self.text, self.at)
                if operator is None:
                    return
                self.at = operator.end()  # `; ;`, a leading `|`: nothing runs there
                continue
            self.at += 1
            self._read_here_documents()
