"""A shell's own command line: ``bash -lc 'code' name arguments``, ``sh script``, ``bash -s``."""

from __future__ import annotations

from typing import NamedTuple


class ShellWords(NamedTuple):
    code: str | None = None
    """After ``-c``."""
    script: str = ""
    arguments: tuple[str, ...] = ()
    checks_only: bool = False
    is_interactive: bool = False
    startup_file: str = ""


_SHELL_VALUED = frozenset(["-o", "+o", "-O", "+O", "--rcfile", "--init-file", "-File", "-ExecutionPolicy"])


def read_shell(words: list[str]) -> ShellWords:
    reads_code = reads_stdin = checks_only = is_interactive = False
    startup_file = ""
    at = 0
    while at < len(words):
        word = words[at]
        lowered = word.lower()
        if word in ("--", "-"):
            at += 1
            break
        if word.startswith(("--rcfile=", "--init-file=")):
            startup_file = word.partition("=")[2]
        elif word in _SHELL_VALUED:
            if word in ("--rcfile", "--init-file") and at + 1 < len(words):
                startup_file = words[at + 1]
            at += 1
        elif lowered in ("-command", "--command", "-encodedcommand", "/c"):
            reads_code = True
            at += 1
            break
        elif word[:2] in ("-o", "-O") and len(word) > 2:
            pass  # `-onotify`: an option of the shell with its name
        elif word.startswith("-") and not word.startswith("--"):
            reads_code = reads_code or "c" in word
            reads_stdin = reads_stdin or "s" in word
            checks_only = checks_only or "n" in word
            is_interactive = is_interactive or "i" in word
        elif not word.startswith(("-", "+")):
            break
        at += 1
    rest = words[at:]
    if reads_code and rest:
        if rest[0] == "--":
            rest = rest[1:]
        return ShellWords(
            rest[0] if rest else "", "", tuple(rest[1:]), checks_only, is_interactive, startup_file
        )
    if reads_code:
        return ShellWords("", "", (), checks_only, is_interactive, startup_file)
    if reads_stdin or not rest:
        return ShellWords(None, "", tuple(rest), checks_only, is_interactive, startup_file)
    return ShellWords(None, rest[0], tuple(rest[1:]), checks_only, is_interactive, startup_file)
