"""What a program prints, where we know it without running it: echo, printf, decoders, a few queries."""

from __future__ import annotations

import base64
import binascii
import re

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.limits import MAX_PRINTED_CHARS
from ralph.guard.marks import TEMPORARY_FOLDER, UNKNOWN
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
    if program in ("base64", "xxd", "openssl", "basenc", "base32"):
        return _decode(program, arguments, scope, stdin)
    if program == "rev" and stdin is not None:
        return "\n".join(line[::-1] for line in stdin.split("\n"))
    listed = list_names(program, arguments, stdin)
    if listed is not None:
        return listed
    if program == "tr" and stdin is not None:
        return _translate(arguments, stdin)
    return _answer(program, arguments)


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


def _decode(program: str, arguments: list[str], scope: Scope, stdin: str | None) -> str | None:
    options, operands = split_options(arguments)
    for operand in operands:
        stdin = scope.written(operand) or stdin
    flags = "".join(option for option in options if not option.startswith("--"))
    if stdin is None or UNKNOWN in stdin:
        return None
    packed = "".join(stdin.split())
    try:
        if program == "xxd" and "r" in flags:
            return bytes.fromhex(packed).decode("utf-8", "replace")
        is_decoding = "d" in flags.lower() or "--decode" in options
        if program == "base32" and is_decoding:
            return base64.b32decode(packed).decode("utf-8", "replace")
        if is_decoding and (
            program != "openssl" or "base64" in [*operands, *(option.lstrip("-") for option in options)]
        ):
            return base64.b64decode(packed + "=" * (-len(packed) % 4)).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return None
    return None


def _translate(arguments: list[str], text: str) -> str | None:
    options, operands = split_options(arguments)
    sets = [_characters_of(operand) for operand in operands]
    if options in (["-d"], ["--delete"]) and len(sets) == 1:
        return "".join(character for character in text if character not in sets[0])
    if len(sets) != 2 or not sets[1] or options:
        return None
    target = sets[1] + sets[1][-1] * len(sets[0])
    return text.translate({ord(old): new for old, new in zip(sets[0], target, strict=False)})


def _characters_of(set_text: str) -> str:
    text = decode_escapes(set_text)
    for name, members in (
        ("[:upper:]", "A-Z"),
        ("[:lower:]", "a-z"),
        ("[:space:]", " \t\n"),
        ("[:digit:]", "0-9"),
    ):
        text = text.replace(name, members)

    def ranged(found: re.Match[str]) -> str:
        first, last = ord(found[1]), ord(found[2])
        return "".join(chr(code) for code in range(first, min(last, first + 256) + 1))

    return re.sub(r"(.)-(.)", ranged, text, flags=re.DOTALL)
