"""The program that a shell command begins with, if that can be told without a shell."""

from __future__ import annotations

from ralph.patterns import pattern

_BARE_NAME = pattern(r"\s*([A-Za-z0-9_][\w.+-]*)(?=\s|$)")
_SHELLS_OWN = frozenset({
    "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete",
    "continue", "declare", "dirs", "disown", "do", "done", "echo", "elif", "else", "enable", "esac", "eval",
    "exec", "exit", "export", "false", "fc", "fg", "fi", "for", "function", "getopts", "hash", "help",
    "history", "if", "in", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd",
    "pwd", "read", "readarray", "readonly", "return", "select", "set", "shift", "shopt", "source",
    "suspend", "test", "then", "time", "times", "trap", "true", "type", "typeset", "ulimit", "umask",
    "unalias", "unset", "until", "wait", "while",
})  # fmt: skip


def named_program(command: str) -> str:
    """Its bare name; empty: a path, the shell's own word, or more than a glance can tell."""
    found = _BARE_NAME.match(command)
    return found[1] if found is not None and found[1] not in _SHELLS_OWN else ""
