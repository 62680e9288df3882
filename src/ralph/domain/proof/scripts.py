"""The scripts that a command runs: those it names, and those that they, make targets and npm scripts run in turn."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ralph.domain.proof.makefiles import included, recipes_of, targets_in

Read = Callable[[str], str | None]
_INTERPRETERS = re.compile(r"(?:.*/)?(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|pwsh)")
_BEFORE = frozenset(
    (
        "exec", "time", "env", "nice", "nohup", "command", "sudo", "!", "then", "do", "else", "if", "while", "run", "{",
    )
)  # fmt: skip
_SAYS_CHECK = re.compile(r"(?i)test|check|verif|valid|lint|spec|smoke|accept|e2e|\bci\b|gate|prove|assert")
_FOLDERS = re.compile(r"(?:^|/)(?:scripts?|ci|\.ci|tools?|bin|hack|dev)/")
_SHELL = re.compile(r"\.(?:sh|bash|zsh|ps1)$|(?:^|/)(?:gradlew|mvnw)$")
_SHELL_TEXT = re.compile(r"\A#!.*\b(?:ba|da|z|k)?sh\b")
_VARIABLE = re.compile(r"^(?:\$\{?\w+\}?|\$\(.*\)|`.*`)/")
_PACKAGE_SCRIPT = re.compile(
    r"\b(?:npm|pnpm|yarn|bun)\s+(?:-\S+\s+)*(?:(?:run-script|run)\s+(?:-\S+\s+)*)?([\w:.-]+)"
)
_SHORT = {"t": "test", "tst": "test"}
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


def scripts_in(command: str, working_dir: str = ".") -> frozenset[str]:
    """Paths from the top of the workspace. The program under development (``python main.py``) is not among them."""
    found: set[str] = set()
    folder = working_dir
    for words in _simple_commands(command):
        if words[0] == "cd" and len(words) > 1:
            folder = f"{folder}/{words[1]}"
        elif (script := _script(words)) and (path := _normal(f"{folder}/{script}")) is not None:
            found.add(path)
    return frozenset(found)


def first_named(
    command: str, working_dir: str, paths: Collection[str], before: Collection[str]
) -> frozenset[str]:
    """Those of ``paths`` that a command asks for by a name that meant nothing ``before``: its first tests."""
    named = {
        _normal(f"{working_dir}/{word.split('::')[0]}")
        for words in _simple_commands(command)
        for word in words
    }
    return frozenset(
        path
        for path in paths
        for name in named
        if name and _lies_at(path, name) and not any(_lies_at(old, name) for old in before)
    )


def _lies_at(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}/")


@dataclass(slots=True)
class Reached:
    """All that commands run: ``texts`` as far as they are commands themselves."""

    scripts: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    package_scripts: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)


def reach(commands: Iterable[tuple[str, str]], read: Read) -> Reached:
    """From commands and the folder of each; ``read`` gives the text of a file of the project, or None."""
    found = Reached()
    waiting = [(command, folder, folder) for command, folder in commands]
    known = set(waiting)
    while waiting:
        command, folder, beside = waiting.pop()
        found.texts.append(command)
        for more in _one_step(found, command, folder, beside, read):
            if more not in known:
                known.add(more)
                waiting.append(more)
    return found


def _one_step(
    found: Reached, command: str, folder: str, beside: str, read: Read
) -> Iterator[tuple[str, str, str]]:
    """What a command runs: (text, the folder that it is run in, the folder of the file that it is from)."""
    for path in _files_run(command, folder, beside, read):
        if path not in found.scripts:
            found.scripts.add(path)
            text = read(path) or ""
            if _SHELL.search(path) or _SHELL_TEXT.match(text):
                place = posixpath.dirname(path) or "."
                yield from ((line, folder, place) for line in _lines(text))
    if targets := targets_in(command):
        found.targets |= targets
        makefiles = (read(_join(folder, name)) for name in MAKEFILES)
        text = next((one for one in makefiles if one is not None), "")
        found.scripts.update(
            path for name in included(text) if (path := _join(folder, name)) and read(path) is not None
        )
        yield from ((line, folder, folder) for line in recipes_of(text, targets))
    for name in _PACKAGE_SCRIPT.findall(command):
        name = _SHORT.get(name, name)
        scripts = _package_scripts(read(_join(folder, "package.json")))
        if name in scripts:
            found.package_scripts.add(name)
            yield from ((str(scripts[one]), folder, folder) for one in _around(name) if one in scripts)


def _files_run(command: str, folder: str, beside: str, read: Read) -> Iterator[str]:
    yield from scripts_in(command, folder)
    for words in _simple_commands(command):
        sourced = words[1] if words[0] in (".", "source") and len(words) > 1 else ""
        for word in filter(None, (sourced, _script(words))):
            for place in (folder, beside):
                path = _join(place, _VARIABLE.sub("", word))
                if path and read(path) is not None:
                    yield path


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if (bare := line.strip()) and not bare.startswith("#"):
            yield bare


def _package_scripts(text: str | None) -> Mapping[str, object]:
    try:
        scripts = json.loads(text or "{}")["scripts"]
    except (ValueError, KeyError, TypeError):
        return {}
    return scripts if isinstance(scripts, Mapping) else {}


def _around(name: str) -> tuple[str, str, str]:
    return f"pre{name}", name, f"post{name}"


def _join(folder: str, path: str) -> str:
    return _normal(posixpath.join(folder, path)) or ""


def _simple_commands(command: str) -> Iterator[list[str]]:
    try:
        text = command.replace("\\\n", " ").replace("\n", " ; ")
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.commenters = ""
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quote that does not end: the shell will say so
        return
    current: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= set(";&|(){}"):
            if current := _without_prefix(current):
                yield current
            current = []
        else:
            current.append(word)


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
    normal = posixpath.normpath(path)
    is_outside = path.startswith("/") or "//" in path or normal.split("/", 1)[0] == ".."
    return None if is_outside or normal == "." else normal
