"""What a program prints, where we know it without running it: echo, printf, listings, a few queries."""

from __future__ import annotations

import re

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.limits import MAX_PRINTED_CHARS
from ralph.guard.marks import TEMPORARY_FOLDER
from ralph.guard.options import base_name, split_options
from ralph.guard.shell.escapes import decode_escapes
from ralph.guard.shell.listings import list_names
from ralph.guard.shell.scope import Scope

_FORMAT = LazyPattern(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")


def output_of_call(words: list[str], scope: Scope, stdin: str | None) -> str | None:
    """None if it cannot be known."""
    program, arguments = base_name(words[0]), words[1:]
    if (
        program in ("sudo", "command", "builtin", "env", "exec")
        and arguments
        and not arguments[0].startswith("-")
    ):
        return output_of_call(arguments, scope, stdin)
    if program == "echo":
        return _echo(arguments)
    if program == "printf":
        return _format(arguments)
    if program == "tee":
        return stdin
    if program in ("cat", "tac"):
        return _concatenate(arguments, scope, stdin)
    listed = list_names(program, arguments, stdin)
    return _answer(program, arguments) if listed is None else listed


def _answer(program: str, arguments: list[str]) -> str | None:
    """Programs whose answer can be predicted well enough."""
    operands = [argument for argument in arguments if not argument.startswith("-")]
    if program == "mktemp":
        return f"{TEMPORARY_FOLDER}/made" if not any("/" in operand for operand in operands) else operands[-1]
    if program == "pwd" or (
        program == "git" and arguments[:1] == ["rev-parse"] and "--show-toplevel" in arguments
    ):
        return "."
    if program in ("which", "realpath", "readlink", "type") and operands:
        return operands[-1]
    if program == "command" and arguments[:1] in (["-v"], ["-V"]) and operands:
        return operands[-1]
    if program == "whoami":
        return "user"
    if program in ("true", ":"):
        return ""
    return None


def _echo(arguments: list[str]) -> str:
    has_escapes = False
    newline = "\n"
    while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
        has_escapes = has_escapes or "e" in arguments[0]
        newline = "" if "n" in arguments[0] else newline
        arguments = arguments[1:]
    text = " ".join(arguments)
    return (decode_escapes(text) if has_escapes else text) + newline


def _format(arguments: list[str]) -> str | None:
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments or arguments[0] == "-v":
        return None
    template, values = decode_escapes(arguments[0]), arguments[1:]
    printed = ""
    while True:
        before = len(values)

        def replaced(found: re.Match[str]) -> str:
            if found[1] == "%":
                return "%"
            value = values.pop(0) if values else ""
            return decode_escapes(value) if found[1] == "b" else value

        printed += _FORMAT.sub(replaced, template)
        if not values or len(values) == before or len(printed) > MAX_PRINTED_CHARS:
            return printed


def _concatenate(arguments: list[str], scope: Scope, stdin: str | None) -> str | None:
    _, operands = split_options(arguments)
    if not operands or operands == ["-"]:
        return stdin
    texts = [stdin if operand == "-" else scope.written(operand) for operand in operands]
    if any(text is None for text in texts):
        return None
    return "".join(text or "" for text in texts)
