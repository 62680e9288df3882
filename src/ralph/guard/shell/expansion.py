"""What words become when the shell expands them, as far as that is known; so also what a substituted script prints."""

from __future__ import annotations

import re

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.limits import (
    MAX_PRINTED_CHARS,
    MAX_WORD_CHARS,
    MAX_WORDS,
    MAX_WORDS_CHARS,
    TOO_LONG,
    TOO_MANY_WORDS,
    TooComplex,
)
from ralph.guard.marks import UNKNOWN
from ralph.guard.options import base_name, words_in
from ralph.guard.program_lists import FETCHERS
from ralph.guard.shell.output import output_of_call
from ralph.guard.shell.scope import Scope
from ralph.guard.shell.syntax import (
    Command,
    Part,
    Pipeline,
    ProcessFile,
    Redirect,
    Script,
    Simple,
    Substitution,
    Text,
    Variable,
    Word,
)

_DECODERS = words_in("base64 base32 basenc xxd openssl gunzip zcat uudecode tr rev")
_BRACES = LazyPattern(r"\{([^{}]*,[^{}]*)\}")
_RANGE = LazyPattern(r"\{(\w+)\.\.(\w+)\}")


def expand_words(words: tuple[Word, ...], scope: Scope) -> list[str]:
    expanded: list[str] = []
    for word in words:
        expanded += expand_word(word, scope, names_program=not expanded)
        if len(expanded) > MAX_WORDS:
            raise TooComplex(TOO_MANY_WORDS)
    if sum(map(len, expanded)) > MAX_WORDS_CHARS:
        raise TooComplex(TOO_LONG)
    return expanded


def expand_word(word: Word, scope: Scope, *, names_program: bool = False) -> list[str]:
    fields = _Fields()
    for part in word:
        if isinstance(part, Text):
            fields.add(part.text, is_quoted=part.quoted)
        elif isinstance(part, Variable):
            _add_variable(fields, part, scope)
        elif isinstance(part, Substitution):
            _add_output(fields, part, scope, names_program=names_program)
        elif isinstance(part, ProcessFile):
            fields.add("/dev/fd/63", is_quoted=True)
        else:
            fields.add("0", is_quoted=True)
    words = fields.finished()
    if any(isinstance(part, Text) and not part.quoted and "{" in part.text for part in word):
        words = [piece for whole in words for piece in expand_braces(whole)]
    return words


def expand_text(word: Word, scope: Scope) -> str:
    """As in an assignment, a here-document or a redirection: one text, never split."""
    return " ".join(expand_word(tuple(_quoted(part) for part in word), scope, names_program=True))


def expand_braces(text: str) -> list[str]:
    """``{a,b}c`` is ``ac bc``."""
    pending = [text]
    done: list[str] = []
    while pending:
        if len(pending) + len(done) > MAX_WORDS:
            raise TooComplex(TOO_MANY_WORDS)
        current = pending.pop()
        found = _BRACES.search(current)
        if found:
            before, after = current[: found.start()], current[found.end() :]
            pending += [before + choice + after for choice in reversed(found[1].split(","))]
            continue
        found = _RANGE.search(current)
        if found and current.count("..") == 1:
            # The ends are enough: no rule depends on what lies between them.
            done += [current[: found.start()] + end + current[found.end() :] for end in (found[1], found[2])]
            continue
        done.append(current)
    return done


