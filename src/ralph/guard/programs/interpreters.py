"""Interpreters of other languages: where their code comes from, and what it would do."""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph.guard.families.files import check_emptied_file, shown_path
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import INPUT, is_opaque
from ralph.guard.options import base_name, read_own_words
from ralph.guard.places import HARMLESS, Place, is_regenerated, is_vital_file
from ralph.guard.programs.code import (
    RUNS_TEXT,
    danger_in_code,
    looks_like_commands,
    read_code,
    strip_comments,
)
from ralph.guard.programs.shells import STDIN_FILES, origin_of_words, refuse_unread
from ralph.guard.script_walk import walk_text
from ralph.guard.shell.expansion import origin_of, output_of
from ralph.guard.shell.syntax import process_files
from ralph.guard.walk import NOTHING, Start, Walk, refuse, refuse_hidden, refuse_if


class Interpreter(NamedTuple):
    language: str
    code: tuple[str, ...]
    """Options whose value is code."""
    valued: tuple[str, ...] = ()
    """Options with another value."""


_PYTHON = Interpreter("python", ("-c",), ("-m", "-W", "-X", "--check-hash-based-pycs"))
_NODE = Interpreter(
    "node",
    ("-e", "--eval", "-p", "--print", "-pe"),
    ("-r", "--require", "--import", "--loader", "--title", "--env-file", "-C", "--conditions"),
)
_AWK = Interpreter("awk", ("-e", "--source"), ("-f", "--file", "-v", "-F", "--assign", "--field-separator"))
_LUA = Interpreter("lua", ("-e",), ("-l",))
_INTERPRETERS = {
    **dict.fromkeys(("node", "nodejs", "bun", "tsx"), _NODE),
    "deno": Interpreter("node", ("eval",)),
    "ruby": Interpreter("ruby", ("-e",), ("-r", "-I", "-C")),
    "irb": Interpreter("ruby", ("-e",)),
    "perl": Interpreter("perl", ("-e", "-E"), ("-M", "-m", "-I")),
    "php": Interpreter("php", ("-r", "--run"), ("-d", "-c")),
    **dict.fromkeys(("lua", "luajit", "osascript"), _LUA),
    "rscript": Interpreter("r", ("-e",)),
    "julia": Interpreter("julia", ("-e", "-E", "--eval")),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
}
_HARMLESS_VALUES = ("-W", "-X", "-v", "-F", "--title", "--conditions")
"""Options whose value is never code."""
_PYTHON_NAME = LazyPattern(r"(?:python|pypy)[\d.]*w?|py|ipython3?", hints="py")


def interpreter_named(program: str) -> Interpreter | None:
    if _PYTHON_NAME.fullmatch(program):
        return _PYTHON
    return _INTERPRETERS.get(program.rstrip("0123456789."))


class CodeSource(NamedTuple):
    codes: list[str]
    script: str = ""
    """The script file, if there is no code."""
    reads_stdin: bool = False
    may_gain_code: bool = False
    """Words from stdin come where code or options are read."""


def read_interpreter(interpreter: Interpreter, arguments: list[str]) -> CodeSource:
    is_python, language = interpreter is _PYTHON, interpreter.language
    own = read_own_words(
        arguments, (*interpreter.valued, *interpreter.code), last=interpreter.code if is_python else ()
    )
    codes, rest = own.values(*interpreter.code), own.command
    if rest[:1] == ["eval"] and "eval" in interpreter.code:
        codes, rest = rest[1:2], rest[2:]
    names_module = bool(own.values("-m", "-f", "--file"))
    if language == "awk" and not codes and not names_module:
        codes, rest = rest[:1], rest[1:]
    elif not codes and not names_module:
        script = "".join(rest[:1])
        return CodeSource([], script, script in ("", *STDIN_FILES), script.startswith(INPUT))
    given = [value for name, value in own.options if name not in _HARMLESS_VALUES]
    if any(INPUT in text for text in (*codes, *given, *(name for name, _ in own.options))):
        return CodeSource(codes, may_gain_code=True)
    # `python -c`, `perl -pi -e '…' FILES`: what follows is never an option again.
    takes_files = (
        is_python or language == "awk" or any(re.fullmatch(r"-\w*[pn]\w*", word) for word in arguments)
    )
    is_open = not takes_files and "--" not in arguments
    return CodeSource(codes, may_gain_code=is_open and any(word.startswith(INPUT) for word in rest))


def start_interpreter(walk: Walk, start: Start, interpreter: Interpreter) -> None:
    language = interpreter.language
    source = read_interpreter(interpreter, start.words[1:])
    if source.may_gain_code:
        refuse_hidden(f"words from stdin become code for {base_name(start.words[0])}")
    for code in source.codes:
        if is_opaque(code):
            _run_code_from(walk, start, language, None, origin_of_words(start))
        _walk_code(walk, start, language, code)
    if process_files(start.source) and not source.codes and language != "awk":
        for script in process_files(start.source):
            text, origin = output_of(script, start.scope), origin_of(script, start.scope)
            _run_code_from(walk, start, language, text, origin)
    elif source.reads_stdin and start.feed != NOTHING and language != "awk":
        _run_code_from(walk, start, language, start.feed.text, start.feed.origin)
    elif (written := start.scope.written(source.script)) is not None:
        _run_code_from(walk, start, language, written, "network")
    walk.ask_families(start)
    if interpreter is _PYTHON and start.words[1:2] == ["-m"] and start.words[2:]:
        walk.ask_families(start.with_words(start.words[2:]))


def _run_code_from(walk: Walk, start: Start, language: str, text: str | None, origin: str) -> None:
    """Code that is not in the command itself: known, or from somewhere. A file that exists already is not read."""
    if text is not None and not is_opaque(text):
        _walk_code(walk, start, language, text)
    elif origin in ("network", "decoder"):
        refuse_unread(origin)


def _walk_code(walk: Walk, start: Start, language: str, code: str) -> None:
    walk = walk.deeper()
    scope = start.scope
    if language != "awk":
        code = strip_comments(code)
        refuse_if(danger_in_code(code))
        if start.feed.origin == "network" and "stdin" in code and RUNS_TEXT.search(code):
            refuse_unread("network")
    found = read_code(language, code)
    for script in found.scripts:
        if is_opaque(script) or INPUT in script:
            refuse_hidden("this code runs a command that is not known in advance")
        walk_text(walk, script, scope.copy())
    for words in found.calls:
        walk.start(walk, Start(words, scope.copy()))
    for tree in found.removed_trees:
        if walk.place_of(tree, scope) not in HARMLESS:
            refuse("files", "this code removes a whole directory", "remove files inside the project by name")
    for path in found.removed_files:
        place = walk.place_of(path, scope)
        is_pattern = "*" in path
        if place not in (HARMLESS if is_pattern else HARMLESS | {Place.OUTSIDE, Place.UNKNOWN}) or (
            is_pattern and place is Place.INSIDE and not is_regenerated(path)
        ):
            refuse(
                "files", f"this code removes {shown_path(path)}", "remove files inside the project by name"
            )
    for path in found.emptied_files:
        refuse_if(check_emptied_file(path, walk.place_of(path, scope)))
    for path in found.written_files:
        if is_vital_file(path, scope.cwd):
            refuse("files", f"this code overwrites {path}", "write inside the project")
    if looks_like_commands("", code) and language != "awk":
        walk_text(walk, code, scope.copy())
