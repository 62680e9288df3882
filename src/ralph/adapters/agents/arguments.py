"""The words of an agent's command line: what the user's flags already decide, and where the program is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ralph.patterns import pattern

MAX_ARGUMENT_BYTES = 100_000
"""A prompt longer than this does not go on a command line: Linux takes 128 KiB in one argument."""

_SEPARATOR = pattern(r"[/\\]")


def gives(arguments: Iterable[str], *flags: str) -> bool:
    """Do the arguments hold one of these flags, as ``--flag``, ``--flag=value``, ``-f`` or ``-fvalue``?"""
    for argument in arguments:
        name = argument.partition("=")[0]
        for flag in flags:
            if name == flag:
                return True
            if len(flag) == 2 and argument.startswith(flag) and not argument.startswith("--"):
                return True
    return False


def without(arguments: Iterable[str], *flags: str, valued: Iterable[str] = ()) -> tuple[str, ...]:
    """The arguments without these flags. Those that are ``valued`` go with their value, or with a list of them."""
    kept: list[str] = []
    takes = tuple(valued)
    is_value = False
    for argument in arguments:
        if is_value and not argument.startswith("-"):
            continue
        is_value = argument in takes
        if not gives((argument,), *flags, *takes):
            kept.append(argument)
    return tuple(kept)


def value_of(arguments: Iterable[str], flag: str) -> str | None:
    """The value given to a long flag: ``--flag value`` or ``--flag=value``; the last one counts."""
    value: str | None = None
    is_next = False
    for argument in arguments:
        if is_next:
            value, is_next = argument, False
        elif argument == flag:
            is_next = True
        elif argument.startswith(flag + "="):
            value = argument[len(flag) + 1 :]
    return value


def as_argument(text: str) -> str | None:
    """The text as one argument of a command line, which cannot hold a NUL; None if it is too long for one."""
    argument = text.replace("\0", "\\0")
    return argument if len(argument.encode("utf-8", "surrogatepass")) <= MAX_ARGUMENT_BYTES else None


def program(command: str, cwd: Path) -> str:
    """The program to start: a relative path means relative to the project, a bare name is looked up in PATH."""
    if _SEPARATOR.search(command) and not Path(command).is_absolute():
        return str(cwd / command)
    return command
