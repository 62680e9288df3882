"""Where an interpreter's code comes from: its words, a script file, stdin."""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import INPUT


class Interpreter(NamedTuple):
    language: str
    code: tuple[str, ...]
    """Options whose value is code."""
    valued: tuple[str, ...] = ()
    """Options with another value."""
    stops_at_code: bool = False
    """Words behind the code are the program's, never options again (python -c)."""


_PYTHON = Interpreter("python", ("-c",), ("-m", "-W", "-X", "--check-hash-based-pycs"), True)
_NODE = Interpreter(
    "node",
    ("-e", "--eval", "-p", "--print", "-pe"),
    (
        "-r",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "--title",
        "--env-file",
        "-C",
        "--conditions",
    ),
)
_AWK = Interpreter("awk", ("-e", "--source"), ("-f", "--file", "-v", "-F", "--assign", "--field-separator"))
_INTERPRETERS = {
    "node": _NODE,
    "nodejs": _NODE,
    "bun": _NODE,
    "deno": Interpreter("node", ("eval",)),
    "tsx": _NODE,
    "ruby": Interpreter("ruby", ("-e",), ("-r", "-I", "-C")),
    "irb": Interpreter("ruby", ("-e",)),
    "perl": Interpreter("perl", ("-e", "-E"), ("-M", "-m", "-I")),
    "php": Interpreter("php", ("-r", "--run"), ("-d", "-c")),
    "lua": Interpreter("lua", ("-e",), ("-l",)),
    "luajit": Interpreter("lua", ("-e",), ("-l",)),
    "osascript": Interpreter("osascript", ("-e",), ("-l",)),
    "rscript": Interpreter("r", ("-e",)),
    "julia": Interpreter("julia", ("-e", "-E", "--eval")),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
}
_HARMLESS_VALUES = ("-W", "-X", "-v", "-F", "--title", "--conditions")
"""Options whose value is never code."""
_PYTHON_NAME = LazyPattern(r"(?:python|pypy)[\d.]*w?|py|ipython3?")


def interpreter_named(program: str) -> Interpreter | None:
    if _PYTHON_NAME.fullmatch(program):
        return _PYTHON
    return _INTERPRETERS.get(program) or _INTERPRETERS.get(program.rstrip("0123456789."))


class CodeSource(NamedTuple):
    codes: list[str]
    script: str
    """The script file, ``-`` for stdin, or nothing."""
    reads_stdin: bool
    may_gain_code: bool
    """Foreign words stand where code or options are read."""


def read_interpreter(interpreter: Interpreter, arguments: list[str]) -> CodeSource:
    codes: list[str] = []
    names_module = False
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            if word == "eval" and "eval" in interpreter.code:
                codes.append(arguments[at] if at < len(arguments) else "")
                at += 1
                continue
            at -= 1
            break
        if INPUT in word:
            return CodeSource(codes, "", False, True)
        option = _code_option(interpreter, word)
        if option is not None:
            codes.append(option or (arguments[at] if at < len(arguments) else ""))
            at += 0 if option else 1
            if interpreter.stops_at_code:
                return CodeSource(codes, "", False, INPUT in codes[-1])
        elif word in interpreter.valued:
            if at < len(arguments) and INPUT in arguments[at] and word not in _HARMLESS_VALUES:
                return CodeSource(codes, "", False, True)
            names_module = names_module or word in ("-m", "-f", "--file")
            at += 1
        elif (word.startswith("-m") and interpreter.language == "python") or (
            word.startswith("-f") and interpreter.language == "awk"
        ):
            names_module = True
    ended = at > 0 and arguments[at - 1 : at] == ["--"]
    rest = arguments[at:]
    if interpreter.language == "awk" and not codes and not names_module and rest:
        return CodeSource([rest[0]], "", False, INPUT in rest[0])
    may_gain = any(INPUT in code for code in codes)
    if codes or names_module:
        is_python_module = interpreter.stops_at_code and names_module
        may_gain = may_gain or (
            not ended and not is_python_module and any(word.startswith(INPUT) for word in rest)
        )
        return CodeSource(codes, "", False, may_gain)
    script = rest[0] if rest else ""
    return CodeSource(codes, script, script in ("", "-"), script.startswith(INPUT))


def _code_option(interpreter: Interpreter, word: str) -> str | None:
    """The code attached to an option, empty if it is the next word; None if it is no code option."""
    for name in interpreter.code:
        if word == name:
            return ""
        if name.startswith("--") and word.startswith(name + "="):
            return word[len(name) + 1 :]
    if word.startswith("--") or interpreter.language in ("awk", "node", "php"):
        return None
    for name in interpreter.code:
        letter = name[1:]
        # Bundled with other letters: `perl -ne`, `python -Sc`. A value may hang on: `python -c'…'`.
        found = re.match(rf"-[a-zA-Z0]*?{letter}", word) if len(letter) == 1 else None
        if (
            found
            and not word.startswith(interpreter.valued or ("\0",))
            and (found.end() == len(word) or word.startswith(name))
        ):
            return word[found.end() :]
    return None
