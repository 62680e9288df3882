"""The scripts of the project that a verification command runs: who may change them decides what is verified."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

_INTERPRETERS = re.compile(r"(?:.*/)?(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|pwsh)")
_BEFORE = {
    "exec",
    "time",
    "env",
    "nice",
    "nohup",
    "command",
    "sudo",
    "!",
    "then",
    "do",
    "else",
    "if",
    "while",
    "run",
}
_SAYS_CHECK = re.compile(
    r"test|check|verif|valid|lint|spec|smoke|accept|e2e|\bci\b|gate|prove|assert", re.IGNORECASE
)
_FOLDERS = re.compile(r"(?:^|/)(?:scripts?|ci|\.ci|tools?|bin|hack|dev)/")
_SHELL = re.compile(r"\.(?:sh|bash|zsh|ps1)$|(?:^|/)(?:gradlew|mvnw)$")


def scripts_in(command: str, working_dir: str = ".") -> frozenset[str]:
    """Paths from the top of the workspace. The program that is being worked on (``python main.py``) is none of them."""
    found: set[str] = set()
    folder = working_dir
    for words in _simple_commands(command):
        if words[0] == "cd" and len(words) > 1:
            folder = f"{folder}/{words[1]}"
        elif (script := _script(words)) and (path := _normal(f"{folder}/{script}")) is not None:
            found.add(path)
    return frozenset(found)


def _simple_commands(command: str) -> Iterator[list[str]]:
    try:
        lexer = shlex.shlex(
            command.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True
        )
        lexer.commenters = ""
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quote that does not end: the shell will say so
        return
    present: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= set(";&|(){}"):
            if present := _without_prefix(present):
                yield present
            present = []
        else:
            present.append(word)


def _without_prefix(words: list[str]) -> list[str]:
    while words:
        if words[0] in _BEFORE or re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
            words = words[1:]
        elif words[0] == "timeout" and len(words) > 2:
            words = words[2:]
        else:
            break
    return words


def _script(words: list[str]) -> str:
    program, *rest = words
    if _INTERPRETERS.fullmatch(program) and not program.startswith("./"):
        for word in rest:
            if word in ("-c", "-m", "-e", "-p", "--eval", "-"):
                return ""
            if not word.startswith("-"):
                return word if _decides(word) else ""
        return ""
    return program if "/" in program and _decides(program) else ""


def _decides(path: str) -> bool:
    return bool(_SHELL.search(path) or _FOLDERS.search(path) or _SAYS_CHECK.search(path.rsplit("/", 1)[-1]))


def _normal(path: str) -> str | None:
    """Without ``.`` and ``..``; None if it leads out."""
    parts: list[str] = []
    if path.startswith("/") or "//" in path:
        return None
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None