class _Fields:
    """Builds the words one word expands to."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._current: str | None = None

    def add(self, text: str, *, is_quoted: bool) -> None:
        if text or is_quoted:
            self._current = (self._current or "") + text
            if len(self._current) > MAX_WORD_CHARS:
                raise TooComplex(TOO_LONG)

    def add_split(self, text: str, separators: str) -> None:
        """An unquoted value: cut at the separators."""
        if not separators:
            self.add(text, is_quoted=False)
            return
        pieces = re.split("[" + re.escape(separators) + "]+", text)
        for number, piece in enumerate(pieces):
            if number:
                self.end_word()
            self.add(piece, is_quoted=False)

    @property
    def is_option(self) -> bool:
        return (self._current or "").startswith("-")

    def end_word(self) -> None:
        if self._current is not None:
            self._words.append(self._current)
            self._current = None
            if len(self._words) > MAX_WORDS:
                raise TooComplex(TOO_MANY_WORDS)

    def finished(self) -> list[str]:
        self.end_word()
        return self._words


def _add_variable(fields: _Fields, part: Variable, scope: Scope) -> None:
    values = _values_of(part, scope)
    if part.name == "*" and part.quoted:
        fields.add(scope.separators[:1].join(values), is_quoted=True)
        return
    for number, value in enumerate(values):
        if number:
            fields.end_word()
        if part.quoted:
            fields.add(value, is_quoted=True)
        else:
            fields.add_split(value, scope.separators)
    if not values and part.quoted and part.name != "@":
        fields.add("", is_quoted=True)


def _values_of(part: Variable, scope: Scope) -> tuple[str, ...]:
    if part.operator == "!":
        inner = scope.value_of(part.name)
        return tuple(value for name in inner for value in scope.value_of(name)) or inner or (UNKNOWN,)
    if part.operator == "#len":
        return ("1",)
    values = scope.value_of(part.name)
    if part.operator in (":-", "-", ":=", "="):
        if not any(values) or (values == (UNKNOWN,) and part.operand):
            return (expand_text(part.operand, scope),)
        return values
    if part.operator in (":+", "+"):
        return (expand_text(part.operand, scope),) if any(values) else ()
    if part.operator in (":?", "?"):
        return values if any(values) else (UNKNOWN,)
    if not part.operator:
        return values
    return tuple(_transform(value, part, scope) for value in values)


def _transform(value: str, part: Variable, scope: Scope) -> str:
    """The commonest of bash's string operators; others leave the value unknown."""
    operand = expand_text(part.operand, scope)
    if part.operator in ("^", "^^", ",", ",,"):
        return value.upper() if "^" in part.operator else value.lower()
    if part.operator == ":" and (found := re.fullmatch(r"\s*(\d{1,4})(?::(\d{1,4}))?", operand)):
        start = int(found[1])
        return value[start : start + int(found[2])] if found[2] else value[start:]
    if part.operator in ("/", "//") and not set(operand) & set("*?["):
        old, _, new = operand.partition("/")
        return value.replace(old, new, 1 if part.operator == "/" else -1) if old else value
    return value if value == UNKNOWN else value + UNKNOWN


def _add_output(fields: _Fields, part: Substitution, scope: Scope, *, names_program: bool) -> None:
    output = output_of(part.script, scope)
    text = UNKNOWN if output is None else output.rstrip("\n")
    if (text.startswith("-") or fields.is_option) and not names_program:
        text = UNKNOWN  # an option from a substitution: see "accepted" in docs/guard.md
    if part.quoted:
        fields.add(text, is_quoted=True)
    else:
        fields.add_split(text, scope.separators)


def _quoted(part: Part) -> Part:
    return part._replace(quoted=True) if isinstance(part, Text | Variable | Substitution) else part


def output_of(script: Script, scope: Scope) -> str | None:
    """What a script prints; None if it cannot be known without running it."""
    outputs = [_output_of_pipeline(pipeline, scope) for pipeline in script]
    if any(output is None for output in outputs) or not outputs:
        return None
    return "".join(output or "" for output in outputs)[:MAX_PRINTED_CHARS]


def _output_of_pipeline(pipeline: Pipeline, scope: Scope) -> str | None:
    text: str | None = None
    for command in pipeline:
        text = output_of_command(command, scope, text)
        if text is None:
            return None
    return text


def stdin_text(redirects: tuple[Redirect, ...], scope: Scope) -> str | None:
    """The text of a here-document or here-string, or of a file that the command line itself wrote."""
    text = None
    for redirect in redirects:
        if redirect.operator == "<<" and redirect.fd in ("", "0"):
            text = expand_text(redirect.target, scope)
        elif redirect.operator == "<<<":
            text = expand_text(redirect.target, scope) + "\n"
        elif redirect.operator == "<":
            text = scope.written(expand_text(redirect.target, scope))
    return text


def output_of_command(command: Command, scope: Scope, stdin: str | None) -> str | None:
    if not isinstance(command, Simple) or not command.words:
        return None
    if any(">" in redirect.operator and redirect.fd != "2" for redirect in command.redirects):
        return None
    given = stdin_text(command.redirects, scope)
    words = expand_words(command.words, scope)
    if not words:
        return None
    return output_of_call(words, scope, stdin if given is None else given)


def origin_of(script: Script, scope: Scope) -> str:
    """Where the output of a script comes from."""
    for pipeline in script:
        for command in pipeline:
            if not isinstance(command, Simple) or not command.words:
                continue
            words = expand_words(command.words, scope)
            names = {base_name(word) for word in words[:3]}
            if names & FETCHERS:
                return "network"
            if names & _DECODERS:
                return "decoder"
    return "file"
