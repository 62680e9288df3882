"""Shells, and what runs a text as a shell does: ``bash -c``, ``sh script``, eval, source, trap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from ralph.guard.marks import INPUT, is_opaque, is_partly_opaque
from ralph.guard.options import base_name, read_own_words, split_options, words_in
from ralph.guard.program_lists import FETCHERS, SETUP_TOOLS, SETUP_WORDS, SHELLS
from ralph.guard.script_walk import walk_text
from ralph.guard.shell.expansion import origin_of, output_of
from ralph.guard.shell.syntax import Script, Simple, Text, only_substitution, process_files, scripts_of
from ralph.guard.walk import NOTHING, Start, Walk, refuse, refuse_hidden


class ShellWords(NamedTuple):
    code: str | None
    """After ``-c``."""
    script: str
    arguments: list[str]
    flags: str
    """Letters of its options."""


STDIN_FILES = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_VALUED = words_in("-o +o -O +O --rcfile --init-file -File -ExecutionPolicy")
_LONG_CODE = words_in("-command -encodedcommand --command")
"""PowerShell's and fish's ``-c``."""


def read_shell(words: list[str]) -> ShellWords:
    own = read_own_words(words, _VALUED)
    given = words[: len(words) - len(own.command)]
    flags = "".join(
        word for word in given if word[:2] != "--" and word not in _VALUED and word.lower() not in _LONG_CODE
    )
    rest = own.command[1:] if own.command[:1] in (["-"], ["--"]) else own.command
    if "c" in flags or not _LONG_CODE.isdisjoint(map(str.lower, given)):
        return ShellWords("".join(rest[:1]), "", rest[1:], flags)
    if "s" in flags or not rest or rest[0] in STDIN_FILES:
        return ShellWords(None, "", rest, flags)
    return ShellWords(None, rest[0], rest[1:], flags)


def run_text(walk: Walk, start: Start, text: str | None, origin: str, arguments: Sequence[str] = ()) -> None:
    """A script that is not in the command itself: known, or from somewhere."""
    if text is None or is_opaque(text):
        refuse_unread(origin)
    walk_text(walk, text, start.scope.with_arguments(arguments))


def refuse_unread(origin: str) -> NoReturn:
    if origin == "network":
        refuse(
            "network",
            "this runs code straight from the network",
            "save it to a file, read it, then run the file by name",
        )
    refuse_hidden("this runs a script that cannot be read in advance")


def origin_of_words(start: Start) -> str:
    """Where unknown words come from."""
    scripts = scripts_of(start.source) if start.source is not None else []
    return next(
        (origin for script in scripts if (origin := origin_of(script, start.scope)) != "file"), "file"
    )


def start_shell(walk: Walk, start: Start) -> None:
    if any(word.startswith("-") and INPUT in word for word in start.words[1:]):
        refuse_hidden("words from stdin become options of a shell")
    shell = read_shell(start.words[1:])
    if "n" in shell.flags:  # it only reads them
        return
    if shell.code is not None:
        _run_code(walk, start, shell.code, shell.arguments)
    elif _run_process_files(walk, start):
        return
    elif shell.script:
        if is_opaque(shell.script):
            refuse_hidden("this runs a script whose name is unknown")
        written = start.scope.written(shell.script)
        if written is not None:
            run_text(walk, start, written, "file", shell.arguments)
    elif start.feed != NOTHING:
        run_text(walk, start, start.feed.text, start.feed.origin, shell.arguments)


def _run_process_files(walk: Walk, start: Start) -> bool:
    """``bash <(…)``; False if there is none."""
    scripts = process_files(start.source)
    for script in scripts:
        if not (only_substitution(start.source) is script and _prints_setup_code(script)):
            run_text(walk, start, output_of(script, start.scope), origin_of(script, start.scope))
    return bool(scripts)


def _run_code(walk: Walk, start: Start, code: str, arguments: Sequence[str]) -> None:
    """After ``-c``."""
    if is_opaque(code):
        if INPUT in code:
            refuse_hidden("words from stdin become a script")
        refuse_unread(origin_of_words(start))
    walk_text(walk, code, start.scope.of_child(arguments[1:]), start.feed)


def start_eval(walk: Walk, start: Start) -> None:
    text = " ".join(start.words[1:])
    if not is_partly_opaque(text):
        walk_text(walk, text, start.scope)
        return
    script = only_substitution(start.source)
    if script is not None and _prints_setup_code(script):
        return
    if start.words[1:3] == ["set", "--"]:
        return
    if origin_of_words(start) == "network":
        refuse_unread("network")
    refuse_hidden("eval runs text that is not known in advance")


def start_source(walk: Walk, start: Start) -> None:
    if _run_process_files(walk, start):
        return
    _, operands = split_options(start.words[1:], ("-p",))
    if any(is_opaque(word) for word in (*operands[:1], *start.words[1:3])):
        refuse_hidden("this runs a script whose name is unknown")
    written = start.scope.written(operands[0]) if operands else None
    if written is not None:
        run_text(walk, start, written, "file")
    elif operands and operands[0] in STDIN_FILES and start.feed != NOTHING:
        run_text(walk, start, start.feed.text, start.feed.origin)


def start_trap(walk: Walk, start: Start) -> None:
    _, operands = split_options(start.words[1:])
    if len(operands) > 1 and operands[0] != "-":
        if is_partly_opaque(operands[0]):
            refuse_hidden("trap runs text that is not known in advance")
        # It runs at the end, with the variables that are set by then.
        walk.tally.later.append((walk, operands[0], start.scope))


def _prints_setup_code(script: Script) -> bool:
    """One call of a tool that is made to print shell code, with nothing around it."""
    if len(script) != 1 or len(script[0]) != 1:
        return False
    command = script[0][0]
    if not isinstance(command, Simple) or command.redirects or command.assignments or not command.words:
        return False
    if not all(isinstance(part, Text) for word in command.words for part in word):
        return False
    words = ["".join(part.text for part in word if isinstance(part, Text)) for word in command.words]
    name = base_name(words[0])
    if name in SHELLS or name in FETCHERS or name in ("command", "env", "sudo", "cat", "echo", "printf"):
        return False
    return name in SETUP_TOOLS or bool(SETUP_WORDS & set(words[1:]))
