"""The parts of a shell command line, as far as a guard needs them.

Control flow is flat: ``if``, ``while`` and ``case`` only mark where commands begin, because every branch is judged.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Text(NamedTuple):
    text: str
    quoted: bool = False


class Variable(NamedTuple):
    """``$name`` or ``${name<operator><operand>}``."""

    name: str
    quoted: bool
    operator: str = ""
    operand: Word = ()


class Substitution(NamedTuple):
    """``$( )``, backticks."""

    script: Script
    quoted: bool


class ProcessFile(NamedTuple):
    """``<( )`` and ``>( )``: a file name whose content is a command's output."""

    script: Script


class Arithmetic(NamedTuple):
    """``$(( ))``: a number; what it substitutes is judged."""

    inner: Word


Part: TypeAlias = Text | Variable | Substitution | ProcessFile | Arithmetic
Word: TypeAlias = "tuple[Part, ...]"


class Redirect:
    """``operator`` is ``<``, ``>``, ``>>``, ``<<`` (here-document), ``<<<`` …; the body of a here-document comes late."""

    __slots__ = ("fd", "operator", "target")

    def __init__(self, operator: str, target: Word, fd: str = "") -> None:
        self.operator = operator
        self.target = target
        self.fd = fd


class Assignment(NamedTuple):
    """``name=value``; several values for an array and for the variable of a ``for`` loop."""

    name: str
    values: tuple[Word, ...]
    appends: bool = False


class Simple(NamedTuple):
    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


class Group(NamedTuple):
    """``{ }`` or, as a subshell, ``( )``."""

    body: Script
    is_subshell: bool
    redirects: tuple[Redirect, ...] = ()


class Function(NamedTuple):
    name: str
    body: Script


Command: TypeAlias = Simple | Group | Function
Pipeline: TypeAlias = "tuple[Command, ...]"
Script: TypeAlias = "tuple[Pipeline, ...]"


def plain_text(word: Word) -> str | None:
    """The text of a word that is only unquoted text: only such a word can be a keyword."""
    if len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted:
        return word[0].text
    return None


def substituted_scripts(word: Word) -> list[Script]:
    """The scripts that run while the word is expanded."""
    scripts: list[Script] = []
    for part in word:
        if isinstance(part, Substitution | ProcessFile):
            scripts.append(part.script)
        elif isinstance(part, Variable):
            scripts += substituted_scripts(part.operand)
        elif isinstance(part, Arithmetic):
            scripts += substituted_scripts(part.inner)
    return scripts


def scripts_of(command: Simple) -> list[Script]:
    return [script for word in command.words for script in substituted_scripts(word)]


def process_files(command: Simple | None) -> list[Script]:
    if command is None:
        return []
    return [part.script for word in command.words for part in word if isinstance(part, ProcessFile)]


def only_substitution(command: Simple | None) -> Script | None:
    """The script of ``program "$(…)"`` or ``program <(…)`` when nothing else is given."""
    if command is None or len(command.words) != 2 or command.redirects or command.assignments:
        return None
    parts = [part for part in command.words[1] if part != Text("", True)]
    if len(parts) == 1 and isinstance(parts[0], Substitution | ProcessFile):
        return parts[0].script
    return None
